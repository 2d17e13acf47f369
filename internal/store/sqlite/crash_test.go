package sqlite

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// writeWithoutEnd creates submissions without end, some with files, and prints each
// one after it is acknowledged.
func writeWithoutEnd(dir string) error {
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	failed := make(chan error)
	for w := range 8 {
		go func() {
			for i := 0; ; i++ {
				value := fmt.Sprintf("%d-%d-%s", w, i, strings.Repeat("x", 100*w))
				n, err := sample(value), error(nil)
				if w < 2 { // two of them send files
					n.Files = make([]forms.StoredFile, 1)
					n.Files[0], err = s.StageFile(ctx, strings.NewReader(strings.Repeat(value, 100_000)))
				}
				sub := forms.Submission{}
				if err == nil {
					sub, err = s.Create(ctx, n)
				}
				if err == nil {
					_, err = fmt.Fprintf(os.Stdout, "%d %s\n", sub.ID, value) // one write call: never half a line
				}
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// TestKilled: after a SIGKILL at any moment, everything acknowledged is there,
// and every stored submission is complete. What is lost was never acknowledged.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[int64]string{}
	first := int64(1) // id of the round
	for round := range testkit.Rounds(2, 5) {
		writeUntilKilled(t, dir, 40+100*round, acknowledged)
		s := openStore(t, dir)
		checkIntegrity(t, s)
		if _, err := Verify(ctx, dir, noProgress); err != nil { // which reads every file
			t.Fatalf("round %d: %v", round, err)
		}
		stored := storetest.Values(t, s)
		for id, value := range acknowledged {
			if stored[id] != value {
				t.Fatalf("round %d: submission %d was acknowledged as %q and is %q", round, id, value, stored[id])
			}
		}
		// Ids are assigned in the order of commits, so a gap within a round would
		// be a lost commit before a kept one.
		last := slices.Max(slices.Collect(maps.Keys(stored)))
		for id := first; id <= last; id++ {
			if stored[id] == "" {
				t.Fatalf("round %d: of submissions %d to %d, number %d is missing", round, first, last, id)
			}
		}
		// The crash costs the ids that were reserved, no more.
		next := mustCreate(t, s, sample("after"))
		if next.ID <= last || next.ID > last+1+reserveIDs {
			t.Fatalf("round %d: id %d after %d", round, next.ID, last)
		}
		acknowledged[next.ID] = "after"
		first = next.ID
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// writeUntilKilled lets another process write, and kills it after so many
// acknowledgements.
func writeUntilKilled(t *testing.T, dir string, after int, acknowledged map[int64]string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), writeEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for count := 1; lines.Scan(); count++ { // to the end: what it printed before it was killed counts
		var id int64
		var value string
		if _, err := fmt.Sscan(lines.Text(), &id, &value); err != nil {
			t.Errorf("%q: %v", lines.Text(), err)
		}
		acknowledged[id] = value
		if count == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the writing process ended by itself: %v", err)
	}
}
