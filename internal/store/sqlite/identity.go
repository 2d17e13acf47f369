package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/formulary/formulary/internal/store"
)

// identity knows which files the store has open: the database, and what
// belongs to its WAL. What is written to a file that was removed or replaced
// since would be lost when the process ends.
type identity []knownFile

type knownFile struct {
	name   string
	opened fileID
}

// fileID tells one file from every other.
type fileID struct{ device, inode uint64 }

// identify is to be called when the database is open and in WAL mode, so that
// its WAL and the index of that are there, too.
func identify(path string) (identity, error) {
	var id identity
	for _, suffix := range []string{"", "-wal", "-shm"} {
		opened, _, err := look(path + suffix)
		if err != nil {
			return nil, err
		}
		id = append(id, knownFile{path + suffix, opened})
	}
	return id, nil
}

// sizes are the least that the database and its WAL can have: the database
// never shrinks, and the WAL holds all pages that are not in the database yet.
type sizes struct{ database, wal int64 }

// check returns an error, which wraps store.ErrUnavailable, unless the files
// are still where they were and as large as they must be. It returns the size
// of the database.
func (id identity) check(least sizes) (database int64, err error) {
	smallest := []int64{max(1, least.database), least.wal, 0}
	for i, f := range id {
		found, size, err := look(f.name)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return 0, fmt.Errorf("%w: the files of the store can't be looked at, so nothing more is stored: %w", store.ErrUnavailable, err)
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

// walSize is the size of the WAL, 0 if it is not there.
func (id identity) walSize() int64 {
	_, size, err := look(id[1].name)
	if err != nil {
		return 0
	}
	return size
}

// stat is look for every system.
func stat(name string) (id fileID, size int64, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return fileID{}, 0, err
	}
	sys := info.Sys().(*syscall.Stat_t)
	return fileID{uint64(sys.Dev), sys.Ino}, info.Size(), nil //nolint:unconvert // its type differs between systems
}
