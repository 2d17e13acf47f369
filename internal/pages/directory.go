package pages

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/watch"
)

const (
	// pollInterval is how often the directory is looked at. A change is taken
	// when two looks in a row saw the same file, so an edit shows after two
	// intervals at most.
	pollInterval = 400 * time.Millisecond

	// unsteadyPolls is how long a file that keeps changing is waited for.
	unsteadyPolls = 3

	// timestampSlack is how old a file's time stamp must be before it can be
	// trusted to change with the next write: some file systems count in
	// seconds.
	timestampSlack = 3 * time.Second
)

// Directory is a Source over a directory of page files. It polls: network file
// systems and mounted volumes send no events, so polling is needed anyway, and
// one mechanism is enough.
type Directory struct {
	root string
	log  *slog.Logger
	now  func() time.Time
	find func(root string) (files, unreadable []string, err error)
	load func(path string) ([]byte, version, error)

	looking    sync.Mutex        // guards what follows: one look at a time
	files      map[string]*file  // by path
	owners     map[int64]string  // the file that each page is read from
	ignored    map[string]string // files whose page is read from another: that one
	unreadable map[string]bool   // folders, as of the last look
	odd        map[string]bool   // what has a page's name and is no file, as of the last look
	told       map[string]int    // by message: how often this look had to log it

	current atomic.Pointer[map[int64]*Page]
	failure atomic.Pointer[error]     // of the last look at the directory; nil when it went well
	began   atomic.Pointer[time.Time] // the last look
	stuck   atomic.Bool               // it does not end
}

var _ Source = (*Directory)(nil)

// file is what is known of one page file.
type file struct {
	seen    fingerprint // as of the last read
	readAt  time.Time
	sum     [sha256.Size]byte // of the content last read
	page    markup.Page
	isNew   bool        // page was not published yet
	changed fingerprint // seen since, not read yet
	waited  int         // polls since the file began to change
	missing int         // polls since the file was last there
	failure string      // of the last read, "" when it went well
}

// fingerprint tells versions of a file apart without reading it.
type fingerprint struct {
	info os.FileInfo
}

func (a fingerprint) same(b fingerprint) bool {
	return a.info != nil && b.info != nil && os.SameFile(a.info, b.info) &&
		a.info.Size() == b.info.Size() && a.info.ModTime().Equal(b.info.ModTime())
}

// OpenDirectory reads all pages below root. What is wrong with them is logged;
// only a directory that can't be read is an error.
func OpenDirectory(root string, log *slog.Logger) (*Directory, error) {
	return openDirectory(root, log, time.Now)
}

func openDirectory(root string, log *slog.Logger, now func() time.Time) (*Directory, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("open pages: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open pages: %s is not a directory", root)
	}
	d := &Directory{root: root, log: log, now: now, find: Find, load: readLimited, files: map[string]*file{}, told: map[string]int{}}
	d.current.Store(&map[int64]*Page{})
	if err := d.look(true); err != nil {
		return nil, fmt.Errorf("open pages: %w", err)
	}
	if len(d.files)+len(d.unreadable)+len(d.odd) == 0 {
		log.Warn("the directory holds no page file: names end in "+markup.Extensions, "directory", root)
	}
	return d, nil
}

// Page implements Source.
func (d *Directory) Page(_ context.Context, id int64) (*Page, error) {
	if p := (*d.current.Load())[id]; p != nil {
		return p, nil
	}
	return nil, ErrNotFound
}

// Ready implements Source.
func (d *Directory) Ready(context.Context) error {
	if d.stuck.Load() {
		return fmt.Errorf("%w: looking at %s has been stuck for %.0f seconds", ErrUnavailable, d.root, d.now().Sub(*d.began.Load()).Seconds())
	}
	if err := d.failure.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, *err)
	}
	return nil
}

// Counts tells how many pages and forms are being served.
func (d *Directory) Counts() (pages, forms int) {
	current := *d.current.Load()
	for _, p := range current {
		forms += len(p.Forms)
	}
	return len(current), forms
}

// Watch keeps the pages up to date until ctx ends. It does not wait for a look
// at a disk that does not answer.
func (d *Directory) Watch(ctx context.Context) {
	watch.Loop{
		Interval: pollInterval, MaxInterval: 2 * pollInterval, // edits must show within two seconds
		Look: func() {
			now := d.now()
			d.began.Store(&now)
			d.Poll()
		},
		Stuck: d.reportStuck,
	}.Run(ctx)
}

func (d *Directory) reportStuck(stuck bool) {
	d.stuck.Store(stuck)
	if stuck {
		d.log.Error("a look at the pages does not end; the last known ones stay in force: see whether the disk answers", "directory", d.root)
		return
	}
	d.log.Info("the look at the pages has ended after all", "directory", d.root)
}

// Poll looks at the directory once. When it can't be read the pages stay as
// they are: a volume that does not answer is no reason to forget every form.
func (d *Directory) Poll() { d.lookOnce(false) }

// Reload reads all pages now, whether or not they seem to have changed. It
// returns when they are in force, and does not run while Poll does.
func (d *Directory) Reload() { d.lookOnce(true) }

func (d *Directory) lookOnce(atOnce bool) {
	d.looking.Lock()
	defer d.looking.Unlock()
	err := d.look(atOnce)
	before := d.failure.Load()
	if err != nil {
		d.failure.Store(&err)
		if before == nil {
			d.log.Error("pages can't be read; the last known ones stay in force", "directory", d.root, "error", err)
		}
		return
	}
	d.failure.Store(nil)
	if before != nil {
		d.log.Info("pages can be read again", "directory", d.root)
	}
}

// look looks at all files. Where atOnce is set, they are known to be complete:
// no second look has to confirm a change.
func (d *Directory) look(atOnce bool) error {
	paths, unreadable, err := d.find(d.root)
	if err != nil {
		return err
	}
	defer d.tellRest()
	d.unreadable = d.complain(d.unreadable, unreadable, "folder of pages can't be read; the last known pages in it stay in force", "folder")
	anyChange := atOnce
	var odd []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			if d.odd[path] || exists(path) { // it did not just go away
				odd = append(odd, path)
			}
			continue // counts as missing
		}
		anyChange = d.lookAt(path, info, err, atOnce) || anyChange
	}
	d.odd = d.complain(d.odd, odd, "page is not a regular file nor a link to one: it is passed over", "file")
	anyChange = d.forgetMissing(atOnce) || anyChange
	if anyChange {
		d.publish()
	}
	return nil
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
		d.cannotRead(path, f, err)
		return false
	}
	if d.due(f, fingerprint{info}, atOnce) {
		return d.read(path, f)
	}
	if f.seen.same(fingerprint{info}) {
		f.failure = "" // whatever it was, it is over
	}
	return false
}

// forgetMissing forgets files that have gone, and reports whether there are any.
func (d *Directory) forgetMissing(atOnce bool) (gone bool) {
	for path, f := range d.files {
		if d.inUnreadable(path) {
			f.missing = 0 // nobody knows
			continue
		}
		// A file may be away for a moment while it is replaced.
		if f.missing++; f.missing >= 2 || (f.missing > 0 && (atOnce || f.readAt.IsZero())) {
			delete(d.files, path)
			gone = true
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

// due reports whether the file is to be read now: it has changed, and has kept
// still since the last poll, so that it is not caught half-written.
func (d *Directory) due(f *file, now fingerprint, atOnce bool) bool {
	if f.seen.same(now) {
		f.changed, f.waited = fingerprint{}, 0
		// Two writes within the tick of a time stamp look like one. Told by the
		// stamp, not by when it was read: at a start that would be all files.
		return atOnce || f.readAt.Sub(now.info.ModTime()).Abs() < timestampSlack
	}
	f.waited++
	due := atOnce || f.changed.same(now) || f.waited > unsteadyPolls
	f.changed = now
	return due
}

// read takes in a file's content and reports whether it is new.
func (d *Directory) read(path string, f *file) bool {
	source, read, err := d.load(path)
	if errors.Is(err, syscall.EAGAIN) && f.waited <= unsteadyPolls {
		return false // another process holds a lease on it, which it has been asked to give up
	}
	if err != nil {
		d.cannotRead(path, f, err)
		return false
	}
	f.failure = ""
	first := f.readAt.IsZero()
	if !read.steady && !first && f.waited <= unsteadyPolls {
		return false // it is being written right now
	}
	f.seen, f.readAt, f.changed, f.waited = read.fingerprint, d.now(), fingerprint{}, 0
	sum := sha256.Sum256(source)
	if !first && sum == f.sum {
		return false
	}
	page, _ := parse(path, source) // Find knows only names that name a format
	if !page.MetaRead && f.page.ID != 0 {
		page.ID = f.page.ID // it may have stood in the part that can't be read now
	}
	f.sum, f.page = sum, page
	f.isNew = true
	d.tellProblems(path, page.Problems)
	return true
}

// publish makes the pages of all files current.
func (d *Directory) publish() {
	before := *d.current.Load()
	next := make(map[int64]*Page, len(d.files))
	owners := d.chooseOwners()
	for id, path := range owners {
		f := d.files[path]
		page := renew(before[id], &f.page)
		if page != nil {
			next[id] = page
		}
		if f.isNew {
			f.isNew = false
			d.tellBroken(path, &f.page, page)
		}
	}
	d.owners = owners
	d.current.Store(&next)
}

// chooseOwners says which file each page is read from. Where two have one id,
// the one that has it already stands: a copy of a page must not take over its
// submissions, with other permissions. At a start that is the file whose name
// carries the id, then the first by path.
func (d *Directory) chooseOwners() map[int64]string {
	owners := make(map[int64]string, len(d.files))
	paths := slices.Sorted(maps.Keys(d.files))
	for _, path := range paths {
		id := d.files[path].page.ID
		if other, taken := owners[id]; !taken || d.precedes(path, other, id) {
			owners[id] = path
		}
	}
	delete(owners, 0) // files without an id
	ignored := map[string]string{}
	for _, path := range paths {
		id := d.files[path].page.ID
		stands, ok := owners[id]
		if !ok || stands == path {
			continue
		}
		if ignored[path] = stands; d.ignored[path] != stands { // told once, not at every edit of any page
			d.tell("two files have one page id; one stands", "page", id, "stands", stands, "ignored", path)
		}
	}
	d.ignored = ignored
	return owners
}

// precedes reports whether path comes before other as the file of page id.
func (d *Directory) precedes(path, other string, id int64) bool {
	switch d.owners[id] {
	case path:
		return true
	case other:
		return false
	}
	return Precedes(path, other, id)
}

// Precedes reports whether path, and not other, is served as page id, where
// both have that id and neither has been served yet: the one whose name carries
// the id, then the first by path.
func Precedes(path, other string, id int64) bool {
	if named := nameID(path) == id; named != (nameID(other) == id) {
		return named
	}
	return path < other
}
