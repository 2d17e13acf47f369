// Package reload polls files that other programs change while the server runs: pages,
// users, groups, hooks and certificates. It loads them again when they have changed
// and come to rest. A file that blocks, such as one on a network disk that does not
// answer, delays neither other watchers nor the end of the server.
package reload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"
)

const (
	// idlePause is the time between two looks, and pause that after a change was
	// found. A change is loaded when two looks in a row find the same state, because
	// the first may find a half-written file.
	idlePause = 600 * time.Millisecond
	pause     = 300 * time.Millisecond
	// maxPause limits the pause where looks take long: it is ten times as long as
	// the look then, so that looks take a tenth of a core at most.
	maxPause = 800 * time.Millisecond
	// maxUnsettled is how many looks in a row may find yet another state, before
	// files are loaded although they keep changing.
	maxUnsettled = 3
	// stuckAfter is how long a look may take before it is reported.
	stuckAfter = 5 * time.Second
)

// Watcher looks at files, and loads them when they have changed. A nil Watcher has
// nothing to look at.
type Watcher struct {
	// Look returns the current state of the files.
	Look func() State

	// Load reads the files that have changed, or all of them. After an error it is
	// called again at the next look. The same error is logged once.
	Load func(state State, all bool) error

	name  string // of what is watched, for the log
	log   *slog.Logger
	began atomic.Int64 // when the look under way began, in Unix nanoseconds; 0 for none

	turn      chan struct{} // holds an element during a look; guards what follows
	loaded    State         // what Load has read; nil after an error
	seen      State         // of the last look, if it differs from loaded
	unsettled int           // looks in a row that differed from loaded
	failure   string        // of the last Load
}

// New returns a Watcher of files. Nothing is loaded yet.
func New(name string, log *slog.Logger, look func() State, load func(state State, all bool) error) *Watcher {
	return &Watcher{Look: look, Load: load, name: name, log: log, turn: make(chan struct{}, 1)}
}

// Run looks at the files until ctx ends. It does not wait for a look that is stuck.
func (w *Watcher) Run(ctx context.Context) {
	for w != nil {
		start, least := time.Now(), idlePause
		w.inTurn(ctx, func() {
			if w.look(); w.seen != nil {
				least = pause
			}
		})
		if ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(max(least, 10*time.Since(start)), maxPause)):
		}
	}
}

// Reload loads all files now, whether or not they seem to have changed. It returns
// when that is done, or when ctx ends.
func (w *Watcher) Reload(ctx context.Context) {
	if w != nil {
		w.inTurn(ctx, func() { w.load(w.Look(), true) })
	}
}

// Take loads one file now, which this process has written. It returns as Reload does.
func (w *Watcher) Take(ctx context.Context, path string) {
	w.inTurn(ctx, func() {
		state := maps.Clone(w.loaded)
		if state == nil {
			state = w.Look()
		}
		if state[path] = Stat(path); errors.Is(state[path].Err, fs.ErrNotExist) {
			delete(state, path)
		}
		w.load(state, false)
	})
}

// Ready returns an error while a look is stuck, so that changes are not noticed.
func (w *Watcher) Ready() error {
	began := w.began.Load()
	if took := time.Since(time.Unix(0, began)); began != 0 && took >= stuckAfter {
		return fmt.Errorf("a look at the %s has been stuck for %.0f seconds", w.name, took.Seconds())
	}
	return nil
}

// inTurn looks in another goroutine, in order not to wait longer than ctx. There is one
// look at a time. A look that takes long is logged.
func (w *Watcher) inTurn(ctx context.Context, look func()) {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	w.began.Store(time.Now().UnixNano())
	late := time.AfterFunc(stuckAfter, func() {
		w.log.Error("a look at the " + w.name + " does not end; what was read last stays in force: check the file system")
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		look()
		w.began.Store(0)
		if !late.Stop() {
			w.log.Info("the look at the " + w.name + " has ended after all")
		}
		<-w.turn
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// look loads the files if they have changed and come to rest.
func (w *Watcher) look() {
	state := w.Look()
	switch {
	case state.same(w.loaded):
		w.seen, w.unsettled = nil, 0
	case state.same(w.seen), w.unsettled >= maxUnsettled:
		w.load(state, false)
	default:
		w.seen, w.unsettled = state, w.unsettled+1
	}
}

func (w *Watcher) load(state State, all bool) {
	err := w.Load(state, all)
	w.loaded, w.seen, w.unsettled = state, nil, 0
	switch {
	case err != nil:
		w.loaded = nil
		if all || err.Error() != w.failure {
			w.log.Error("the "+w.name+" can't be read; what was read last stays in force", "error", err)
		}
		w.failure = err.Error()
	case w.failure != "":
		w.log.Info("the " + w.name + " can be read again")
		w.failure = ""
	}
}
