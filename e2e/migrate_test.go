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

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/store/sqlite"
	"github.com/formulary/formulary/internal/testkit"
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

// bulk is how many submissions a migration that is interrupted has to copy.
const bulk = 3000

// fillStore makes a store with so many submissions.
func fillStore(t *testing.T, dir string, count int) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	must(t, err)
	records := make([]store.Record, count)
	for i := range records {
		text := forms.Entry{ID: int64(i+1)*(forms.MaxEntries+1) + 1, FieldID: "text", Value: fmt.Sprint("note ", i)}
		records[i].Submission = forms.Submission{
			ID: int64(i + 1), PageID: 1, FormID: "note", Username: "ann", Entries: forms.EncodeEntries(nil, []forms.Entry{text}), Created: time.UnixMilli(0),
		}
	}
	must(t, errors.Join(s.Load(t.Context(), records), s.Close()))
}

// interrupt starts a command and sends it a signal as soon as it prints progress.
// It returns the output.
func interrupt(t *testing.T, signal syscall.Signal, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, args...)
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if strings.HasPrefix(lines.Text(), "copying: ") {
			must(t, cmd.Process.Signal(signal))
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
	testkit.Contains(t, "output", last, "interrupted; run the same command again")
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
