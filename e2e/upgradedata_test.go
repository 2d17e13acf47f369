//go:build release

package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

var releasedVersion = flag.String("released", "", "write testdata/released/`VERSION`, which must not be there")

// releasedPage has a form of every kind whose rows differ.
const releasedPage = "---\nlang: de\n---\n\n" + pageSource + mailedForms + "\n```yaml form\n" + `form: swept
keep: 50 years
fields:
  - {id: text, type: textbox, label: Text, required: true}
` + "```\n\n```yaml form\n" + `form: trip
title: {en: Business trip, de: Dienstreise}
fields:
  - {id: city, type: textfield, label: {en: City, de: Stadt}, required: true}
  - id: state
    type: status
    label: {en: State, de: Status}
    by: editors
    default: open
    options: [{value: open, label: {en: Open, de: Offen}}, {value: granted, label: {en: Granted, de: Bewilligt}, color: green, was: [yes]}]
  - section: stay
    title: {en: Stay, de: Aufenthalt}
    showIf: {any: [{field: city, equals: Rom}, {field: state, not-equals: open}]}
    fields:
      - {id: nights, type: textfield, label: {en: Nights, de: Nächte}, validate: numeric, max: 30, was: days}
      - {id: comfort, type: radio, label: {en: Comfort, de: Komfort}, options: [1, 2, 3], scale: [{en: low, de: gering}, {en: high, de: hoch}]}
` + "```\n"

// TestReleaseData writes what TestUpgrade reads, with this build. See docs/releasing.md.
func TestReleaseData(t *testing.T) {
	dir := t.TempDir()
	if *releasedVersion != "" {
		dir = released(*releasedVersion)
		must(t, os.Mkdir(dir, 0o755))
	}
	keep := func(name, from string) {
		content, err := os.ReadFile(from)
		must(t, err)
		testkit.WriteFile(t, filepath.Join(dir, name), string(content))
	}
	embedded := newSite(t)
	write(t, embedded, filepath.Join(dir, "sqlite.json"), func() {
		mustRun(t, embedded.command("backup", filepath.Join(dir, "backup.db"))...)
	})
	keep("1.md", filepath.Join(embedded.pages, "1.md"))
	keep("store.db", filepath.Join(embedded.data, "formulary.db"))
	keep("anonymous.key", embedded.anonymousKey())
	shared := newSharedSite(t)
	write(t, shared, filepath.Join(dir, "postgres.json"), func() {})
	keep("shared.key", shared.key)
	dump, err := exec.CommandContext(t.Context(), "pg_dump", "--inserts", "--no-owner", "--no-privileges", shared.database).Output()
	must(t, err)
	var sql strings.Builder
	for line := range strings.Lines(string(dump)) {
		if !strings.HasPrefix(line, `\`) { // a command of psql
			sql.WriteString(line)
		}
	}
	testkit.WriteFile(t, filepath.Join(dir, "dump.sql"), sql.String())
	checkReleased(t, dir)
}

// write stores a row of every kind, and tells a file what it has stored. It calls beside while the server runs.
func write(t *testing.T, s site, file string, beside func()) {
	t.Helper()
	r := newReceiver(t, "crm")
	flags := slices.Concat(withHooks(t, r.hook("/")), s.withMail(t, "smtp://127.0.0.1:1", time.Hour)[:10])
	s.edit(t, strings.ReplaceAll(releasedPage, "label: Text", "label: Words"))
	p := start(t, s, flags...)
	w := written{Answers: map[string]string{}, IDs: failTwoWays(t, p, r), Events: 3}
	add := func(form, body string) int64 {
		w.Events++
		return create(t, p, form, body)
	}
	add("note", note("asked in other words"))
	s.edit(t, releasedPage)
	testkit.Eventually(t, "the page is read again", func() bool {
		return strings.Contains(p.must(t, 200, "GET", "/note", "").body, `"Text"`)
	})
	add("note", note("of this form"))
	again, err := createWithKey(t.Context(), p.url, "repeated", "stored once")
	must(t, err)
	testkit.Same(t, "status", again.status, 201)
	req, err := upload(t.Context(), p.url, "with a file", []byte(strings.Repeat("a line of a file\n", 5000)))
	must(t, err)
	paper, err := do(client, req)
	must(t, err)
	testkit.Same(t, "status", paper.status, 201)
	w.Events += 2
	vote := add("vote", ballot)
	add("pledge", note("mine"))
	add("leave", note("in July"))
	add("request", note("private@example.org"))
	add("swept", note("kept for long"))
	add("trip", `{"fields":{"city":{"fieldId":"city","value":"Rom"},"days":{"fieldId":"days","value":"3"},"comfort":{"fieldId":"comfort","value":"2"}}}`)
	change := func(path, body string) {
		w.Events++
		p.must(t, 200, "PUT", path, body)
	}
	change(fmt.Sprint("/vote/result/", vote), `{"choice":"b"}`)
	cleared := fmt.Sprint("/kept/result/", add("kept", note("removed from the history")))
	change(cleared, `{"text":"now"}`)
	p.must(t, 204, "DELETE", strings.Replace(cleared, "result", "submission", 1)+"/history", "")
	change(cleared, `{"text":"later"}`)
	p.must(t, 204, "DELETE", fmt.Sprint("/swept/result/", add("swept", note("deleted"))), "")
	w.Events++
	p.awaitEvents(t, "crm", "queued", w.Events-4) // the notes have failed
	w.Session = p.signIn(t, "ann")
	for _, form := range []string{"note", "kept", "paper", "vote", "pledge", "leave", "request", "swept", "trip"} {
		paths := []string{"/" + form + "/submission", "/" + form + "/result"}
		for id := range p.submissions(t, form) {
			path := fmt.Sprintf("/%s/submission/%d", form, id)
			paths = append(paths, path, path+"/form", path+"/history")
			switch form {
			case "note":
				w.Notes = append(w.Notes, id)
			case "paper":
				paths = append(paths, path+"/file/doc/file.bin")
			}
		}
		for _, path := range paths {
			w.Answers[path] = p.must(t, 200, "GET", path, "").body
		}
	}
	text, err := json.MarshalIndent(w, "", "\t")
	must(t, err)
	testkit.WriteFile(t, file, string(text)+"\n")
	beside()
	must(t, p.terminate(t))
}
