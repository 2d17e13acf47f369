package pages

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/reload"
)

// file is what is known of one page file.
type file struct {
	version reload.File       // that was read
	sum     [sha256.Size]byte // of its content
	page    markup.Page
	unknown []markup.Diagnostic // warnings of names on it
	isNew   bool                // page was not published yet
	failure string              // of the last read, "" when it went well
}

// look returns the state of all page files. The path of a folder that can't be read
// ends in a separator. If the root can't be listed, it is the only path. Users and groups that
// have become known or unknown change the warnings of pages at once.
func (d *Directory) look() reload.State {
	if d.warn() {
		d.publish()
	}
	state := reload.State{}
	err := walk(d.root, isPage, func(path string, err error) {
		if err != nil {
			state[path+separator] = reload.File{Err: err}
		} else {
			state[path] = reload.Stat(path)
		}
	})
	if err != nil {
		return reload.State{d.root: {Err: err}}
	}
	return state
}

// load reads the files that have changed, or all, and publishes their pages. The
// error says that the root can't be listed, or that some files can't be read.
func (d *Directory) load(state reload.State, all bool) error {
	if err := state[d.root].Err; err != nil {
		d.failure.Store(&err)
		return err
	}
	d.failure.Store(nil)
	var unreadable, irregular []string
	changed, failed := false, 0
	for _, path := range slices.Sorted(maps.Keys(state)) {
		f := state[path]
		switch {
		case strings.HasSuffix(path, separator):
			unreadable = append(unreadable, strings.TrimSuffix(path, separator))
		case errors.Is(f.Err, fs.ErrNotExist), f.Err == nil && !f.Info.Mode().IsRegular():
			irregular = append(irregular, path)
		default:
			isNew, err := d.loadFile(path, f, all)
			changed = changed || isNew
			if err != nil {
				failed++
			}
		}
	}
	d.unreadable = d.logNew(d.unreadable, unreadable,
		"folder of pages can't be read; the last known pages in it stay in force", "folder")
	d.irregular = d.logNew(d.irregular, irregular,
		"page is not a regular file nor a link to one: it is passed over", "file")
	if d.forgetMissing(state) || changed || all {
		d.publish()
	}
	if failed > 0 {
		return fmt.Errorf("files of pages that can't be read: %d", failed)
	}
	return nil
}

// loadFile reads one file if it has changed, and reports whether its content is
// new. What can't be read is logged once for each reason.
func (d *Directory) loadFile(path string, found reload.File, all bool) (isNew bool, err error) {
	f := d.files[path]
	if f == nil {
		f = &file{}
		d.files[path] = f
	}
	if !all && found.Info != nil && found.Same(f.version) {
		f.failure = "" // the next one is logged again
		return false, nil
	}
	var source []byte
	if err = found.Err; err == nil {
		source, err = readLimited(path)
	}
	if err != nil {
		if f.failure != err.Error() {
			f.failure = err.Error()
			d.log.Error("page can't be read", "file", path, "error", err)
		}
		return false, err
	}
	f.failure = ""
	first := f.version.Info == nil
	f.version = found
	sum := sha256.Sum256(source)
	if !first && sum == f.sum {
		return false, nil
	}
	page := parse(path, source, d.options)
	if !page.MetaRead && f.page.ID != 0 {
		page.ID = f.page.ID // it may have been in the part that can't be read now
	}
	nameForms(&page, pageTitle(&page, path))
	f.sum, f.page, f.isNew = sum, page, true
	logDiagnostics(d.log.With("file", path), page.Diagnostics)
	return true, nil
}

// forgetMissing forgets files that have gone, and reports whether there are any.
// Whether files in a folder that can't be read have gone is not known.
func (d *Directory) forgetMissing(state reload.State) bool {
	before := len(d.files)
	maps.DeleteFunc(d.files, func(path string, _ *file) bool {
		_, found := state[path]
		return (!found || d.irregular[path]) && !d.inUnreadable(path)
	})
	return len(d.files) < before
}

// inUnreadable reports whether a file is below a folder that can't be read.
func (d *Directory) inUnreadable(path string) bool {
	for folder := range d.unreadable {
		if strings.HasPrefix(path, folder+separator) {
			return true
		}
	}
	return false
}
