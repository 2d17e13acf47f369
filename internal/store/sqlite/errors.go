package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
)

// unavailable are the codes of temporary errors: a retry can succeed.
var unavailable = []sqlite3.ErrorCode{
	sqlite3.IOERR, sqlite3.BUSY, sqlite3.LOCKED, sqlite3.CANTOPEN, sqlite3.READONLY,
	sqlite3.NOMEM, sqlite3.PERM, sqlite3.PROTOCOL, sqlite3.INTERRUPT,
}

// classify wraps an error of SQLite in the matching error of the store's contract.
// Other errors are returned as they are.
func classify(err error) error {
	if err == nil { // before code is allocated
		return nil
	}
	// The code, not an *sqlite3.Error: where there is no more to tell than the
	// code, as with FULL, the driver returns the bare code.
	var code sqlite3.ErrorCode
	switch {
	case !errors.As(err, &code):
		return err
	case errors.Is(err, sqlite3.IOERR_DATA):
		return fmt.Errorf("the database is damaged: a page does not match its checksum: "+
			"stop the server and restore a backup: %w", err)
	// The index of the WAL can't be made longer. The only reason for that is a full disk.
	case code == sqlite3.FULL, errors.Is(err, sqlite3.IOERR_SHMSIZE):
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case slices.Contains(unavailable, code):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	default:
		return err
	}
}

// classify adds to an error of SQLite the error of the system on the files of the
// connection, too: "disk I/O error" alone helps little.
func (c *connection) classify(err error) error {
	if err = classify(err); err == nil { // before code is allocated
		return nil
	}
	var told *fs.PathError
	var code sqlite3.ErrorCode
	if errors.As(err, &told) || errors.Is(err, sqlite3.IOERR_DATA) || !errors.As(err, &code) ||
		code != sqlite3.IOERR && code != sqlite3.FULL {
		return err
	}
	if cause := systemError(c.Conn); cause != nil {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
