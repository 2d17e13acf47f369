package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/events/mailtest"
	"github.com/formulary/formulary/internal/testkit"
)

// released is the directory of what a release has written: store.db, backup.db and anonymous.key of a site with
// the embedded database, dump.sql and shared.key of one with PostgreSQL, the page 1.md of both, and what the servers
// answered in sqlite.json and postgres.json. TestReleaseData writes it.
func released(version string) string { return filepath.Join("testdata", "released", version) }

// written is what a server has stored, as it told.
type written struct {
	Answers map[string]string // by path
	Notes   []int64           // ids
	Session string            // the cookie
	Events  int               // for the webhook
	IDs     []string          // webhook-ids of some
}

// TestUpgrade: every build opens what each release has written, and all of it is there.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	versions, err := os.ReadDir(released(""))
	must(t, err)
	for _, version := range versions {
		dir := released(version.Name())
		t.Run(version.Name(), func(t *testing.T) {
			t.Parallel()
			checkReleased(t, dir)
		})
	}
}

func checkReleased(t *testing.T, dir string) {
	t.Helper()
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		return string(content)
	}
	tell := func(name string) (w written) {
		must(t, json.Unmarshal([]byte(read(name)), &w))
		return w
	}
	page := read("1.md")
	t.Run("store", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		must(t, os.Mkdir(s.data, 0o700))
		testkit.WriteFile(t, filepath.Join(s.data, "formulary.db"), read("store.db"))
		testkit.WriteFile(t, s.anonymousKey(), read("anonymous.key"))
		checkWritten(t, s, page, tell("sqlite.json"))
	})
	t.Run("backup", func(t *testing.T) {
		t.Parallel()
		s, w := newSite(t), tell("sqlite.json")
		mustRun(t, s.command("restore", filepath.Join(dir, "backup.db"))...)
		testkit.WriteFile(t, s.anonymousKey(), read("anonymous.key"))
		w.Session = ""
		checkWritten(t, s, page, w)
	})
	t.Run("dump", func(t *testing.T) {
		t.Parallel()
		s := newSharedSite(t)
		testkit.WriteFile(t, s.key, read("shared.key"))
		s.exec(t, read("dump.sql"))
		checkWritten(t, s, page, tell("postgres.json"))
	})
}

// checkWritten starts a server on what a release has written.
func checkWritten(t *testing.T, s site, page string, w written) {
	t.Helper()
	mails, r := mailtest.Start(t, mailtest.Options{}), newReceiver(t, "crm")
	flags := slices.Concat(withHooks(t, r.hook("/")), s.withMail(t, "smtp://"+mails.Addr, time.Hour)[:10])
	s.edit(t, page)
	// Sessions and failed events of long ago would be removed.
	s.exec(t, fmt.Sprint("UPDATE sessions SET expires = ", time.Now().Add(time.Hour).UnixMilli()))
	s.exec(t, fmt.Sprint("UPDATE events SET failed = ", time.Now().UnixMilli(), " WHERE failed IS NOT NULL"))
	p := start(t, s, flags...)
	for path, want := range w.Answers {
		testkit.Same(t, path, p.must(t, 200, "GET", path, "").body, want)
	}
	p.must(t, 400, "POST", "/vote/submission", ballot)
	p.must(t, 400, "POST", "/pledge/submission", note("a second one"))
	again, err := createWithKey(t.Context(), p.url, "repeated", "stored once")
	if err != nil || again.status != http.StatusCreated || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a create with the same key: %d %s, %v", again.status, again.body, err)
	}
	if w.Session != "" {
		home, err := p.get(t.Context(), client, "/", w.Session)
		if err != nil || !strings.Contains(home.body, "Sign out") {
			t.Errorf("the session: %d, %v", home.status, err)
		}
	}
	mustRun(t, s.hooks(flags, "retry")...)
	r.awaitDelivered(t, testkit.WaitLimit, w.Events)
	for _, id := range w.IDs {
		if !slices.ContainsFunc(r.delivered(t), func(c hookCall) bool { return c.id == id }) {
			t.Errorf("event %s was not delivered", id)
		}
	}
	testkit.Eventually(t, "the mails have come", func() bool { return len(mails.Mails()) == 2 })
	if told := strings.Join(mails.Mails(), ""); !strings.Contains(told, "Urlaub") || !strings.Contains(told, "Antrag") {
		t.Errorf("mails: %s", told)
	}
	if id := create(t, p, "note", note("new")); id <= slices.Max(w.Notes) {
		t.Errorf("a new submission has the id %d, and there was %d", id, slices.Max(w.Notes))
	}
	must(t, p.terminate(t))
}
