// Package durable has what it takes for a new file to outlast a crash, on
// whatever file system it is.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Sync gets a file's content, or a folder's names, to the disk. File systems
// that have no notion of it for folders say EINVAL.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// Name gives a file that is whole and on the disk its name, and takes it from
// nobody: fs.ErrExist says that another file has it. It links rather than
// renames, which would replace that one.
func Name(whole, path string) error {
	return name(whole, path, os.Link)
}

func name(whole, path string, link func(string, string) error) error {
	switch err := link(whole, path); {
	case err == nil:
		return os.Remove(whole)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	// Not every file system has links. Whoever can make an empty file of that
	// name has it for himself, and may replace it.
	mine, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(mine.Close(), os.Rename(whole, path)); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
