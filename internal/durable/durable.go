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
