package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/store/sqlite"
)

// location is the value of --from or --to for the site.
func (s site) location() string {
	if s.database == "" {
		return "sqlite:" + s.data
	}
	return s.database
}

// anonymousKey is the file with the key that goes with the store.
func (s site) anonymousKey() string {
	if s.key == "" {
		return filepath.Join(s.data, "anonymous.key")
	}
	return s.key
}

// answers returns all answers of the API about the submissions of the page.
func answers(t *testing.T, p *process) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, form := range []string{"note", "kept", "vote", "pledge", "sheet"} {
		for _, path := range []string{"/" + form + "/submission", "/" + form + "/result"} {
			all[path] = p.must(t, 200, "GET", path, "").body
		}
	}
	return all
}

// use stores submissions of all kinds, and deletes the last, whose ids must not be
// assigned again.
func use(t *testing.T, p *process) {
	t.Helper()
	keep(t, p)
	for i := range 30 {
		create(t, p, "note", note(fmt.Sprintf("%d \" \\ 😀", i)))
	}
	sheet := create(t, p, "sheet", `{"fields":{"f3":{"fieldId":"f3","value":"first"}}}`)
	p.must(t, 200, "PUT", fmt.Sprint("/sheet/result/", sheet), `{"f1":"later","f3":""}`)
	create(t, p, "vote", ballot)
	create(t, p, "pledge", note("once"))
	p.must(t, 204, "DELETE", fmt.Sprint("/note/result/", create(t, p, "note", note("gone"))), "")
}

// Submissions are copied from SQLite to PostgreSQL and back, and the answers of the
// API stay the same.
func TestMigrateAndBack(t *testing.T) {
	t.Parallel()
	first := newSite(t)
	second := first.on(pgtest.New(t, pgtest.Options{TCP: true}).Database(t))
	third := first
	third.data = filepath.Join(t.TempDir(), "data")
	second.key, third.key = first.anonymousKey(), first.anonymousKey()

	p := start(t, first)
	use(t, p)
	before := answers(t, p)
	mustRefuse(t, "in use by another formulary", "migrate", "--from", first.location(), "--to", second.location())
	for _, step := range [][2]site{{first, second}, {second, third}} {
		from, to := step[0], step[1]
		if err := p.terminate(t); err != nil {
			t.Fatal(err)
		}
		said := mustRun(t, "migrate", "--from", from.location(), "--to", to.location())
		if !strings.Contains(said, "36 submissions copied to ") {
			t.Errorf("output: %s", said)
		}
		said += mustRefuse(t, "is not empty", "migrate", "--from", from.location(), "--to", to.location())
		p = start(t, to)
		assertNoPassword(t, second, said, p.output())
		if diff := cmp.Diff(before, answers(t, p)); diff != "" {
			t.Errorf("the API answers otherwise (-before +after):\n%s", diff)
		}
		// The limit of one submission still holds, and no id is assigned again.
		p.must(t, 400, "POST", "/vote/submission", ballot)
		p.must(t, 400, "POST", "/pledge/submission", note("twice"))
		id := create(t, p, "note", note("new"))
		if id <= 37 {
			t.Errorf("id %d is given again", id)
		}
		p.must(t, 204, "DELETE", fmt.Sprint("/note/result/", id), "")
	}
}

// bulk is how many submissions a migration that is interrupted has to copy.
const bulk = 3000

// fillStore makes a store with so many submissions.
func fillStore(t *testing.T, dir string, count int) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	records := make([]store.Record, count)
	for i := range records {
		text := forms.Entry{ID: int64(i+1)*(forms.MaxEntries+1) + 1, FieldID: "text", Value: fmt.Sprint("note ", i)}
		records[i].Submission = forms.Submission{
			ID: int64(i + 1), PageID: 1, FormID: "note", Username: "ann", Entries: forms.EncodeEntries(nil, []forms.Entry{text}), Created: time.UnixMilli(0),
		}
	}
	if err := errors.Join(s.Load(t.Context(), records), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// interrupt starts a command and sends it a signal as soon as it prints progress.
// It returns the output.
func interrupt(t *testing.T, signal syscall.Signal, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if strings.HasPrefix(lines.Text(), "copying: ") {
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Errorf("it was not interrupted: %s", said.String())
	}
	return said.String()
}

// A migration that is interrupted by SIGINT or SIGKILL leaves a store that is
// refused as incomplete. The same command begins anew.
func TestMigrateInterrupted(t *testing.T) {
	t.Parallel()
	from := newSite(t)
	fillStore(t, from.data, bulk)
	to := from.on(pgtest.New(t, pgtest.Options{TCP: true}).Database(t))
	proxy, through := proxyTo(t, to.database)
	to.database = through
	migrate := []string{"migrate", "--from", from.location(), "--to", to.location()}
	cure := poison(t, proxy, `{"type":"latency","stream":"downstream","attributes":{"latency":30}}`)

	said := interrupt(t, syscall.SIGKILL, migrate...)
	said += mustRefuse(t, "this store is a copy that was not finished: run the same 'formulary migrate'", to.serve()...)
	last := interrupt(t, syscall.SIGINT, migrate...)
	if !strings.Contains(last, "interrupted; run the same command again") {
		t.Errorf("output: %s", last)
	}
	said += last + mustRefuse(t, "a copy that was not finished", "migrate", "--from", to.location(), "--to", "sqlite:"+t.TempDir())

	cure()
	finished := mustRun(t, migrate...)
	if !strings.Contains(finished, fmt.Sprint(bulk, " submissions copied to ")) {
		t.Fatalf("output: %s", finished)
	}
	p := start(t, to)
	stored := p.submissions(t, "note")
	for i := range bulk {
		if stored[int64(i+1)] != fmt.Sprint("note ", i) {
			t.Fatalf("submission %d is %q", i+1, stored[int64(i+1)])
		}
	}
	if id := create(t, p, "note", note("next")); id <= bulk {
		t.Errorf("id %d is given again", id)
	}
	assertNoPassword(t, to, said, finished, p.output())
}
