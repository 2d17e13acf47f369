package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/formulary/formulary/internal/store"
)

// identity records which files the store has open: the database, its WAL and the
// index of that. What is written to a file after it was removed or replaced
// would be lost when the process ends.
type identity []knownFile

type knownFile struct {
	name   string
	opened fileID
}

// fileID is unique for each file.
type fileID struct{ device, inode uint64 }

// identify is called when the database is open and in WAL mode, so that all
// three files exist.
func identify(path string) (identity, error) {
	var id identity
	for _, suffix := range []string{"", "-wal", "-shm"} {
		opened, _, err := statFile(path + suffix)
		if err != nil {
			return nil, err
		}
		id = append(id, knownFile{path + suffix, opened})
	}
	return id, nil
}

// check returns an error, which wraps store.ErrUnavailable, unless the files are still
// where they were, and the database and its WAL have as many bytes as they must: the
// database never shrinks, and the WAL holds all pages that are not in the database yet.
// It returns the size of the database.
func (id identity) check(minDatabase, minWAL int64) (database int64, err error) {
	smallest := []int64{max(1, minDatabase), minWAL, 0}
	for i, f := range id {
		found, size, err := statFile(f.name)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return 0, fmt.Errorf("%w: the files of the store can't be looked at, so nothing more is stored: %w",
				store.ErrUnavailable, err)
		case err != nil || found != f.opened:
			return 0, fmt.Errorf("%w: %s was removed or replaced while the server runs: nothing more is stored. "+
				"Stop the server, put the file back or restore a backup, and start again", store.ErrUnavailable, f.name)
		case size < smallest[i]:
			return 0, fmt.Errorf("%w: %s was emptied or cut short while the server runs: nothing more is stored. "+
				"Stop the server, restore a backup, and start again", store.ErrUnavailable, f.name)
		case i == 0:
			database = size
		}
	}
	return database, nil
}

// size is the size of a file, 0 if there is none.
func size(file string) int64 {
	_, n, _ := statFile(file)
	return n
}

// statPortable is statFile for every system.
func statPortable(name string) (id fileID, size int64, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return fileID{}, 0, err
	}
	sys := info.Sys().(*syscall.Stat_t)
	return fileID{uint64(sys.Dev), sys.Ino}, info.Size(), nil //nolint:unconvert // its type differs between systems
}
