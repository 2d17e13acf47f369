package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/chunk"
)

const (
	// firstRows is how many rows the first read of a list asks for: most lists
	// are no longer, and what the rows weigh is not known yet.
	firstRows = 128

	// maxOverrun is how much of what was asked for, but does not fit a chunk,
	// is still received. Beyond that a new connection is cheaper.
	maxOverrun = 1 << 20
)

// rawFormats has the server send numbers and texts as they are, so that they
// are copied out of the driver's buffer without a value made of each.
var rawFormats = pgx.QueryResultFormats{pgx.BinaryFormatCode, pgx.BinaryFormatCode, pgx.BinaryFormatCode, pgx.BinaryFormatCode}

// Scan implements store.Store.
func (s *Store) Scan(ctx context.Context, q store.Query, visit func(forms.Submission) error) error {
	l := &list{store: s, rows: firstRows}
	return chunk.Reader(l.read).Scan(ctx, q, visit)
}

// list is a scan under way. Other than with SQLite, what is asked for is sent,
// wanted or not, so each read asks for as many rows as should fill a chunk, by
// the weight of those before.
type list struct {
	store *Store
	rows  int
}

func (l *list) read(ctx context.Context, c *chunk.Chunk, q store.Query) error {
	ask := l.rows
	if q.Limit > 0 {
		ask = min(ask, q.Limit)
	}
	err := l.store.do(ctx, func(ctx context.Context, conn *pgx.Conn, _ bool) error {
		c.Reset()
		return readChunk(ctx, conn, c, q, ask)
	})
	if err != nil {
		return fmt.Errorf("list submissions: %w", err)
	}
	l.rows = rowsFor(c)
	return nil
}

// rowsFor is how many rows like those fill a chunk.
func rowsFor(c *chunk.Chunk) int {
	average := c.Bytes()/max(c.Len(), 1) + 1
	return min(max(chunk.MaxBytes/average, 1), chunk.MaxRows)
}

func readChunk(ctx context.Context, conn *pgx.Conn, c *chunk.Chunk, q store.Query, ask int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	args := []any{rawFormats, q.PageID, q.FormID, q.After, ask}
	if q.Descending && q.After == 0 {
		args[3] = int64(math.MaxInt64)
	}
	if q.Username != nil {
		args = append(args, *q.Username)
	}
	rows, err := conn.Query(ctx, listStatements[listKind{byUser: q.Username != nil, descending: q.Descending}], args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for !c.Full(q) && rows.Next() {
		raw := rows.RawValues()
		c.Add(number(raw[0]), number(raw[1]), raw[2], raw[3])
	}
	if c.Len() == ask || c.Full(q) {
		return overrun(rows, cancel)
	}
	c.Last = true
	return rows.Err()
}

// overrun passes over the rows that do not fit, if they are few.
func overrun(rows pgx.Rows, cancel func()) error {
	for bytes := 0; rows.Next(); {
		if bytes += len(rows.RawValues()[3]); bytes > maxOverrun {
			cancel()
			rows.Close()
			return nil // the chunk is whole
		}
	}
	return rows.Err()
}

func number(raw []byte) int64 {
	return int64(binary.BigEndian.Uint64(raw)) //nolint:gosec // a bijection is all that is needed
}
