package pages

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/watch"
)

// timestampSlack is how old a file's time stamp must be before it can be
// trusted to change with the next write: some file systems count in seconds.
const timestampSlack = 3 * time.Second

// file is what is known of one page file.
type file struct {
	changes watch.Changes
	readAt  time.Time
	sum     [sha256.Size]byte // of the content last read
	page    markup.Page
	isNew   bool   // page was not published yet
	missing int    // looks since the file was last there
	failure string // of the last read, "" when it went well
}

// look looks at all files. Where atOnce is set, they are known to be complete:
// no second look has to confirm a change.
func (d *Directory) look(atOnce bool) error {
	d.lookedAt, d.unsettled = d.now(), false
	d.unwatched = map[string]watch.Version{d.root: watch.Stat(d.root)} // its parent is not watched
	found, err := d.find(d.root, d.watchDir)
	if err != nil {
		return err
	}
	if d.events != nil {
		d.events.Sweep()
	}
	defer d.logRest()
	d.unreadable = d.logNew(d.unreadable, found.unreadable, "folder of pages can't be read; the last known pages in it stay in force", "folder")
	anyChange := d.lookAtAll(found.files, atOnce)
	anyChange = d.forgetMissing(atOnce) || anyChange
	if anyChange || atOnce {
		d.publish()
	}
	return nil
}

// lookAtAll looks at the files that were found, and reports whether there is
// something new in any of them.
func (d *Directory) lookAtAll(files []found, atOnce bool) (anyChange bool) {
	var irregular []string
	for _, p := range files {
		info, err := os.Stat(p.path)
		d.noteUnwatched(p, info, err)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			if d.irregular[p.path] || exists(p.path) { // it did not just go away
				irregular = append(irregular, p.path)
			}
			continue // counts as missing
		}
		anyChange = d.lookAt(p.path, info, err, atOnce) || anyChange
	}
	d.irregular = d.logNew(d.irregular, irregular, "page is not a regular file nor a link to one: it is passed over", "file")
	return anyChange
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lookAt looks at one file, of which info or err was learnt, and reports
// whether there is something new in it.
func (d *Directory) lookAt(path string, info os.FileInfo, err error, atOnce bool) bool {
	f := d.files[path]
	if f == nil {
		f = &file{}
		d.files[path] = f
	}
	f.missing = -1
	if err != nil {
		d.logUnreadable(path, f, err)
		return false
	}
	changed := false
	if f.changes.Due(watch.VersionOf(info)) || atOnce || f.young(info) {
		changed = d.read(path, f)
	} else if f.changes.Settled() {
		f.failure = "" // the next failure is logged again
	}
	if (!f.changes.Settled() && f.failure == "") || f.young(info) {
		d.unsettled = true
	}
	return changed
}

// young reports whether the file was so new when it was last read that a write
// since then may not have changed its time stamp: two writes within the tick
// of a time stamp look like one. This depends on the stamp, not on when the
// file was first read: at a start that would be all files.
func (f *file) young(info os.FileInfo) bool {
	return f.changes.Current(watch.VersionOf(info)) && f.readAt.Sub(info.ModTime()).Abs() < timestampSlack
}

// forgetMissing forgets files that have gone, and reports whether there are any.
func (d *Directory) forgetMissing(atOnce bool) (gone bool) {
	for path, f := range d.files {
		if d.inUnreadable(path) {
			f.missing = 0 // whether it is there is not known
			continue
		}
		// A file may be away for a moment while it is replaced.
		if f.missing++; f.missing >= 2 || (f.missing > 0 && (atOnce || f.readAt.IsZero())) {
			delete(d.files, path)
			gone = true
		}
		if f.missing == 1 {
			d.unsettled = true
		}
	}
	return gone
}

// inUnreadable reports whether a file is below a folder that can't be read.
func (d *Directory) inUnreadable(path string) bool {
	if len(d.unreadable) == 0 {
		return false
	}
	for {
		dir := filepath.Dir(path)
		switch {
		case d.unreadable[dir]:
			return true
		case dir == path:
			return false
		}
		path = dir
	}
}

// read takes in a file's content and reports whether it is new.
func (d *Directory) read(path string, f *file) bool {
	source, read, err := d.load(path)
	if err != nil {
		// Permissions send an event when they change. What else makes a read
		// fail may end without one.
		d.unsettled = d.unsettled || !errors.Is(err, fs.ErrPermission)
		if !errors.Is(err, syscall.EAGAIN) || f.changes.Overdue() {
			d.logUnreadable(path, f, err)
		} // else another process holds a lease on it, which it has been asked to give up
		return false
	}
	f.failure = ""
	first := f.readAt.IsZero()
	if !read.steady && !first && !f.changes.Overdue() {
		return false // it is being written right now
	}
	f.changes.Read(read.version)
	f.readAt = d.now()
	sum := sha256.Sum256(source)
	if !first && sum == f.sum {
		return false
	}
	page, _ := parse(path, source) // only names that name a format are listed
	if !page.MetaRead && f.page.ID != 0 {
		page.ID = f.page.ID // it may have stood in the part that can't be read now
	}
	f.sum, f.page = sum, page
	f.isNew = true
	d.logProblems(path, page.Problems)
	return true
}
