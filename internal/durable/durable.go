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

// Write creates a file that is complete, or missing after a crash. It writes a
// temporary file beside path, with mode 0600 unless prepare changes it. publish gives
// it its name: os.Rename replaces a file that is there, os.Link fails.
func Write(path string, content []byte, prepare func(*os.File) error, publish func(temp, path string) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails once it was renamed
	err = prepare(temp)
	_, writeErr := temp.Write(content)
	// Synced before it gets its name, or a crash could leave an empty file.
	if err := errors.Join(err, writeErr, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := publish(temp.Name(), path); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// MkdirAll is os.MkdirAll for a private directory, and syncs the entries of the directories that it makes.
func MkdirAll(path string) error { return mkdirAll(path, Sync) }

func mkdirAll(path string, sync func(string) error) error {
	var parents []string
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		parents = append(parents, filepath.Dir(dir))
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for _, dir := range parents {
		if err := sync(dir); err != nil {
			return err
		}
	}
	return nil
}
