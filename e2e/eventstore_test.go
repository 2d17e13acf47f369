package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/events/mailtest"
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

const mailedForms = "\n```yaml form\n" + `form: leave
title: Urlaub für alle
notify: [hr@example.org, eve@elsewhere.example]
fields:
  - {id: text, type: textbox, label: Text, required: true}
` + "```\n\n```yaml form\n" + `form: ballot
title: Wahl
anonymous: true
notify: hr@example.org
fields:
  - {id: text, type: textbox, label: Text, required: true}
` + "```\n\n```yaml form\n" + `form: request
title: Antrag
submitterMail: text
fields:
  - {id: text, type: textfield, label: E-mail, validate: email}
  - {id: state, type: status, label: State, options: [open, granted], by: editors}
` + "```\n"

// withMail adds forms that have mails sent, and returns the flags for it.
func (s site) withMail(t *testing.T, server string, interval time.Duration) (flags []string) {
	t.Helper()
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), pageSource+mailedForms)
	return []string{
		"--smtp", server, "--mail-from", "Forms <forms@example.org>", "--public-url", "https://example.org/base",
		"--mail-domains", "example.org", "--notify-interval", interval.String(), "--metrics", "--access-log=false",
	}
}

// Secrets and addresses of hooks, the password of the mail server and addresses of people are secret. The log, /metrics
// and the commands do not tell them, nor does a backup or the database. Mails come when the file has the right password.
func TestEventsTellNoSecret(t *testing.T) {
	t.Parallel()
	const wrong, right = "hush-hush-wrong", "hush-hush-right"
	s, r := newSite(t), newReceiver(t, "crm")
	server := mailtest.Start(t, mailtest.Options{StartTLS: true, User: "forms", Password: right})
	password, backup := filepath.Join(t.TempDir(), "password"), filepath.Join(t.TempDir(), "backup.db")
	testkit.WriteFile(t, password, wrong+"\n")
	flags := append(withHooks(t, r.hook("/hidden-path")), s.withMail(t, "smtp://forms@"+server.Addr, time.Second)...)
	flags = append(flags, "--smtp-password-file", password, "--log-level", "debug")
	cmd := exec.Command(binary, append(s.serve(), flags...)...)
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+server.CA)
	p := launch(t, cmd)
	failTwoWays(t, p, r)
	create(t, p, "leave", note("private"))
	request := create(t, p, "request", note("private@example.org"))
	refused := regexp.MustCompile(`"level":"WARN".*"hook":"mail"`)
	testkit.Eventually(t, "the password is refused", func() bool { return refused.MatchString(p.output()) })
	told := map[string]string{
		"/metrics":                 fetch(t, p, "/metrics").body,
		"backup":                   mustRun(t, s.command("backup", backup)...),
		"hooks list":               mustRun(t, s.hooks(flags, "list")...),
		"hooks list --format json": mustRun(t, s.hooks(flags, "list", "--format", "json")...),
		"hooks retry":              mustRun(t, s.hooks(flags, "retry")...),
		"hooks test":               mustRefuse(t, "answered 500", "hooks", "test", "--hooks", flags[1], "crm"),
	}
	// A mistake in the file is told with its line, at the start and in a running server.
	testkit.WriteFile(
		t, flags[1], "hooks:\n"+r.hook("/hidden-path")+strings.Replace(r.hook("/hidden-path"), "url: ", "uri: ", 1),
	)
	told["start"] = mustRefuse(t, flags[1]+":3: ", append(newSite(t).serve(), flags[:2]...)...)
	p.mustLog(t, 1, flags[1]+":3: ")
	r.heal()
	p.awaitEvents(t, "crm", "queued", 0) // by the last good file

	testkit.WriteFile(t, password, right+"\n")
	testkit.Eventually(t, "the mails have come", func() bool { return len(server.Mails()) == 2 })
	create(t, p, "ballot", note("private"))
	// Within five seconds; the test allows a busy machine twice as many.
	testkit.EventuallyWithin(t, 10*time.Second, "a mail comes soon", func() bool { return len(server.Mails()) == 3 })
	for _, want := range []string{
		`From: "Forms" <forms@example.org>`, "To: <hr@example.org>", "To: <private@example.org>",
		"/base/page/1/form/leave/results", "/base/page/1/form/ballot/results",
		fmt.Sprint("https://example.org/base/page/1/form/request/submission/", request),
	} {
		testkit.Contains(t, "mails", strings.Join(server.Mails(), ""), want)
	}
	must(t, p.terminate(t))
	told["log"] = p.output()
	mustNotTell(t, told, "private", "hr@example.org")
	for _, path := range []string{backup, filepath.Join(s.data, "formulary.db")} {
		content, err := os.ReadFile(path)
		must(t, err)
		told[path] = string(content)
	}
	secrets := []string{
		"hush", strings.TrimPrefix(r.secret, "whsec_"), "hidden-path", strings.TrimPrefix(r.URL, "http://"),
	}
	for _, login := range []string{"\x00forms\x00" + wrong, "\x00forms\x00" + right, wrong, right} {
		secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(login)))
	}
	mustNotTell(t, told, secrets...)
	testkit.Contains(t, "log", told["log"], "answered 500")
	testkit.Contains(t, "hooks list", told["hooks list"], "crm")
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
