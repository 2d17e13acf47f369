package pages

import (
	"maps"
	"slices"

	"github.com/formulary/formulary/internal/markup"
)

// publish makes the pages of all files current.
func (d *Directory) publish() {
	d.warn()
	before := d.current.Load().pages
	next := &snapshot{pages: make(map[int64]*Page, len(d.files))}
	owners := d.chooseOwners()
	for id, path := range owners {
		f := d.files[path]
		page := renew(before[id], &f.page, pageTitle(&f.page, path))
		if page != nil {
			page.Diagnostics = slices.Concat(f.unknown, page.Diagnostics)
			next.pages[id] = page
			d.AddKeeps(before[id], page)
			next.counts.Pages++
			next.counts.Forms += len(page.Forms)
		}
		next.counts.Broken += countBroken(&f.page)
		if f.isNew {
			f.isNew = false
			logBroken(d.log.With("file", path), &f.page, page)
		}
	}
	d.owners = owners
	next.owners, next.ignored = owners, d.ignored // publish never changes them in place
	d.current.Store(next)
}

// warn finds the users and groups on pages that the server does not know, and logs each once. It reports whether they
// are others than at the last call.
func (d *Directory) warn() bool {
	if d.options == nil || d.options.UnknownName == nil {
		return false
	}
	before := d.unknown
	d.unknown = map[string]bool{}
	for path, f := range d.files {
		f.unknown = nil
		for _, name := range f.page.Meta.Names {
			hint := d.options.UnknownName(name.Text)
			if hint == "" || len(f.unknown) == maxDiagnostics {
				continue
			}
			f.unknown = append(f.unknown, name.Unknown(hint))
			key := name.Text + hint
			if !before[key] && !d.unknown[key] {
				logDiagnostics(d.log.With("file", path), f.unknown[len(f.unknown)-1:])
			}
			d.unknown[key] = true
		}
	}
	return !maps.Equal(before, d.unknown)
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

// chooseOwners says which file each page is read from. Of two with one id, it is
// the one that the page was read from before: a copy of a page must not take over
// its submissions, with other permissions. At a start it is the file whose name
// has the id, then the first by path.
func (d *Directory) chooseOwners() map[int64]string {
	owners := make(map[int64]string, len(d.files))
	paths := slices.Sorted(maps.Keys(d.files))
	for _, path := range paths {
		id := d.files[path].page.ID
		other, taken := owners[id]
		if !taken || path == d.owners[id] || other != d.owners[id] && Precedes(path, other, id) {
			owners[id] = path
		}
	}
	delete(owners, 0) // files without an id
	ignored := map[string]string{}
	for _, path := range paths {
		id := d.files[path].page.ID
		owner, ok := owners[id]
		if !ok || owner == path {
			continue
		}
		if ignored[path] = owner; d.ignored[path] != owner { // logged once, not at every edit of any page
			d.log.Error("two files have one page id; one stands", "page", id, "stands", owner, "ignored", path)
		}
	}
	d.ignored = ignored
	return owners
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
