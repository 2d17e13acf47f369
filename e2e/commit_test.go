package e2e

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/testkit"
)

// deed is a form with a limit and with files.
const deed = "\n```yaml form\n" + `form: deed
oneSubmission: true
fields:
  - {id: text, type: textbox, label: Text, required: true}
  - {id: doc, type: file, label: Document}
` + "```\n"

// The connection to the database is lost while a create commits, with and without
// files and limits. It is answered with one 503 that tells how to repeat it
// safely, and is stored once.
func TestConnectionLostAtCommit(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, pgtest.Options{TCP: true, Settings: pgtest.HoldableCommits})
	s := newSite(t).on(cluster.Database(t))
	testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), pageSource+deed)
	p := startProxied(t, s)
	db, err := pgx.Connect(t.Context(), s.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.Background()) }()
	const vote = `{"fields":{"choice":{"fieldId":"choice","value":"a"}}}`
	for _, c := range []struct{ form, key, body string }{
		{"note", "", note("plain")},
		{"note", "key-1", note("with a key")},
		{"pledge", "", note("a pledge")},
		{"vote", "key-2", vote},
		{"paper", "", ""},
		{"paper", "key-3", ""},
		{"deed", "key-4", ""},
	} {
		send := func() response {
			t.Helper()
			r, err := do(client, createRequest(t, p.url, c.form, c.key, c.body))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		before := countSubmissions(t, db, c.form)
		answers := make(chan response, 1)
		hold := pgtest.HoldCommits(t, s.database)
		go func() { answers <- send() }()
		testkit.Eventually(t, c.form+" is being committed", func() bool { return hold.Waiting() != 0 })
		p.proxy.Stop()
		startProxy(t, p.proxy) // so that another try would not fail
		r := <-answers
		if r.status != 503 || r.header.Get("Retry-After") == "" || !strings.Contains(r.body, "Idempotency-Key") {
			t.Errorf("%s %s: %d %v %s", c.form, c.key, r.status, r.header, r.body)
		}
		hold.Release()
		testkit.Eventually(t, c.form+" is stored", func() bool { return countSubmissions(t, db, c.form) == before+1 })
		if c.key == "" {
			continue
		}
		if r := send(); r.status != 201 || r.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s %s again: %d %v %s", c.form, c.key, r.status, r.header, r.body)
		}
		if count := countSubmissions(t, db, c.form); count != before+1 {
			t.Errorf("%s: %d are stored, and were %d before", c.form, count, before)
		}
	}
}

// createRequest sends a body, or a file if that is "".
func createRequest(t *testing.T, url, form, key, body string) *http.Request {
	t.Helper()
	path := "/" + form + "/submission"
	req, err := request(t.Context(), url, "POST", path, body)
	if body == "" {
		req, err = uploadRequest(t.Context(), url, form+" "+key)
	}
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Path = strings.Replace(req.URL.Path, "/paper/submission", path, 1)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return req
}

func countSubmissions(t *testing.T, db *pgx.Conn, form string) (count int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM submissions WHERE form_id = $1`, form).Scan(&count); err != nil {
		t.Fatal(err)
	}
	return count
}
