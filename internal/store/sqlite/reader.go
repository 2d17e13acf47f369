package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// openReader opens a store for reading only. It has one connection, and thereby one snapshot
// for as long as only lists are read.
func openReader(ctx context.Context, path, vfs string, log *slog.Logger) (*Store, error) {
	uri := fileURI(path, vfs) + "&mode=ro"
	_, err := os.Lstat(path + "-shm")
	closed := errors.Is(err, os.ErrNotExist) && size(path+"-wal") == 0
	if closed { // SQLite would create files beside it, which a server of another user could not open
		uri += "&immutable=1"
	}
	s := newStore(&writer{forms: &formNumbers{}, files: identity{{name: path}}}, newReadPool(uri, 1), log)
	s.close = sync.OnceValue(func() error {
		err := s.pool.close()
		if closed && size(path+"-wal") > 0 {
			err = errors.Join(err, fmt.Errorf("a server has begun to write to %s meanwhile: run this again", path))
		}
		return err
	})
	if err := s.pool.with(ctx, requireStore); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), s.Close())
	}
	return s, nil
}
