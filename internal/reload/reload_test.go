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

// fixture is a Watcher of one file, "page" in a directory of its own, whose looks
// and loads are counted.
type fixture struct {
	Watcher
	t       *testing.T
	dir     string
	looks   int
	loaded  []string // the content of the file at each load
	loadErr error
	log     bytes.Buffer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: filepath.Join(t.TempDir(), "dir")}
	f.write("zero")
	f.Watcher = Watcher{
		Name: "pages", Log: slog.New(slog.NewTextHandler(&f.log, nil)),
		Look: func(enter func(string)) State {
			f.looks++
			enter(f.dir)
			return Stats(f.path())
		},
		Load: func(State, bool) error {
			content, err := ReadFile(f.path(), 100)
			f.loaded = append(f.loaded, string(content))
			return errors.Join(err, f.loadErr)
		},
	}
	return f
}

func (f *fixture) path() string { return filepath.Join(f.dir, "page") }

func (f *fixture) write(content string) { f.t.Helper(); testkit.WriteFile(f.t, f.path(), content) }

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// settle looks until nothing is left to load.
func (f *fixture) settle() {
	for f.look(true) {
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
		states := map[rune]State{'-': {f.path(): Stat(f.path() + "-none")}}
		for i, letter := range "abcde" {
			states[letter] = State{f.path(): stamped(t, f.path(), string(letter), int64(i))}
		}
		now, loads := 'a', ""
		f.Look = func(func(string)) State { return states[now] }
		f.Load = func(State, bool) error { loads += string(now); return nil }
		f.Reload(t.Context())
		loads = ""
		for _, now = range tt.looks {
			if before := len(loads); !f.look(true) && len(loads) == before && now != 'a' {
				t.Errorf("%s: %q was found and is not looked at again", tt.name, now)
			} else if len(loads) == before {
				loads += "."
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
		stamped(t, f.path(), content, 100)
		f.Reload(t.Context())
		f.loads("reload", content)
	}
	if f.look(true) {
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
	if n := f.logged("too many open files"); n != 1 {
		t.Errorf("logged %d times, want once", n)
	}
	f.Reload(t.Context())
	f.Reload(t.Context())
	if n := f.logged("too many open files"); n != 2 {
		t.Errorf("two reloads are logged %d times", n)
	}
	f.loadErr = errors.New("permission denied")
	f.settle()
	if n := f.logged("permission denied"); n != 1 {
		t.Errorf("another error is logged %d times, want once", n)
	}
	f.loadErr, f.loaded = nil, nil
	f.settle()
	f.settle()
	f.loads("readable", "new")
	if n := f.logged("the pages can be read again"); n != 1 {
		t.Errorf("the end of the failure is logged %d times, want once", n)
	}
}

// watched has the directory send events, as in Run, and checks that nothing is due
// before the first of them.
func watched(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.Root, f.running, f.wake = f.dir, true, make(chan struct{}, 1)
	t.Cleanup(f.stop)
	f.settle()
	f.idle("at the start")
	return f
}

// idle checks that nothing is looked at without an event.
func (f *fixture) idle(when string) {
	f.t.Helper()
	before := f.looks
	for range 3 {
		f.look(false)
	}
	if f.looks != before {
		f.t.Errorf("%s: %d looks without a change", when, f.looks-before)
	}
}

// event waits for an event and settles.
func (f *fixture) event() {
	f.t.Helper()
	select {
	case <-f.wake:
	case <-time.After(testkit.WaitLimit):
		f.t.Fatal("no event came")
	}
	f.settle()
}

func TestEventsCauseLooks(t *testing.T) {
	f := watched(t)
	f.loads("at the start", "zero")
	f.write("one")
	f.event()
	f.loads("written in place", "one")
	f.must(os.WriteFile(f.path()+".new", []byte("two"), 0o600))
	f.must(os.Rename(f.path()+".new", f.path()))
	f.event()
	f.loads("renamed into place", "two")
}

// No event tells that another directory has replaced the root. It sends events itself
// from then on.
func TestReplacedRootIsNoticed(t *testing.T) {
	f := watched(t)
	f.loads("at the start", "zero")
	f.must(os.Rename(f.dir, f.dir+".old"))
	f.write("one")
	f.look(false)
	f.settle()
	f.loads("replaced", "one")
	f.write("two")
	f.event()
	f.loads("written in the new directory", "two")
}

func TestRescanFindsWhatSentNoEvent(t *testing.T) {
	f := watched(t)
	f.must(os.Link(f.path(), f.path()+"-link"))
	f.must(os.Rename(f.path()+"-link", f.dir+"-elsewhere"))
	f.event()
	f.must(os.WriteFile(f.dir+"-elsewhere", []byte("another name of it"), 0o600))
	f.idle("written by another name")
	f.loaded = nil
	f.lookedAt = f.lookedAt.Add(-rescanInterval)
	f.look(false)
	f.settle()
	f.loads("rescan", "another name of it")
}

// Without events the files are polled. The log says so once.
func TestFallbackToPolling(t *testing.T) {
	f := newFixture(t)
	f.Root, f.running, f.wake = f.dir, true, make(chan struct{}, 1)
	look := f.Look
	f.Look = func(enter func(string)) State {
		enter(filepath.Join(f.dir, strings.Repeat("x", 256))) // a name that is too long for the system
		return look(enter)
	}
	f.settle()
	f.loads("at the start", "zero")
	f.write("one")
	for f.look(false) {
	}
	f.loads("written", "one")
	if n := f.logged("the pages are polled"); n != 1 {
		t.Errorf("logged %d times, want once", n)
	}
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
			stamped(t, f.path()+".new", "busy", int64(i))
			f.must(os.Rename(f.path()+".new", f.path()))
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
		f.Look = func(enter func(string)) State {
			<-gate
			return look(enter)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.Run(ctx); close(ended) }()
		time.Sleep(4 * time.Second)
		if err := f.Ready(); err != nil {
			t.Errorf("a look that takes four seconds: %v", err)
		}
		time.Sleep(3 * time.Second)
		if err := f.Ready(); err == nil || !strings.Contains(err.Error(), "a look at the pages has been stuck for 7 seconds") {
			t.Errorf("a look that takes seven seconds: %v", err)
		}
		synctest.Wait()
		if n := f.logged("does not end"); n != 1 {
			t.Errorf("logged %d times, want once", n)
		}
		gate <- struct{}{}
		synctest.Wait()
		if err := f.Ready(); err != nil {
			t.Errorf("the look has ended: %v", err)
		}
		if n := f.logged("has ended after all"); n != 1 {
			t.Errorf("its end is logged %d times, want once", n)
		}
		time.Sleep(time.Second) // until the next look is stuck
		stop()
		<-ended // or the test is a deadlock
		close(gate)
	})
}

// Reload returns when its context ends, even if a look is stuck.
func TestReloadEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		gate, look := make(chan struct{}), f.Look
		f.Look = func(enter func(string)) State {
			<-gate
			return look(enter)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		f.Reload(ctx) // returns, or the test is a deadlock
		close(gate)
	})
}
