package sqlite

import (
	"context"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// Latest implements store.Store.
func (s *Store) Latest(ctx context.Context, username string, limit int) (found []forms.Submission, err error) {
	limit = min(limit, store.MaxLatest)
	err = s.pool.with(ctx, func(stmts *readStmts) error {
		stmt := stmts.latest
		return query(stmt, func() bool {
			if len(found) >= limit {
				return false
			}
			found = append(found, forms.Submission{
				ID: submissionID(stmt.ColumnInt64(0)), PageID: stmt.ColumnInt64(2), FormID: stmt.ColumnText(3),
				Created: time.UnixMilli(stmt.ColumnInt64(1)).UTC(), Username: username,
			})
			return true
		}, username)
	})
	return found, engine.Wrap(err, "read the latest submissions")
}
