package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// Latest implements store.Store.
func (s *Store) Latest(ctx context.Context, username string, limit int) (found []forms.Submission, err error) {
	limit = max(0, min(limit, store.MaxLatest))
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, sqlLatest, username, limit) // the rows have its error
		found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (forms.Submission, error) {
			var created int64
			sub := forms.Submission{Username: username}
			err := row.Scan(&sub.PageID, &sub.FormID, &sub.ID, &created)
			sub.Created = time.UnixMilli(created).UTC()
			return sub, err
		})
		return err
	})
	return found, engine.Wrap(err, "read the latest submissions")
}
