package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// One bit of the database is flipped. The server refuses to start, or answers as
// before, or with an error, and never with other content. Verify reports everything
// that can't be read.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fillStore(t, s.data, 500)
	p := start(t, s)
	want := map[string]string{}
	for _, list := range []string{"/note/submission", "/note/result"} {
		want[list] = p.must(t, 200, "GET", list, "").body
	}
	if err := p.terminate(t); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s.data, "anonymous.key", "formulary.db") // all is in the one file
	whole, err := os.ReadFile(filepath.Join(s.data, "formulary.db"))
	if err != nil {
		t.Fatal(err)
	}
	// One switches checksums off, one is in an answer, and the others are
	// spread over the file.
	inAnswer := bytes.Index(whole, []byte("note 250"))
	positions := []int{20, inAnswer}
	const count = 30
	random := rand.New(rand.NewPCG(1, 2))
	for i := range count {
		positions = append(positions, (i*len(whole)+random.IntN(len(whole)))/count)
	}
	var noticed atomic.Int64
	t.Run("each", func(t *testing.T) {
		for _, position := range positions {
			bit := byte(1) << random.IntN(8)
			t.Run(fmt.Sprintf("byte %d bit %#x", position, bit), func(t *testing.T) {
				t.Parallel()
				damaged := bytes.Clone(whole)
				damaged[position] ^= bit
				verified := verifyExit(t, s.copyWith(t, damaged))
				readable := listsAsBefore(t, s.copyWith(t, damaged), want)
				if verified != 0 && verified != 1 || verified == 0 && !readable || position == inAnswer && verified == 0 {
					t.Errorf("verify exits with %d; all lists are as before: %t", verified, readable)
				}
				if !readable {
					noticed.Add(1)
				}
			})
		}
	})
	t.Logf("%d of %d flips were noticed by the server", noticed.Load(), len(positions))
	if noticed.Load() < count/2 {
		t.Errorf("only %d of %d flips were noticed: most of the file should be answers", noticed.Load(), len(positions))
	}
}

// copyWith returns the same site with another database.
func (s site) copyWith(t *testing.T, database []byte) site {
	t.Helper()
	key, err := os.ReadFile(s.anonymousKey())
	if err != nil {
		t.Fatal(err)
	}
	s.data = t.TempDir()
	testkit.WriteFile(t, s.anonymousKey(), string(key))
	testkit.WriteFile(t, filepath.Join(s.data, "formulary.db"), string(database))
	return s
}

func verifyExit(t *testing.T, s site) int {
	t.Helper()
	out, err := run(t, append([]string{"verify"}, s.store()...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("verify: %v: %s", err, out)
	}
	return 0
}

// listsAsBefore starts a server and reports whether all lists are what they
// were. It fails the test if one is complete and different.
func listsAsBefore(t *testing.T, s site, want map[string]string) bool {
	t.Helper()
	p := begin(t, exec.Command(binary, s.serve()...))
	defer p.kill()
	select {
	case p.url = <-p.urls:
	case <-time.After(30 * time.Second):
		t.Fatalf("the server neither starts nor refuses to:\n%s", p.output())
	}
	if p.url == "" {
		return false // the server refuses to start
	}
	same := true
	for list, before := range want {
		r, err := p.call(t.Context(), "GET", list, "")
		switch {
		case err != nil || r.status != 200:
			same = false
		case r.body != before:
			t.Errorf("%s is another: %d bytes instead of %d\n%s", list, len(r.body), len(before), p.output())
		}
	}
	return same
}
