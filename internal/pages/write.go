package pages

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/markup"
)

// Reasons why a page is not written, besides ErrUnavailable.
var (
	// ErrConflict: the page has changed or gone, or no longer names the user as an editor.
	ErrConflict = markup.ErrConflict
	// ErrReadOnly: the page can't be written, for a reason that is not its author's.
	ErrReadOnly = errors.New("the page can't be written")
)

// Draft is a page as it is written now.
type Draft struct {
	*markup.Source
	Title string
}

// maxLockWait is how long a write waits for others.
const maxLockWait = 10 * time.Second

// locked runs write while no other process writes pages.
func (d *Directory) locked(ctx context.Context, write func() error) error {
	waiting, cancel := context.WithTimeout(ctx, maxLockWait)
	defer cancel()
	lock, err := durable.Lock(waiting, d.root)
	if err != nil {
		return fmt.Errorf("%w: lock the folder of pages: %w", ErrUnavailable, err)
	}
	defer lock.Close() // and unlocks it
	err = write()
	_, ofSystem := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w: %w", ErrConflict, err)
	case ofSystem:
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return err
}

// CheckWritable returns an error if pages can't be written.
func (d *Directory) CheckWritable(ctx context.Context) error {
	return d.locked(ctx, func() error {
		discard := func(_, _ string) error { return nil }
		return durable.Write(filepath.Join(d.root, "writable"), nil, newMode, discard)
	})
}

// Change writes what change makes of a page; nil removes the page. An error of change is returned as it is. A change is
// durable, and served when Change returns. After an error the page is as it was. Errors: those above, ErrUnavailable.
func (d *Directory) Change(ctx context.Context, user User, id int64, change func(Draft) ([]byte, error)) error {
	return d.locked(ctx, func() error { return d.change(ctx, user, id, change) })
}

func (d *Directory) change(ctx context.Context, user User, id int64, change func(Draft) ([]byte, error)) error {
	path, target, err := d.fileOf(id)
	if err != nil {
		return err
	}
	source, err := readLimited(target)
	if err != nil {
		return err
	}
	format, _ := markup.FormatOf(path)
	page := markup.Open(format, nameID(path), source, d.options)
	if !maySave(&page.Page, user, id) {
		return ErrConflict
	}
	changed, err := change(Draft{page, pageTitle(&page.Page, path)})
	if err != nil || changed != nil && bytes.Equal(changed, source) {
		return err
	}
	defer d.watcher.Take(context.WithoutCancel(ctx), path) // others wait for the page, too
	return replace(path, target, source, changed)
}

// maySave decides by the front matter that was just read.
func maySave(page *markup.Page, user User, id int64) bool {
	return page.MetaRead && page.ID == id && rightsOf(&page.Meta, user).Save
}

// fileOf returns the path of a page, and the file that it leads to.
func (d *Directory) fileOf(id int64) (path, target string, err error) {
	now := d.current.Load()
	path, found := now.owners[id]
	if !found {
		return "", "", ErrConflict
	}
	for other, owner := range now.ignored {
		if owner == path {
			return "", "", fmt.Errorf("%w: %s has its id, too", ErrReadOnly, other)
		}
	}
	target, err = filepath.EvalSymlinks(path)
	root, rootErr := filepath.EvalSymlinks(d.root)
	if err := errors.Join(err, rootErr); err != nil {
		return "", "", err
	}
	if rel, err := filepath.Rel(root, target); err != nil || !filepath.IsLocal(rel) {
		return "", "", fmt.Errorf("%w: %s is a link to a file outside of the folder of pages", ErrReadOnly, path)
	}
	return path, target, nil
}

// formerOf is the file with the former source of a page.
func formerOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".bak")
}

// formers calls visit for all pages whose former source is known.
func (d *Directory) formers(visit func(path string, page *markup.Page, source []byte)) (err error) {
	pageOf := func(name string) string { return strings.TrimPrefix(strings.TrimSuffix(name, ".bak"), ".") }
	isFormer := func(name string) bool { return formerOf(pageOf(name)) == name && isPage(pageOf(name)) }
	walkErr := walk(d.root, isFormer, func(former string, folderErr error) {
		if folderErr != nil {
			return // the watcher logs it
		}
		source, readErr := readLimited(former)
		path := filepath.Join(filepath.Dir(former), pageOf(filepath.Base(former)))
		page := parse(path, source, d.options)
		visit(path, &page, source)
		err = cmp.Or(err, readErr)
	})
	return cmp.Or(walkErr, err)
}

// replace replaces or removes a page that nobody has changed since it was read. Editors don't lock the folder.
func replace(path, target string, source, changed []byte) error {
	unchanged := func() error {
		now, err := readLimited(target)
		if err == nil && !bytes.Equal(now, source) {
			err = ErrConflict
		}
		return err
	}
	if changed != nil {
		// The new file comes before the former file: where there is no room for it, both stay.
		return durable.Replace(target, changed, target, func() error {
			return cmp.Or(durable.Replace(formerOf(path), source, target, unchanged), unchanged())
		})
	}
	if err := unchanged(); err != nil {
		return err
	}
	if err := os.Rename(target, formerOf(path)); err != nil {
		return err
	}
	_ = os.Remove(path) // if it is a link
	return durable.Sync(filepath.Dir(path))
}

// newMode is the mode of new pages, whatever the umask is.
func newMode(f *os.File) error { return f.Chmod(0o644) }

// Create writes a page with an id above last and all ids that pages have or had. If it was called before with the same
// source, that page stays: its id is above after. Errors as of Change.
func (d *Directory) Create(ctx context.Context, last, after int64, source []byte) (id int64, err error) {
	isThere := func(id int64, path string) bool {
		known, err := readLimited(path)
		return id > after && err == nil && bytes.Equal(known, source)
	}
	err = d.locked(ctx, func() error {
		id = last
		for known, path := range d.current.Load().owners {
			if isThere(known, path) {
				id = known
				return nil
			}
			id = max(id, known)
		}
		if err := d.formers(func(_ string, page *markup.Page, _ []byte) { id = max(id, page.ID) }); err != nil {
			return err
		}
		for id++; id > 0; id++ {
			path := filepath.Join(d.root, strconv.FormatInt(id, 10)+".md") // as walk writes it
			switch err := durable.Write(path, source, newMode, os.Link); {
			case !errors.Is(err, fs.ErrExist):
				d.watcher.Take(context.WithoutCancel(ctx), path)
				return err
			case isThere(id, path): // another server has just written it
				return nil
			}
		}
		return fmt.Errorf("%w: no id is left", ErrReadOnly)
	})
	return id, err
}

// Restore takes back a change that left the front matter as it was. The Tags of the source are before and after that
// change. No Tag after it means that the page was removed: its former file goes, so that this can't be done again. If
// the page has changed since, the error is ErrConflict. Other errors are as of Change.
func (d *Directory) Restore(ctx context.Context, user User, id int64, before, after string) error {
	return d.locked(ctx, func() error {
		path, former := "", []byte(nil)
		err := d.formers(func(found string, page *markup.Page, source []byte) {
			if markup.Tag(string(source)) == before && maySave(page, user, id) {
				path, former = found, source
			}
		})
		_, isThere := d.current.Load().owners[id]
		switch {
		case err != nil:
			return err
		case path == "":
			return ErrConflict
		case isThere || after != "":
			return d.change(ctx, user, id, func(now Draft) ([]byte, error) {
				if markup.Tag(string(now.Bytes)) != after {
					return nil, ErrConflict
				}
				return former, nil
			})
		}
		defer d.watcher.Take(context.WithoutCancel(ctx), path) // others wait for the page, too
		if err := durable.Write(path, former, durable.Like(formerOf(path)), os.Link); err != nil {
			return err
		}
		return os.Remove(formerOf(path))
	})
}

// Former returns the text of a form before its page was last changed, and when that was; "" if that is not known.
func (d *Directory) Former(id int64, formID string) (text string, at time.Time) {
	path := d.current.Load().owners[id]
	if info, err := os.Stat(formerOf(path)); err == nil {
		source, _ := readLimited(formerOf(path)) // else it has no forms
		for _, b := range parse(path, source, d.options).Blocks {
			if b.FormID == formID {
				return b.Text, info.ModTime()
			}
		}
	}
	return "", at
}
