package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/testkit"
)

// renamedPages is a directory with the page after the field of form note was renamed, without a word of its old id.
func renamedPages(t *testing.T) string {
	t.Helper()
	s := newSite(t)
	s.edit(t, strings.Replace(renamedSource, "was: text, ", "", 1))
	return s.pages
}

// checkAgainst is the command that compares these pages with a store.
func checkAgainst(t *testing.T, source string) []string {
	t.Helper()
	return []string{"check", "--format", "json", "--against", source, renamedPages(t)}
}

// countGone runs the command, and returns how many submissions have an answer to the field that has left.
func countGone(t *testing.T, cmd *exec.Cmd) (count int) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr.String())
	}
	for line := range strings.Lines(string(out)) {
		var found struct {
			Code, Form, Field string
			Count, Of         int
		}
		must(t, json.Unmarshal([]byte(line), &found))
		if found.Code == "field-gone" && found.Form == "note" && found.Field == "text" && found.Count == found.Of {
			count = found.Count
		}
	}
	return count
}

// besideAServer runs a command that compares while people submit. It must count what was stored when it began.
func besideAServer(t *testing.T, s site, command func() *exec.Cmd) *process {
	t.Helper()
	p, l := start(t, s, "--access-log=false"), newLedger()
	people := startLoad(t, l, 4, false, p.url)
	for range 3 {
		l.moreAcked(t, 50)
		before, _ := l.counts()
		got := countGone(t, command())
		if after, _ := l.counts(); got < before || got > after+4 { // of four people, one answer each may be on its way
			t.Errorf("%d submissions, want %d to %d", got, before, after)
		}
	}
	l.moreAcked(t, 50)
	people.stop()
	l.check(t, p.submissions(t, "note"))
	return p
}

// A role that may only read is enough, beside a server. No message has a password in it. A store of another version is
// neither compared nor migrated.
func TestCheckAgainstPostgres(t *testing.T) {
	t.Parallel()
	s := newSite(t).on(pgtest.New(t, pgtest.Options{TCP: true}).Database(t))
	must(t, start(t, s).terminate(t)) // there are tables now
	s.exec(t, "CREATE ROLE reader LOGIN PASSWORD 'of-reader'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
	u, err := url.Parse(s.database)
	must(t, err)
	u.User = url.UserPassword("reader", "of-reader")
	p := besideAServer(t, s, func() *exec.Cmd { return exec.Command(binary, checkAgainst(t, u.String())...) })
	must(t, p.terminate(t))
	u.User = url.UserPassword("reader", "wrong-one")
	if said := mustNotOpen(t, u.String(), "password authentication failed"); strings.Contains(said, "wrong-one") {
		t.Errorf("it tells the password: %s", said)
	}
	mustNotOpen(t, strings.Replace(s.location(), "/test", "/none", 1), "does not exist")
	const tables = `SELECT string_agg(c::text, ' ' ORDER BY c::text)
		|| (SELECT string_agg(version_id::text, ' ') FROM formulary_schema)
		FROM information_schema.columns c WHERE table_schema = 'public'`
	for _, version := range []int{1, 999} {
		s.exec(t, fmt.Sprintf("DELETE FROM formulary_schema; INSERT INTO formulary_schema VALUES (%d)", version))
		before := s.exec(t, tables)
		mustNotOpen(t, s.location(), fmt.Sprintf("it has schema version %d and this formulary needs version", version))
		testkit.Same(t, "the tables", s.exec(t, tables), before)
	}
}

// mustNotOpen wants exit status 2, which says that nothing was compared, and returns the message.
func mustNotOpen(t *testing.T, source, because string) string {
	t.Helper()
	status, out, said := exitStatus(t, checkAgainst(t, source)...)
	if status != 2 || !strings.Contains(said, because) || strings.Contains(out, "field-gone") {
		t.Errorf("status %d, and not 2 and %q: %s%s", status, because, out, said)
	}
	return said
}

// Today is the day on which an answer was sent, in the zone of the command.
func TestCheckAgainstInAZone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.edit(t, strings.Replace(pageSource, "type: textbox", "type: date, max: today", 1))
	s.withStore(t, func(e store.Engine) {
		must(t, testkit.ErrorOf(e.Create(t.Context(), store.New{
			PageID: 1, FormID: "note", Created: time.Date(2026, 1, 31, 20, 0, 0, 0, time.UTC),
			Entries: []forms.Entry{{FieldID: "text", Value: "2026-02-01"}},
		})))
	})
	for zone, refused := range map[string]bool{"UTC": true, "Asia/Tokyo": false} {
		out := mustRun(t, "check", "--timezone", zone, "--against", s.data, s.pages)
		testkit.Same(t, zone, strings.Contains(out, "would be refused now"), refused)
	}
}

// exec runs SQL on the store of a site behind its back, and returns the first value.
func (s site) exec(t *testing.T, sql string) string {
	t.Helper()
	if s.database == "" {
		db := openDatabase(t, filepath.Join(s.data, "formulary.db"))
		defer func() { must(t, db.Close()) }()
		stmt, _, err := db.Prepare(sql)
		must(t, err)
		stmt.Step()
		text := stmt.ColumnText(0)
		must(t, stmt.Close())
		return text
	}
	conn, err := pgx.Connect(t.Context(), s.database)
	must(t, err)
	results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
	must(t, errors.Join(err, conn.Close(t.Context())))
	if rows := results[0].Rows; len(rows) > 0 {
		return string(rows[0][0])
	}
	return ""
}
