package pages

import (
	"maps"
	"slices"

	"github.com/formulary/formulary/internal/markup"
)

// publish makes the pages of all files current.
func (d *Directory) publish() {
	before := d.current.Load().pages
	next := &snapshot{pages: make(map[int64]*Page, len(d.files))}
	owners := d.chooseOwners()
	for id, path := range owners {
		f := d.files[path]
		page := renew(before[id], &f.page, titleFromName(path, id))
		if page != nil {
			next.pages[id] = page
			next.counts.Pages++
			next.counts.Forms += len(page.Forms)
		}
		next.counts.Broken += countBroken(&f.page)
		if f.isNew {
			f.isNew = false
			d.logBroken(path, &f.page, page)
		}
	}
	d.owners = owners
	d.current.Store(next)
}

// countBroken counts what can't be read of a page as it is written: the page as a
// whole, or some of its forms.
func countBroken(page *markup.Page) (n int) {
	if page.Unreadable {
		return 1
	}
	for _, b := range page.Blocks {
		if b.Form == nil {
			n++
		}
	}
	return n
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
		if ignored[path] = stands; d.ignored[path] != stands { // logged once, not at every edit of any page
			d.logError("two files have one page id; one stands", "page", id, "stands", stands, "ignored", path)
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
