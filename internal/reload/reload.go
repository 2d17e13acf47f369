// Package reload watches files that other programs change while the server runs:
// pages, users, groups and certificates. It loads them again when they have changed
// and come to rest. A file that blocks, such as one on a network disk that does not
// answer, delays neither other watchers nor the end of the server.
package reload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// pause is the time between two looks. A change is loaded when two looks in a
	// row find the same state, because the first may find a half-written file.
	pause = 300 * time.Millisecond
	// maxPause limits the pause where looks take long: it is ten times as long as
	// the look then, so that looks take a tenth of a core at most.
	maxPause = 800 * time.Millisecond
	// tick is how long an idle watcher waits after the pause.
	tick = 300 * time.Millisecond
	// rescanInterval is the time between two looks while no event comes. Some
	// changes send none, such as one by another hard link of the file.
	rescanInterval = 10 * time.Second
	// maxUnsettled is how many looks in a row may find yet another state, before
	// files are loaded although they keep changing.
	maxUnsettled = 3
	// stuckAfter is how long a look may take before it is reported.
	stuckAfter = 5 * time.Second
)

// Watcher looks at files, and loads them when they have changed. The exported
// fields are set before any method is called.
type Watcher struct {
	Name string // of what is watched, for the log
	Log  *slog.Logger

	// Look returns the current state of the files. It calls enter for each directory
	// whose events should cause a look, before it lists that directory.
	Look func(enter func(dir string)) State

	// Load reads the files that have changed, or all of them. After an error it is
	// called again at the next look. The same error is logged once.
	Load func(state State, all bool) error

	// Root is a directory that sends events. It is looked at when one came, when
	// another directory has replaced it, and every ten seconds. Without Root, the
	// files are polled.
	Root string

	wake  chan struct{} // an event came
	began atomic.Int64  // when the look of Run began, in Unix nanoseconds; 0 for none

	mu        sync.Mutex // held during a look; guards what follows
	running   bool
	events    *fsnotify.Watcher // nil while files are polled
	polled    bool              // the log says so
	root      File              // as of the last look
	lookedAt  time.Time
	loaded    State  // what Load has read; nil after an error
	seen      State  // of the last look, if it differs from loaded
	unsettled int    // looks in a row that differed from loaded
	failure   string // of the last Load
}

// Run looks at the files until ctx ends. It does not wait for a look that is stuck.
func (w *Watcher) Run(ctx context.Context) {
	w.mu.Lock()
	w.running, w.wake = true, make(chan struct{}, 1)
	w.mu.Unlock()
	defer w.stop()
	due := true // files may have changed since they were first loaded
	for ctx.Err() == nil {
		start := time.Now()
		unsettled := w.lookAside(ctx, due)
		wait(ctx, nil, min(max(pause, 10*time.Since(start)), maxPause))
		due = unsettled || wait(ctx, w.wake, tick)
	}
}

// wait reports whether an event came within the time.
func wait(ctx context.Context, wake <-chan struct{}, d time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	case <-wake:
		return true
	}
	return false
}

// stop ends the events. A look that is stuck may still use them; they end with the
// process then.
func (w *Watcher) stop() {
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	w.running = false
	w.closeEvents()
}

// Reload loads all files now, whether or not they seem to have changed. It returns
// when that is done, or when ctx ends.
func (w *Watcher) Reload(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.load(w.find(), true)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Ready returns an error while a look is stuck, so that changes are not noticed.
func (w *Watcher) Ready() error {
	began := w.began.Load()
	if took := time.Since(time.Unix(0, began)); began != 0 && took >= stuckAfter {
		return fmt.Errorf("a look at the %s has been stuck for %.0f seconds", w.Name, took.Seconds())
	}
	return nil
}

// lookAside looks in another goroutine, in order not to wait longer than ctx. A look
// that takes long is logged.
func (w *Watcher) lookAside(ctx context.Context, due bool) (unsettled bool) {
	w.began.Store(time.Now().UnixNano())
	late := time.AfterFunc(stuckAfter, func() {
		w.Log.Error("a look at the "+w.Name+" does not end; what was read last stays in force: check the file system", "root", w.Root)
	})
	done := make(chan bool, 1)
	go func() {
		unsettled := w.look(due)
		w.began.Store(0)
		if !late.Stop() {
			w.Log.Info("the look at the " + w.Name + " has ended after all")
		}
		done <- unsettled
	}()
	select {
	case unsettled = <-done:
	case <-ctx.Done():
	}
	return unsettled
}

// look loads the files if they have changed and come to rest. If they have changed
// since the last look, they are unsettled: the next look follows soon.
func (w *Watcher) look(due bool) (unsettled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !due && !w.due() {
		return false
	}
	state := w.find()
	switch {
	case state.same(w.loaded):
		w.seen, w.unsettled = nil, 0
		return false
	case state.same(w.seen), w.unsettled >= maxUnsettled:
		w.load(state, false)
		return false
	}
	w.seen, w.unsettled = state, w.unsettled+1
	return true
}

// due reports whether files may have changed without an event. That another
// directory has replaced the root sends none: a link on the way to it may have been
// changed.
func (w *Watcher) due() bool {
	return w.events == nil || time.Since(w.lookedAt) >= rescanInterval || !os.SameFile(Stat(w.Root).Info, w.root.Info)
}

// find looks at the files, and has the directories that it meets send events. An event
// says only that something has changed, so lost and merged events do no harm.
func (w *Watcher) find() State {
	w.lookedAt = time.Now()
	if w.Root == "" || !w.running {
		return w.Look(func(string) {})
	}
	w.root = Stat(w.Root)
	var err error
	if w.events == nil {
		if w.events, err = fsnotify.NewWatcher(); err == nil {
			go w.forward(w.events)
		}
	}
	state := w.Look(func(dir string) {
		if err == nil {
			err = watch(w.events, dir)
		}
	})
	if err != nil {
		if !w.polled {
			w.Log.Warn("the "+w.Name+" are polled, which takes more CPU time than events", "reason", err)
		}
		w.polled = true
		w.closeEvents()
	}
	return state
}

func (w *Watcher) closeEvents() {
	if w.events != nil {
		_ = w.events.Close() // nothing was written to it
		w.events = nil
	}
}

// watch has a directory send events. A directory that may not be read, or that is
// gone by now, is no error: its parent sends an event when that changes.
func watch(events *fsnotify.Watcher, dir string) error {
	err := events.Add(dir)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", dir, err)
	}
	return nil
}

// forward wakes Run for events and for errors, such as an overflow of the queue.
func (w *Watcher) forward(events *fsnotify.Watcher) {
	for {
		var ok bool
		select {
		case _, ok = <-events.Events:
		case _, ok = <-events.Errors:
		}
		if !ok {
			return
		}
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

func (w *Watcher) load(state State, all bool) {
	err := w.Load(state, all)
	w.loaded, w.seen, w.unsettled = state, nil, 0
	switch {
	case err != nil:
		w.loaded = nil
		if all || err.Error() != w.failure {
			w.Log.Error("the "+w.Name+" can't be read; what was read last stays in force", "error", err)
		}
		w.failure = err.Error()
	case w.failure != "":
		w.Log.Info("the " + w.Name + " can be read again")
		w.failure = ""
	}
}
