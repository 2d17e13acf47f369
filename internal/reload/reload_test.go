package reload

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// fixture is a Watcher of one file, whose loads are counted.
type fixture struct {
	*Watcher
	t       *testing.T
	path    string
	loaded  []string // the content of the file at each load
	loadErr error
	log     bytes.Buffer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, path: filepath.Join(t.TempDir(), "page")}
	f.write("zero")
	f.Watcher = New("pages", slog.New(slog.NewTextHandler(&f.log, nil)),
		func() State { return Stats(f.path) },
		func(State, bool) error {
			content, err := ReadFile(f.path, 100)
			f.loaded = append(f.loaded, string(content))
			return errors.Join(err, f.loadErr)
		})
	return f
}

func (f *fixture) write(content string) { f.t.Helper(); testkit.WriteFile(f.t, f.path, content) }

func (f *fixture) must(err error) {
	f.t.Helper()
	testkit.Must(f.t, err)
}

// settle looks until nothing is left to load.
func (f *fixture) settle() {
	for f.look(); f.seen != nil; {
		f.look()
	}
}

// loads checks what was loaded since it was last called.
func (f *fixture) loads(when string, want ...string) {
	f.t.Helper()
	if !slices.Equal(f.loaded, want) {
		f.t.Errorf("%s: loaded %q, want %q", when, f.loaded, want)
	}
	f.loaded = nil
}

// logged returns how many lines hold the text, and forgets them.
func (f *fixture) logged(text string) int {
	defer f.log.Reset()
	return strings.Count(f.log.String(), text)
}

func TestChangesAreDebounced(t *testing.T) {
	for _, tt := range []struct{ name, looks, loads string }{ // a letter for each look, after a was loaded
		{"unchanged", "aaa", "..."},
		{"changed", "bb", ".b"},
		{"changed, and changed again", "bcc", "..c"},
		{"changed and changed back", "babb", "...b"},
		{"away for a moment", "-bb", "..b"},
		{"removed", "--", ".-"},
		{"never at rest", "bcdebcdb", "...e...b"},
	} {
		f := newFixture(t)
		states := map[rune]State{'-': {f.path: Stat(f.path + "-none")}}
		for i, letter := range "abcde" {
			states[letter] = State{f.path: stamped(t, f.path, string(letter), int64(i))}
		}
		now, loads := 'a', ""
		f.Look = func() State { return states[now] }
		f.Load = func(State, bool) error { loads += string(now); return nil }
		f.Reload(t.Context())
		loads = ""
		for _, now = range tt.looks {
			before := len(loads)
			f.look()
			if len(loads) == before {
				loads += "."
				if f.seen == nil && now != 'a' {
					t.Errorf("%s: the next look at %q does not come soon", tt.name, now)
				}
			}
		}
		if loads != tt.loads {
			t.Errorf("%s: looks %s load %s, want %s", tt.name, tt.looks, loads, tt.loads)
		}
	}
}

// Reload does not wait until the files have come to rest, and reads what seems
// unchanged.
func TestReloadLoadsAtOnce(t *testing.T) {
	f := newFixture(t)
	for _, content := range []string{"one", "two"} {
		stamped(t, f.path, content, 100)
		f.Reload(t.Context())
		f.loads("reload", content)
	}
	f.look()
	if f.seen != nil {
		t.Error("what was reloaded counts as a change")
	}
	f.loads("afterwards")
}

// What can't be loaded may become readable without a change of the files, so it is
// tried again at the next look. The same error is logged once, but after each Reload.
func TestFailedLoadIsRepeated(t *testing.T) {
	f := newFixture(t)
	f.Reload(t.Context())
	f.loadErr = errors.New("too many open files")
	f.write("new")
	for range 3 {
		f.settle()
	}
	f.loads("failing", "zero", "new", "new", "new")
	testkit.Same(t, "logged times", f.logged("too many open files"), 1)
	f.Reload(t.Context())
	f.Reload(t.Context())
	testkit.Same(t, "two reloads are logged times", f.logged("too many open files"), 2)
	f.loadErr = errors.New("permission denied")
	f.settle()
	testkit.Same(t, "another error is logged times", f.logged("permission denied"), 1)
	f.loadErr, f.loaded = nil, nil
	f.settle()
	f.settle()
	f.loads("readable", "new")
	testkit.Same(t, "the end of the failure is logged times", f.logged("the pages can be read again"), 1)
}

// A file that keeps changing is loaded within two seconds, too. The time is that of
// the bubble.
func TestRunLoadsWithinTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.Run(ctx); close(ended) }()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		f.loaded = nil
		f.write("one")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		f.loads("written", "one")
		for i := range 20 {
			stamped(t, f.path+".new", "busy", int64(i))
			f.must(os.Rename(f.path+".new", f.path))
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		f.loads("written all the time", "busy")
		stop()
		<-ended
	})
}

// A look that does not end, as on a network disk that is gone, is logged, Ready
// returns an error, and Run does not wait for it.
func TestStuckLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		gate, look := make(chan struct{}), f.Look
		f.Look = func() State {
			<-gate
			return look()
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.Run(ctx); close(ended) }()
		time.Sleep(4 * time.Second)
		testkit.ErrorIs(t, "a look that takes four seconds", f.Ready(), nil)
		time.Sleep(3 * time.Second)
		if err := f.Ready(); err == nil || !strings.Contains(err.Error(), "a look at the pages has been stuck for 7 seconds") {
			t.Errorf("a look that takes seven seconds: %v", err)
		}
		synctest.Wait()
		testkit.Same(t, "logged times", f.logged("does not end"), 1)
		gate <- struct{}{}
		synctest.Wait()
		testkit.ErrorIs(t, "the look has ended", f.Ready(), nil)
		testkit.Same(t, "its end is logged times", f.logged("has ended after all"), 1)
		time.Sleep(time.Second) // until the next look is stuck
		stop()
		<-ended // or the test is a deadlock
		close(gate)
	})
}

// Reload returns when its context ends, even if a look is stuck, and does nothing
// later: no goroutine of it waits.
func TestReloadEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		gate, look := make(chan struct{}), f.Look
		f.Look = func() State {
			<-gate
			return look()
		}
		for range 3 {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			f.Reload(ctx) // returns, or the test is a deadlock
			stop()
		}
		close(gate)
		synctest.Wait()
		f.loads("after the stuck look", "zero")
	})
}

// Take loads one file: another one that was found changed may be half-written.
func TestTake(t *testing.T) {
	f := newFixture(t)
	other := f.path + "-other"
	f.Look = func() State { return Stats(f.path, other) }
	var states []State
	f.Load = func(state State, all bool) error {
		if all {
			t.Error("all are loaded")
		}
		states = append(states, state)
		return nil
	}
	f.settle()
	f.write("one")
	testkit.WriteFile(t, other, "half")
	f.Take(t.Context(), f.path)
	f.must(os.Remove(f.path))
	f.Take(t.Context(), f.path)
	if len(states) != 3 || !states[1][f.path].Same(states[1][f.path]) || states[1][other].Err == nil || states[1][f.path].Info.Size() != 3 {
		t.Fatalf("loaded %v", states)
	}
	if _, there := states[2][f.path]; there {
		t.Error("a file that has gone is loaded")
	}
}
