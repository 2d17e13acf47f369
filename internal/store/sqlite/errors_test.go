package sqlite

import (
	"fmt"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// The index of the WAL can't grow on a full disk. That is no other error than one of the
// database itself.
func TestFullDiskIsToldApart(t *testing.T) {
	for err, want := range map[error]error{
		sqlite3.FULL: store.ErrFull, sqlite3.IOERR_SHMSIZE: store.ErrFull, sqlite3.IOERR_WRITE: store.ErrUnavailable,
	} {
		testkit.ErrorIs(t, err.Error(), classify(fmt.Errorf("step: %w", err)), want)
	}
}
