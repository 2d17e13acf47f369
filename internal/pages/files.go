package pages

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/reload"
)

// Find lists the page files below root in lexical order: regular files, or
// links to some, with an ending that names a format. Hidden files and folders
// are passed over: editors, version control and mounted volumes keep their own
// things there. So is lost+found, which only root may look into. Folders that
// can't be read are listed apart; only for the root that is an error.
func Find(root string) (files, unreadable []string, err error) {
	err = walk(root, isPage, func(path string, err error) {
		if err != nil {
			unreadable = append(unreadable, path)
		} else {
			files = append(files, path)
		}
	})
	return files, unreadable, err
}

// isPage reports whether a file with this name is a page.
func isPage(name string) bool {
	_, ok := markup.FormatOf(name)
	return ok && name[0] != '.'
}

// walk is Find. It calls visit for each file whose name is wanted, and for each folder that can't be
// read with the error.
func walk(root string, wanted func(name string) bool, visit func(path string, err error)) error {
	// Without the separator, a link to the directory would be a file in itself.
	root = strings.TrimRight(root, separator) + separator
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case errors.Is(err, fs.ErrNotExist):
			return nil // went away between listing and looking
		case err != nil:
			visit(path, err)
			return fs.SkipDir
		}
		if path != root && d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "lost+found") {
			return fs.SkipDir
		}
		if !d.IsDir() && wanted(d.Name()) {
			visit(path, nil)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list pages: %w", err)
	}
	return nil
}

const separator = string(filepath.Separator)

// Read reads and parses one page file. What is no regular file is refused and
// not waited for. Source is what was read of it, which is not all when the file is
// over the limit; the page says so then. options are as for markup.Parse.
func Read(path string, options *markup.Options) (page markup.Page, source []byte, err error) {
	if _, ok := markup.FormatOf(path); !ok {
		return markup.Page{}, nil, fmt.Errorf("read page %s: the name must end in %s", path, markup.Extensions)
	}
	source, err = readLimited(path)
	if err != nil {
		return markup.Page{}, nil, fmt.Errorf("read page: %w", err)
	}
	return parse(path, source, options), source, nil
}

func parse(path string, source []byte, options *markup.Options) markup.Page {
	format, _ := markup.FormatOf(path)
	return markup.Parse(format, nameID(path), source, options)
}

// readLimited reads a byte more than a page may have, at most.
func readLimited(path string) ([]byte, error) {
	f, err := reload.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, markup.MaxPageBytes+1))
}

var leadingNumber = regexp.MustCompile(`^[1-9][0-9]*`)

// nameID is the page id that a file's name begins with, 0 for none.
func nameID(path string) int64 {
	id, err := strconv.ParseInt(leadingNumber.FindString(filepath.Base(path)), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// pageTitle is the title that the page says, or what follows the page id in the name of
// its file.
func pageTitle(page *markup.Page, path string) string {
	if title := strings.TrimSpace(page.Meta.Title); title != "" {
		return title
	}
	name := filepath.Base(path)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	if nameID(path) != 0 {
		name = strings.TrimLeft(strings.TrimLeft(name, "0123456789"), " -_.")
	}
	return cmp.Or(strings.TrimSpace(strings.ToValidUTF8(name, "\ufffd")), fmt.Sprintf("Page %d", page.ID))
}

// nameForms gives a title to the forms that were just read and have none: the
// page's to the only form of a page, else the form's id.
func nameForms(page *markup.Page, title string) {
	for _, b := range page.Blocks {
		switch {
		case b.Form == nil || b.Form.Title != "":
		case len(page.Blocks) == 1 && len(title) <= markup.MaxTextBytes:
			b.Form.SetTitle(title)
		default:
			b.Form.SetTitle(b.Form.ID)
		}
	}
}
