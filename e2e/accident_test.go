package e2e

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// Accidents with data directories and backups. None may lose submissions or assign
// an id twice, and the error must say what to do.

// filesIn are the names of the files in a directory; none if it is not there.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func mustHold(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := filesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		must(t, os.RemoveAll(path))
	}
}

// killWhenExists runs a command and kills it as soon as a file exists.
func killWhenExists(t *testing.T, path string, args ...string) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			t.Fatalf("%s ended before it was killed: %v", args[0], err)
		case <-tick.C:
			if _, err := os.Stat(path); err == nil {
				_ = cmd.Process.Kill()
				<-ended
				return
			}
		}
	}
}

// backupOfMany makes a backup of so many submissions.
func backupOfMany(t *testing.T, count int) string {
	t.Helper()
	s := newSite(t)
	fillStore(t, s.data, count)
	file := filepath.Join(t.TempDir(), "backup.db")
	mustRun(t, s.command("backup", file)...)
	return file
}

// A restore that was killed is not served as an empty store.
func TestKilledRestore(t *testing.T) {
	t.Parallel()
	const count = 30_000
	file, s := backupOfMany(t, count), newSite(t)
	partial := filepath.Join(s.data, "formulary.db.partial")
	for range 3 {
		killWhenExists(t, partial, s.command("restore", file)...)
		out := mustRefuse(t, "run 'formulary restore' again with the same backup, or remove "+partial, s.serve()...)
		if strings.Contains(out, "made a new store") {
			t.Errorf("output: %s", out)
		}
	}
	mustRun(t, s.command("restore", file)...)
	mustHold(t, s.data, "formulary.db")
	p := start(t, s)
	if stored := p.submissions(t, "note"); len(stored) != count {
		t.Errorf("%d submissions, want %d", len(stored), count)
	}
	if id := create(t, p, "note", note("next")); id <= count {
		t.Errorf("id %d is given again", id)
	}
}

// A second server can't use the directory, whichever files were removed.
func TestSecondServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := start(t, s)
	mustRefuse(t, "in use by another formulary: stop it, or choose another --data", s.serve()...)
	create(t, p, "note", note("first"))
	for _, name := range filesIn(t, s.data) {
		if !strings.HasPrefix(name, "formulary.db") {
			remove(t, filepath.Join(s.data, name))
		}
	}
	mustHold(t, s.data, "formulary.db", "formulary.db-shm", "formulary.db-wal")
	mustRefuse(t, "in use by another formulary", s.serve()...)
	mustRefuse(t, "in use by another formulary", s.command("restore", backupOfMany(t, 1))...)
	mustHold(t, s.data, "formulary.db", "formulary.db-shm", "formulary.db-wal")
	testkit.Same(t, "the second id", create(t, p, "note", note("second")), 2)
}

// A killed backup leaves one temporary directory, and the next run says what to do
// with it.
func TestKilledBackup(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t), t.TempDir()
	fillStore(t, s.data, 30_000)
	file := filepath.Join(dir, "backup.db")
	killWhenExists(t, filepath.Join(file+".partial", "formulary.db"), s.command("backup", file)...)
	mustHold(t, dir, "backup.db.partial")
	mustRefuse(t, file+".partial is there already, from a run that did not finish or is still going on: remove it if it is not", s.command("backup", file)...)
	remove(t, file+".partial")
	mustRun(t, s.command("backup", file)...)
	mustHold(t, dir, "backup.db")
}
