package sqlite

import (
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// Scan implements store.Store.
func (s *Store) Scan(ctx context.Context, q store.Query, visit func(forms.Submission) error) error {
	return engine.ListReader(s.readChunk).Scan(ctx, q, visit)
}

func (s *Store) readChunk(ctx context.Context, c *engine.Rows, q store.Query) error {
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
	defer func() { _ = stmt.Reset() }()
	if err := bindList(stmt, form, q); err != nil {
		return err
	}
	for !c.Full(q) {
		if !stmt.Step() {
			c.Last = true
			break
		}
		id, created := submissionID(stmt.ColumnInt64(0)), stmt.ColumnInt64(1)
		c.Add(id, created, stmt.ColumnRawText(2), stmt.ColumnRawText(3))
	}
	return stmt.Err()
}

func bindList(stmt *sqlite3.Stmt, form int64, q store.Query) error {
	low, high := rowIDRange(form, q)
	err := errors.Join(stmt.BindInt64(1, low), stmt.BindInt64(2, high))
	if q.Username != nil {
		err = errors.Join(err, stmt.BindInt64(3, form), stmt.BindText(4, *q.Username))
	}
	return err
}
