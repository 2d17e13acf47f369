package pages

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/formulary/formulary/internal/watch"
)

const (
	// pollInterval is how often a Directory asks whether it must look at its
	// files. A change is taken when two looks in a row saw the same file, so an
	// edit shows after two intervals at most.
	pollInterval = 400 * time.Millisecond

	// rescanInterval is how often a Directory looks although no event came.
	// It is for changes that send none, such as a volume that is mounted onto a
	// subdirectory.
	rescanInterval = 30 * time.Second
)

// Run implements Source. It does not wait for a look at a disk that does not
// answer.
func (d *Directory) Run(ctx context.Context) {
	d.startEvents()
	watch.Loop{
		Interval: pollInterval, MaxInterval: 2 * pollInterval, // edits must show within two seconds
		Look: func() {
			now := d.now()
			d.began.Store(&now)
			d.lookIfNeeded()
		},
		Stuck: d.reportStuck,
	}.Run(ctx)
	// A look that is stuck may still use the events. They end with the process then.
	if d.looking.TryLock() {
		d.stopEvents()
		d.looking.Unlock()
	}
}

func (d *Directory) reportStuck(stuck bool) {
	d.stuck.Store(stuck)
	if stuck {
		d.log.Error("a look at the pages does not end; the last known ones stay in force: see whether the disk answers", "directory", d.root)
		return
	}
	d.log.Info("the look at the pages has ended after all", "directory", d.root)
}

// startEvents has the next look watch the directories that it meets.
func (d *Directory) startEvents() {
	d.looking.Lock()
	defer d.looking.Unlock()
	events, err := d.newEvents()
	if err != nil {
		d.reportPolling(err)
		return
	}
	d.events, d.unsettled = events, true
}

func (d *Directory) stopEvents() {
	if d.events != nil {
		_ = d.events.Close() // nothing was written to it
		d.events = nil
	}
}

func (d *Directory) reportPolling(reason error) {
	d.log.Warn("the pages are polled, which takes more CPU time than events", "directory", d.root, "reason", reason)
}

// lookIfNeeded looks at the directory unless it is certain that nothing has
// changed.
func (d *Directory) lookIfNeeded() {
	d.looking.Lock()
	defer d.looking.Unlock()
	if d.lookNeeded() {
		d.lookOnce(false)
	}
}

func (d *Directory) lookNeeded() bool {
	if d.events == nil {
		return true
	}
	// The events are taken before the look. Those that come while it is under
	// way are there for the next call.
	changed := d.events.Changed()
	return changed || d.unsettled || d.failure.Load() != nil || d.now().Sub(d.lookedAt) >= rescanInterval || d.unwatchedChanged()
}

// unwatchedChanged reports whether anything has changed of what sends no events.
func (d *Directory) unwatchedChanged() bool {
	for path, before := range d.unwatched {
		if !watch.Stat(path).Same(before) {
			return true
		}
	}
	return false
}

// watchDir has events sent for a directory that is about to be listed. Where
// that is not possible, all pages are polled from now on.
func (d *Directory) watchDir(dir string) {
	if d.events == nil {
		return
	}
	err := d.events.Add(dir)
	// For a directory that may not be read, or is gone by now, its parent
	// sends an event when that changes.
	if err == nil || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return
	}
	d.stopEvents()
	d.reportPolling(err)
}

// noteUnwatched remembers a page file, or a link to one, if its changes send no
// events.
func (d *Directory) noteUnwatched(p found, info os.FileInfo, err error) {
	if d.events == nil || (!p.link && err == nil && d.events.Covers(p.path, info)) {
		return
	}
	var seen watch.Version
	if err == nil {
		seen = watch.VersionOf(info)
	}
	d.unwatched[p.path] = seen
}
