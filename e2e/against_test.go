package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

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

func TestCheckAgainstBesideAServer(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s site) {
		besideAServer(t, s, func() *exec.Cmd { return exec.Command(binary, checkAgainst(t, s.location())...) })
	})
}

// mustNotOpen wants exit status 2, which says that nothing was compared, and returns the output.
func mustNotOpen(t *testing.T, source, because string) string {
	t.Helper()
	out, err := run(t, checkAgainst(t, source)...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(out, because) || strings.Contains(out, "field-gone") {
		t.Errorf("%v, and not 2 and %q: %s", err, because, out)
	}
	return out
}

// A role that may only read is enough, and no message has a password in it.
func TestCheckAgainstAsAReader(t *testing.T) {
	t.Parallel()
	s := newSite(t).on(pgtest.New(t, pgtest.Options{TCP: true}).Database(t))
	create(t, start(t, s), "note", note("x"))
	s.exec(t, "CREATE ROLE reader LOGIN PASSWORD 'of-reader'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
	u, err := url.Parse(s.database)
	must(t, err)
	u.User = url.UserPassword("reader", "of-reader")
	testkit.Same(t, "submissions", countGone(t, exec.Command(binary, checkAgainst(t, u.String())...)), 1)
	u.User = url.UserPassword("reader", "wrong-one")
	if out := mustNotOpen(t, u.String(), "password authentication failed"); strings.Contains(out, "wrong-one") {
		t.Errorf("it tells the password: %s", out)
	}
}

// A store of another version is neither compared nor migrated.
func TestCheckAgainstAnotherVersion(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s site) {
		p := start(t, s)
		create(t, p, "note", note("x"))
		must(t, p.terminate(t))
		for _, version := range []int{1, 999} {
			sql := fmt.Sprint("PRAGMA user_version = ", version)
			if s.database != "" {
				sql = fmt.Sprintf("DELETE FROM formulary_schema; INSERT INTO formulary_schema VALUES (%d)", version)
			}
			s.exec(t, sql)
			before := s.content(t)
			mustNotOpen(t, s.location(), fmt.Sprintf("it has schema version %d and this formulary needs version", version))
			if s.content(t) != before {
				t.Errorf("version %d: the store was changed", version)
			}
		}
		none := strings.NewReplacer("/data", "/none", "/test", "/none").Replace(s.location())
		mustNotOpen(t, none, map[bool]string{true: "no store in", false: "does not exist"}[s.database == ""])
	})
}

// content is that of the store's files, or tells the tables of the database and its version.
func (s site) content(t *testing.T) (content string) {
	t.Helper()
	if s.database != "" {
		return s.exec(t, `SELECT string_agg(c::text, ' ' ORDER BY c::text) || (SELECT string_agg(version_id::text, ' ') FROM formulary_schema)
			FROM information_schema.columns c WHERE table_schema = 'public'`)
	}
	for _, name := range filesIn(t, s.data) {
		if text, err := os.ReadFile(filepath.Join(s.data, name)); !strings.HasSuffix(name, "-shm") {
			must(t, err)
			content += name + string(text)
		}
	}
	return content
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
