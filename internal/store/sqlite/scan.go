package sqlite

import (
	"context"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/chunk"
)

// Scan implements store.Store.
func (s *Store) Scan(ctx context.Context, q store.Query, visit func(forms.Submission) error) error {
	return chunk.Reader(s.readChunk).Scan(ctx, q, visit)
}

func (s *Store) readChunk(ctx context.Context, c *chunk.Chunk, q store.Query) error {
	return s.readers.with(ctx, func(stmts *readStmts) error { return readList(stmts, c, q) })
}

func readList(stmts *readStmts, c *chunk.Chunk, q store.Query) error {
	stmt := stmts.list[listKind{byUser: q.Username != nil, descending: q.Descending}]
	defer func() { _ = stmt.Reset() }()
	if err := bindList(stmt, q); err != nil {
		return err
	}
	for !c.Full(q) {
		if !stmt.Step() {
			c.Last = true
			break
		}
		c.Add(stmt.ColumnInt64(0), stmt.ColumnInt64(1), stmt.ColumnRawText(2), stmt.ColumnRawText(3))
	}
	return stmt.Err()
}
