package sqlite

import (
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// Scan implements store.Store.
func (s *Store) Scan(ctx context.Context, q store.Query) store.Submissions {
	return engine.ListReader(s.readPart).Scan(ctx, q)
}

func (s *Store) readPart(ctx context.Context, c *engine.Rows, q store.Query) error {
	return s.pool.withSnapshot(ctx, func(conn *connection) error {
		c.Last = true
		form, err := s.form(conn, formName{q.PageID, q.FormID})
		if errors.Is(err, errNoForm) {
			return nil
		}
		if err != nil {
			return err
		}
		low, high := rowIDRange(form, q)
		args := []any{low, high}
		if q.IDs != nil {
			args = append(args, q.IDs)
		}
		if q.Username != nil {
			args = append(args, form, *q.Username)
		}
		return conn.query(listSQL(q), func(rows *sqlite3.Stmt) error {
			for rows.Step() {
				if c.Full() {
					c.Last = false
					break
				}
				c.Add(submissionID(rows.ColumnInt64(0)), rows.ColumnInt64(1), rows.ColumnRawText(2), rows.ColumnRawText(3))
				if q.Changes {
					c.AddChange(rows.ColumnRawText(4), rows.ColumnInt64(5), rows.ColumnRawText(6))
				}
			}
			return nil
		}, args...)
	})
}
