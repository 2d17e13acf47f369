package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/formulary/formulary/internal/durable"
)

// partialName is a restore that is not finished. It gets FileName when it is.
const partialName = FileName + ".partial"

// What keeps a data directory from being used.
var (
	// ErrInUse: another process uses the directory.
	ErrInUse = errors.New("is in use by another formulary")
	// ErrOccupied: the directory that a backup is restored to has a store.
	ErrOccupied = errors.New("is there already: nothing is restored over a store")
)

// Exists returns an error that says why, if there is no store in directory dir.
func Exists(dir string) error {
	if err := refuseUnfinishedRestore(dir); err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err == nil && info.Size() == 0 {
		err = fmt.Errorf("%s is empty", filepath.Join(dir, FileName))
	}
	if err != nil {
		return fmt.Errorf("no store in %s: %w", dir, err)
	}
	return nil
}

// lockDir creates the data directory where needed, and locks it for this
// process, until it is closed. The kernel releases the lock when the process ends, however it
// ends. SQLite's own locks would let two servers write in turns, each with its
// own idea of the next id.
//
// The directory itself is locked, because a file in it could be removed, and
// another process would lock a new one of the same name.
func lockDir(dir string, flock func(fd, how int) error) (*os.File, error) {
	if err := durable.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	if err := refuseReadOnly(dir); err != nil {
		return nil, err
	}
	return flockDir(dir, flock)
}

func flockDir(dir string, flock func(fd, how int) error) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	switch err = flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = fmt.Errorf("data directory %s %w", dir, ErrInUse)
	case err != nil:
		err = fmt.Errorf("data directory %s can't be locked (%w): "+
			"it must be on a local disk, not on a network file system", dir, err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// refuseReadOnly gives a clear error where SQLite would say "unable to open
// database file": SQLite creates files beside a database even to read it.
func refuseReadOnly(dir string) error {
	const writable = 2 // W_OK
	err := syscall.Access(dir, writable)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the data directory %s is read-only for this user (%w): "+
			"mount it for writing, or give it to the user that formulary runs as", dir, err)
	}
	return nil
}

// refuseUnfinishedRestore keeps the directory of a restore that was killed from
// being taken for an empty store.
func refuseUnfinishedRestore(dir string) error {
	partial := filepath.Join(dir, partialName)
	if _, err := os.Lstat(partial); err != nil {
		return nil //nolint:nilerr // there is none
	}
	return fmt.Errorf("data directory %s holds a restore that was not finished: "+
		"run 'formulary restore' again with the same backup, or remove %s", dir, partial)
}

// refuseTraces keeps a new store from replacing one whose database is missing or empty, or has lost its log, which
// holds all of a store that is young: a log, a key or a backup says that there was one. SQLite would delete the log.
func refuseTraces(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		isLog := name == FileName+"-wal" && size(path) == 0 && size(path+"-wal") > 0
		isBackup := name != FileName && strings.HasSuffix(name, ".db")
		if isLog || isBackup || strings.Contains(name, ".key") {
			return fmt.Errorf("the database is missing or empty, and %s says that there was a store: "+
				"mount its volume, put %s back, or use 'formulary restore'. "+
				"If a new store is wanted, move %[1]s away", name, FileName)
		}
	}
	return nil
}
