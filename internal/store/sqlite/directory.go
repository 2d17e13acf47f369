package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/formulary/formulary/internal/durable"
)

const (
	// partialName is a restore that is not finished. It gets FileName when it is.
	partialName = FileName + ".partial"

	// pidName is a file with the id of the process that uses the directory, for
	// people. It may be removed at any time.
	pidName = "lock"
)

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
// process. The kernel releases the lock when the process ends, however it
// ends. SQLite's own locks would let two servers write in turns, each with its
// own idea of the next id.
//
// The directory itself is locked, because a file in it could be removed, and
// another process would lock a new one of the same name.
func lockDir(dir string) (*dirLock, error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	if err := refuseReadOnly(dir); err != nil {
		return nil, err
	}
	return flockDir(dir, syscall.Flock)
}

func flockDir(dir string, flock func(fd, how int) error) (*dirLock, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	pid := filepath.Join(dir, pidName)
	switch err = flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		content, _ := os.ReadFile(pid)
		holder := cmp.Or(strings.TrimSpace(string(content)), "unknown")
		err = fmt.Errorf("data directory %s %w (process %s)", dir, ErrInUse, holder)
	case err != nil:
		err = fmt.Errorf("data directory %s can't be locked (%w): it must be on a local disk, not on a network file system", dir, err)
	default:
		_ = os.WriteFile(pid, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600) // for people only
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &dirLock{f}, nil
}

// dirLock is the open, locked directory.
type dirLock struct{ *os.File }

// Close releases the directory, and removes the file with the process id.
func (l *dirLock) Close() error {
	_ = os.Remove(filepath.Join(l.Name(), pidName))
	return l.File.Close()
}

// refuseReadOnly gives a clear error where SQLite would say "unable to open
// database file": SQLite creates files beside a database even to read it.
func refuseReadOnly(dir string) error {
	const writable = 2 // W_OK
	err := syscall.Access(dir, writable)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the data directory %s is read-only for this user (%w): mount it for writing, or give it to the user that formulary runs as", dir, err)
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
	return fmt.Errorf("data directory %s holds a restore that was not finished: run 'formulary restore' again with the same backup, or remove %s", dir, partial)
}

// leftByFirstStart is what a first start that was interrupted leaves in a data
// directory, and what every new file system holds.
var leftByFirstStart = []string{
	FileName, FileName + "-journal", FileName + "-wal", FileName + "-shm", pidName, "lost+found",
}

// refuseLostStore keeps a new store from replacing a lost one. It is called when
// there is no database, or one without a schema: then the directory must hold no
// more than an interrupted first start leaves.
func refuseLostStore(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	var others []string
	for _, e := range entries {
		if !slices.Contains(leftByFirstStart, e.Name()) {
			others = append(others, e.Name())
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("the database is missing or empty, and a new store is made in an empty directory only; this one holds %s. "+
			"If there was a store, mount its volume, or bring it back with 'formulary restore'. If a new one is wanted, move %[1]s away",
			strings.Join(others, ", "))
	}
	return nil
}

// refuseMissing is refuseLostStore by the files alone. It also keeps
// SQLite from deleting the WAL of a database that is missing: an operator who
// moved the database without its WAL can still put it back.
func refuseMissing(path string) error {
	switch file, err := os.Stat(path); {
	case err == nil && file.Size() > 0:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if size(path+"-wal") > 0 {
		return fmt.Errorf("it is missing or empty, but what was written to it last is in %s-wal: put it back, or move that file away", path)
	}
	return refuseLostStore(path)
}
