package sqlite

import (
	"context"
	"errors"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// Scan implements store.Store.
func (s *Store) Scan(ctx context.Context, q store.Query, visit func(forms.Submission) error) error {
	return engine.ListReader(s.readPart).Scan(ctx, q, visit)
}

func (s *Store) readPart(ctx context.Context, c *engine.Rows, q store.Query) error {
	return s.pool.with(ctx, func(stmts *readStmts) error {
		form, err := s.form(stmts, formName{q.PageID, q.FormID})
		if errors.Is(err, errNoForm) {
			c.Last = true
			return nil
		}
		if err != nil {
			return err
		}
		return readList(stmts, c, form, q)
	})
}

func readList(stmts *readStmts, c *engine.Rows, form int64, q store.Query) error {
	stmt := stmts.list[engine.KindOf(q)]
	low, high := rowIDRange(form, q)
	args := []any{low, high}
	if q.Username != nil {
		args = append(args, form, *q.Username)
	}
	c.Last = true
	return query(stmt, func() bool {
		if c.Full(q) {
			c.Last = false
			return false
		}
		c.Add(submissionID(stmt.ColumnInt64(0)), stmt.ColumnInt64(1), stmt.ColumnRawText(2), stmt.ColumnRawText(3))
		if q.Changes {
			c.AddChange(stmt.ColumnInt64(4), stmt.ColumnRawText(5))
		}
		return true
	}, args...)
}
