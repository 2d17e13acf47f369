// Package testsite is what the tests above the store run on: wiki pages in a
// directory, people, a clock that is moved by hand, and a real store that can be
// made to fail. It knows no package above the store but pages and auth, so that
// the tests of all others can use it.
package testsite

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// Key is a key of a service or of sessions.
var Key = []byte("a key of thirty-two bytes, or so")

// Site is pages, people, the time and a store.
type Site struct {
	Dir    string // of the pages
	Pages  *pages.Directory
	Users  *Users
	Clock  *Clock
	Engine store.Engine
	Store  *Store // the engine, as tests can make it fail
	Logs   *Logs
	Logger *slog.Logger
}

// New makes a site with pages, by file name, on the default engine.
func New(t testing.TB, files map[string]string) *Site {
	t.Helper()
	return On(t, enginetest.Default(), files)
}

// On is New on an engine.
func On(t testing.TB, on enginetest.Engine, files map[string]string) *Site {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		testkit.WriteFile(t, filepath.Join(dir, name), text)
	}
	return In(t, on, dir)
}

// In makes a site with the pages of a directory.
func In(t testing.TB, on enginetest.Engine, dir string) *Site {
	t.Helper()
	s := &Site{Dir: dir, Users: NewUsers(), Clock: NewClock(Began), Logs: &Logs{}}
	s.Logger = slog.New(slog.NewJSONHandler(s.Logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if s.Pages, err = pages.OpenDirectory(dir, nil, s.Logger); err != nil {
		t.Fatal(err)
	}
	s.Engine = on.Open(t)
	s.Store = NewStore(s.Engine)
	return s
}

// Write changes a page file and has it read.
func (s *Site) Write(t testing.TB, name, text string) {
	t.Helper()
	testkit.WriteFile(t, filepath.Join(s.Dir, name), text)
	s.Pages.Reload(t.Context())
}

// Remove removes a page file and has that noticed.
func (s *Site) Remove(t testing.TB, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(s.Dir, name)); err != nil {
		t.Fatal(err)
	}
	s.Pages.Reload(t.Context())
}

// Began is when the tests take place. It has more digits than the wire does, and
// is in another zone.
var Began = time.Date(2025, 11, 15, 2, 0, 0, 123_999_999, time.FixedZone("CEST", 2*60*60))

// Clock is a time that is moved by hand.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows a time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set sets the time.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Advance moves the time on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Logs collects log lines, from any goroutine.
type Logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *Logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns all lines so far.
func (l *Logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
