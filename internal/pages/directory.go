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
	"strings"
	"sync/atomic"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
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

	// Only the polling goroutine touches these.
	files      map[string]*file  // by path
	owners     map[int64]string  // the file that each page is read from
	ignored    map[string]string // files whose page is read from another: that one
	unreadable []string          // folders, as of the last look
	odd        []string          // what has a page's name and is no file, as of the last look

	current atomic.Pointer[map[int64]*Page]
	failure atomic.Pointer[error] // of the last look at the directory; nil when it went well
}

var _ Source = (*Directory)(nil)

// file is what is known of one page file.
type file struct {
	seen    fingerprint // as of the last read
	readAt  time.Time
	sum     [sha256.Size]byte // of the content last read
	page    markup.Page
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
	d := &Directory{root: root, log: log, now: now, find: Find, load: readLimited, files: map[string]*file{}}
	d.current.Store(&map[int64]*Page{})
	if err := d.look(true); err != nil {
		return nil, fmt.Errorf("open pages: %w", err)
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

// Watch keeps the pages up to date until ctx ends.
func (d *Directory) Watch(ctx context.Context) {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		start := time.Now()
		d.Poll()
		// A large directory takes longer to look through; it may take a tenth of
		// a core, but edits must still show within two seconds.
		timer.Reset(min(max(pollInterval, 10*time.Since(start)), 2*pollInterval))
	}
}

// Poll looks at the directory once. When it can't be read the pages stay as
// they are: a volume that does not answer is no reason to forget every form.
func (d *Directory) Poll() {
	err := d.look(false)
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

func (d *Directory) look(atOnce bool) error {
	paths, unreadable, err := d.find(d.root)
	if err != nil {
		return err
	}
	d.unreadable = d.complain(d.unreadable, unreadable, "folder of pages can't be read; the last known pages in it stay in force", "folder")
	anyChange := atOnce
	var odd []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			if _, err := os.Lstat(path); err == nil { // it did not just go away
				odd = append(odd, path)
			}
			continue // counts as missing
		}
		f := d.files[path]
		if f == nil {
			f = &file{}
			d.files[path] = f
		}
		f.missing = -1
		if err != nil {
			d.cannotRead(path, f, err)
			continue
		}
		switch {
		case d.due(f, fingerprint{info}, atOnce):
			anyChange = d.read(path, f) || anyChange
		case f.seen.same(fingerprint{info}):
			f.failure = "" // whatever it was, it is over
		}
	}
	d.odd = d.complain(d.odd, odd, "page is not a regular file nor a link to one: it is passed over", "file")
	for path, f := range d.files {
		if slices.ContainsFunc(unreadable, func(dir string) bool { return strings.HasPrefix(path, dir+string(filepath.Separator)) }) {
			f.missing = 0 // nobody knows
			continue
		}
		// A file may be away for a moment while it is replaced.
		if f.missing++; f.missing >= 2 || (f.missing > 0 && f.readAt.IsZero()) {
			delete(d.files, path)
			anyChange = true
		}
	}
	if anyChange {
		d.publish()
	}
	return nil
}

// complain tells of paths that were not among those before: once, and not at
// every look.
func (d *Directory) complain(before, now []string, message, key string) []string {
	for _, path := range now {
		if !slices.Contains(before, path) {
			d.log.Error(message, key, path)
		}
	}
	return now
}

// due reports whether the file is to be read now: it has changed, and has kept
// still since the last poll, so that it is not caught half-written.
func (d *Directory) due(f *file, now fingerprint, atOnce bool) bool {
	if f.seen.same(now) {
		f.changed, f.waited = fingerprint{}, 0
		// Two writes within the tick of a time stamp look like one. Told by the
		// stamp, not by when it was read: at a start that would be all files.
		return f.readAt.Sub(now.info.ModTime()).Abs() < timestampSlack
	}
	f.waited++
	due := atOnce || f.changed.same(now) || f.waited > unsteadyPolls
	f.changed = now
	return due
}

// read takes in a file's content and reports whether it is new.
func (d *Directory) read(path string, f *file) bool {
	source, read, err := d.load(path)
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
	for _, p := range page.Problems {
		say := d.log.Warn
		if p.Severity == markup.Error {
			say = d.log.Error
		}
		say("page problem",
			"file", path, "line", p.Line, "column", p.Column, "problem", p.Message, "hint", p.Hint)
	}
	return true
}

// cannotRead tells of it once: it is tried again at every poll.
func (d *Directory) cannotRead(path string, f *file, err error) {
	if f.failure != err.Error() {
		f.failure = err.Error()
		d.log.Error("page can't be read", "file", path, "error", err)
	}
}

// publish makes the pages of all files current.
func (d *Directory) publish() {
	before := *d.current.Load()
	next := make(map[int64]*Page, len(d.files))
	owners := d.chooseOwners()
	for id, path := range owners {
		if page := renew(before[id], &d.files[path].page); page != nil {
			next[id] = page
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
			d.log.Error("two files have one page id; one stands", "page", id, "stands", stands, "ignored", path)
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

// renew makes the page that follows old, which may be nil: what is broken now
// keeps its last good definition. Permissions that can be read apply at once,
// whatever is wrong with the rest of the page.
func renew(old *Page, parsed *markup.Page) *Page {
	page := &Page{ID: parsed.ID, Meta: parsed.Meta}
	if parsed.Unreadable {
		if old == nil || !parsed.MetaRead {
			return old
		}
		page.Forms, page.nameless, page.kept = old.Forms, old.nameless, old.kept
		return page
	}
	for _, b := range parsed.Blocks {
		switch {
		case b.Form != nil:
			page.Forms = append(page.Forms, b.Form)
		case b.FormID == "":
			page.nameless = append(page.nameless, b)
		case old != nil:
			page.keep(old.Form(b.FormID))
		}
	}
	if len(page.nameless) > 0 && old != nil {
		// A block that is newly broken does not tell which form it was, so every
		// form that is missing now may be it. One that was broken before stands
		// for what it stood for.
		missing := old.kept
		if page.brokenAnew(old) {
			missing = old.Forms
		}
		for _, f := range missing {
			if page.keep(f) {
				page.kept = append(page.kept, f)
			}
		}
	}
	return page
}

// brokenAnew reports whether a block without an id is not one of the old page's.
func (p *Page) brokenAnew(old *Page) bool {
	before := slices.Clone(old.nameless)
	for _, b := range p.nameless {
		i := slices.IndexFunc(before, func(o markup.Block) bool { return o.Sum == b.Sum })
		if i < 0 || b.Sum == (markup.Block{}).Sum {
			return true
		}
		before = slices.Delete(before, i, i+1)
	}
	return false
}

// keep adds a form that the page does not have, and reports whether it did.
func (p *Page) keep(f *forms.Form) bool {
	if f == nil || p.Form(f.ID) != nil {
		return false
	}
	p.Forms = append(p.Forms, f)
	return true
}
