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

// A killed backup leaves one temporary directory, and a killed restore is not served as an empty store. The next run
// says what to do, and then the copy succeeds.
func TestKilledCopies(t *testing.T) {
	t.Parallel()
	const count = 30_000
	from, to, dir := newSite(t), newSite(t), t.TempDir()
	fillStore(t, from.data, count)
	file := filepath.Join(dir, "backup.db")
	backup, restore := from.command("backup", file), to.command("restore", file)
	killWhenExists(t, filepath.Join(file+".partial", "formulary.db"), backup...)
	mustHold(t, dir, "backup.db.partial")
	const left = ".partial is there already, from a run that did not finish or is still going on: remove it if it is not"
	mustRefuse(t, file+left, backup...)
	must(t, os.RemoveAll(file+".partial"))
	mustRun(t, backup...)
	mustHold(t, dir, "backup.db")

	partial := filepath.Join(to.data, "formulary.db.partial")
	for range 3 {
		killWhenExists(t, partial, restore...)
		out := mustRefuse(t, "run 'formulary restore' again with the same backup, or remove "+partial, to.serve()...)
		if strings.Contains(out, "made a new store") {
			t.Errorf("output: %s", out)
		}
	}
	mustRun(t, restore...)
	mustHold(t, to.data, "formulary.db")
	p := start(t, to)
	testkit.Same(t, "submissions", len(p.submissions(t, "note")), count)
	if id := create(t, p, "note", note("next")); id <= count {
		t.Errorf("id %d is given again", id)
	}
}
