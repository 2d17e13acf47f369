// Package durable creates files and directories that survive a crash of the
// system, on any file system.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Sync writes a file's content, or a directory's entries, to the disk. EINVAL is
// no error: some file systems return it because they can't sync directories.
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

// MkdirAll is os.MkdirAll, and syncs the entries of the directories that it makes.
func MkdirAll(path string, perm fs.FileMode) error {
	return mkdirAll(path, perm, Sync)
}

func mkdirAll(path string, perm fs.FileMode, sync func(string) error) error {
	var parents []string
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		parents = append(parents, filepath.Dir(dir))
	}
	if err := os.MkdirAll(path, perm); err != nil {
		return err
	}
	for _, dir := range parents {
		if err := sync(dir); err != nil {
			return err
		}
	}
	return nil
}

// Name moves a complete and synced file to its final path. It never replaces a
// file, which a rename would do: if the path exists, the error is fs.ErrExist.
func Name(whole, path string) error { return name(whole, path, os.Link) }

// name is Name by means of link. On a file system without links, an empty file
// reserves the name, and is then replaced.
func name(whole, path string, link func(string, string) error) error {
	switch err := link(whole, path); {
	case err == nil:
		return os.Remove(whole)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	reserved, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_ = reserved.Close() // nothing was written to it
	if err := os.Rename(whole, path); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
