// Package durable creates files and directories that survive a crash of the
// system, on any file system.
package durable

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
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

// Replace is Write for a file that may be there, see Like. ready is called last, and its error keeps the old file.
func Replace(path string, content []byte, like string, ready func() error) error {
	return Write(path, content, Like(like), func(temp, path string) error {
		if err := ready(); err != nil {
			return err
		}
		return os.Rename(temp, path)
	})
}

// Like prepares a file for Write: it gets the mode of a file that may be there, whatever the umask. It gets its owner
// and group as far as that is permitted.
func Like(path string) (prepare func(*os.File) error) {
	return func(f *os.File) error {
		old, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		keepOwner(f.Chown, old)
		return f.Chmod(old.Mode().Perm())
	}
}

// keepOwner restores owner and group as far as it is permitted: only root can
// change the owner, other users can set a group that they are in.
func keepOwner(chown func(uid, gid int) error, old os.FileInfo) {
	stat, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if chown(int(stat.Uid), int(stat.Gid)) != nil {
		_ = chown(-1, int(stat.Gid))
	}
}

// Lock locks a folder, not a file in it: a lock on an old file would not protect the new one. It waits until ctx ends.
// To close the folder unlocks it.
func Lock(ctx context.Context, path string) (folder *os.File, err error) {
	if folder, err = os.Open(path); err != nil {
		return nil, err
	}
	for {
		switch err = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return folder, nil
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, errors.Join(err, folder.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), folder.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
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
