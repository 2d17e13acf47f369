package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/formulary/formulary/internal/store"
)

// identity knows which files the store has open. What is written to a file that
// was removed or replaced since would be lost when the process ends.
type identity struct {
	path  string
	files []fs.FileInfo // of the database, its WAL and the WAL's index
}

var fileSuffixes = []string{"", "-wal", "-shm"}

// identify is to be called when the database is open and in WAL mode, so that
// all of the files are there.
func identify(path string) (*identity, error) {
	id := &identity{path: path}
	for _, suffix := range fileSuffixes {
		info, err := os.Stat(path + suffix)
		if err != nil {
			return nil, err
		}
		id.files = append(id.files, info)
	}
	return id, nil
}

// check returns an error, which wraps store.ErrUnavailable, unless the files
// are still where they were.
func (id *identity) check() error {
	for i, suffix := range fileSuffixes {
		name := id.path + suffix
		info, err := os.Stat(name)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: the files of the store can't be looked at, so nothing more is stored: %w", store.ErrUnavailable, err)
		case err != nil || !os.SameFile(info, id.files[i]):
			return fmt.Errorf("%w: %s was removed or replaced while the server runs: nothing more is stored. "+
				"Stop the server, put the file back or restore a backup, and start again", store.ErrUnavailable, name)
		case suffix == "" && info.Size() == 0:
			return fmt.Errorf("%w: %s was emptied while the server runs: nothing more is stored. "+
				"Stop the server, restore a backup, and start again", store.ErrUnavailable, name)
		}
	}
	return nil
}
