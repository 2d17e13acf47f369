package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// hooks returns the arguments of a command of 'formulary hooks' on the site's store.
func (s site) hooks(flags []string, args ...string) []string {
	return slices.Concat([]string{"hooks", args[0]}, flags[:2], s.store(), args[1:])
}

// failTwoWays has a server with events that wait, and others that have failed for good.
// It returns the webhook-ids of both.
func failTwoWays(t *testing.T, p *process, r *receiver) (ids []string) {
	t.Helper()
	r.breaks(func(w http.ResponseWriter, c hookCall, over <-chan struct{}) int {
		if c.Data.FormID == "note" {
			return answersWith(http.StatusGone)(w, c, over)
		}
		return answersWith(http.StatusInternalServerError)(w, c, over)
	})
	create(t, p, "note", note("fails"))
	id := create(t, p, "kept", note("waits"))
	p.must(t, 200, "PUT", fmt.Sprint("/kept/result/", id), `{"text":"waits, too"}`)
	testkit.Eventually(t, "both were tried", func() bool {
		ids = nil
		for _, c := range r.log() {
			if !slices.Contains(ids, c.id) {
				ids = append(ids, c.id)
			}
		}
		return len(ids) == 2
	})
	p.awaitEvents(t, "crm", "failed", 1)
	return ids
}

// What waits and what has failed is in a backup and in a migrated store. A server there
// delivers it as what it was: with the same webhook-id.
func TestEventsAreCopied(t *testing.T) {
	t.Parallel()
	s, r, file := newSite(t), newReceiver(t, "crm"), filepath.Join(t.TempDir(), "backup.db")
	p := start(t, s, withHooks(t, r.hook("/"))...)
	ids := slices.Sorted(slices.Values(failTwoWays(t, p, r)))
	mustRun(t, s.command("backup", file)...) // beside the server
	p.kill()
	restored, migrated, back := newSite(t), newSharedSite(t), newSite(t)
	mustRun(t, restored.command("restore", file)...)
	mustRun(t, "migrate", "--from", restored.location(), "--to", migrated.location())
	mustRun(t, "migrate", "--from", migrated.location(), "--to", back.location())
	for _, copied := range []site{restored, migrated, back} {
		copied.key = s.anonymousKey()
		deliverCopy(t, copied, r.name, ids)
	}
}

// deliverCopy starts a server on a copy, with a receiver of its own.
func deliverCopy(t *testing.T, s site, name string, ids []string) {
	t.Helper()
	r := newReceiver(t, name)
	flags := withHooks(t, r.hook("/"))
	p := start(t, s, flags...)
	r.awaitDelivered(t, testkit.WaitLimit, 2)
	mustRun(t, s.hooks(flags, "retry", name)...) // beside the server
	r.awaitDelivered(t, testkit.WaitLimit, 3)
	p.awaitEvents(t, name, "queued", 0)
	p.awaitEvents(t, name, "failed", 0)
	var got []string
	types := map[string]int{}
	for _, c := range r.delivered(t) {
		types[c.Data.FormID+" "+c.Type]++
		if slices.Contains(ids, c.id) {
			got = append(got, c.id)
		}
	}
	testkit.Diff(t, "webhook-ids", slices.Sorted(slices.Values(got)), ids)
	testkit.Diff(t, "events",
		types,
		map[string]int{
			"note " + store.SubmissionCreated: 1,
			"kept " + store.SubmissionCreated: 1, "kept " + store.SubmissionUpdated: 1,
		},
	)
}

// Neither the secret of a hook nor its url is told: not in the log, not in /metrics, not
// in a backup or the database, not by the commands.
func TestEventsTellNoSecret(t *testing.T) {
	t.Parallel()
	s, r := newSite(t), newReceiver(t, "crm")
	flags := withHooks(t, r.hook("/hidden-path"))
	p := start(t, s, append(flags, "--log-level", "debug")...)
	failTwoWays(t, p, r)
	told := map[string]string{"/metrics": fetch(t, p, "/metrics").body}
	file := filepath.Join(t.TempDir(), "backup.db")
	told["backup"] = mustRun(t, s.command("backup", file)...)
	told["hooks list"] = mustRun(t, s.hooks(flags, "list")...)
	told["hooks list --format json"] = mustRun(t, s.hooks(flags, "list", "--format", "json")...)
	told["hooks retry"] = mustRun(t, s.hooks(flags, "retry")...)
	told["hooks test"] = mustRefuse(t, "answered 500", "hooks", "test", "--hooks", flags[1], "crm")
	// A mistake in the file is told with its line, at the start and in a running server.
	testkit.WriteFile(
		t, flags[1], "hooks:\n"+r.hook("/hidden-path")+strings.Replace(r.hook("/hidden-path"), "url: ", "uri: ", 1),
	)
	told["start"] = mustRefuse(t, flags[1]+":3: ", append(newSite(t).serve(), flags...)...)
	p.mustLog(t, 1, flags[1]+":3: ")
	r.heal()
	p.awaitEvents(t, "crm", "queued", 0) // by the last good file
	if err := p.terminate(t); err != nil {
		t.Error(err)
	}
	told["log"] = p.output()
	for _, path := range []string{file, filepath.Join(s.data, "formulary.db")} {
		content, err := os.ReadFile(path)
		must(t, err)
		told[path] = string(content)
	}
	mustNotTell(t, told, strings.TrimPrefix(r.secret, "whsec_"), "hidden-path", strings.TrimPrefix(r.URL, "http://"))
	if !strings.Contains(told["log"], "answered 500") || !strings.Contains(told["hooks list"], "crm") {
		t.Errorf("log and list tell too little:\n%s\n%s", told["log"], told["hooks list"])
	}
}

// mustNotTell looks for secrets in texts, which are known by where they are.
func mustNotTell(t *testing.T, told map[string]string, secrets ...string) {
	t.Helper()
	for where, text := range told {
		for _, secret := range secrets {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s tells %q: …%q", where, secret, text[max(0, at-100):min(len(text), at+100)])
			}
		}
	}
}
