package postgres

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// maxDiscard bounds how many bytes are received and discarded after a part is full.
// Beyond that, a new connection is cheaper.
const maxDiscard = 1 << 20

// rawFormats requests the binary format, so that values are copied straight from
// the driver's buffer, without an allocation for each.
var rawFormats = pgx.QueryResultFormats{pgx.BinaryFormatCode} // one for all columns

// Scan implements store.Store.
func (s *Store) Scan(ctx context.Context, q store.Query) store.Submissions {
	if q.Settled {
		return s.follow(ctx, q)
	}
	return engine.ListReader(s.readPart).Scan(ctx, q)
}

func (s *Store) readPart(ctx context.Context, c *engine.Rows, q store.Query) error {
	err := s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		c.Reset()
		return readRows(ctx, conn, c, q)
	})
	return engine.Wrap(err, "list submissions")
}

func readRows(ctx context.Context, conn *pgx.Conn, c *engine.Rows, q store.Query) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	args := []any{rawFormats, q.PageID, q.FormID, q.After, c.Limit}
	switch {
	case q.IDs != nil:
		args[3] = q.IDs
	case q.Descending && q.After == 0:
		args[3] = int64(math.MaxInt64)
	}
	if q.Username != nil {
		args = append(args, *q.Username)
	}
	rows, err := conn.Query(ctx, listSQL(q), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for !c.Full() && rows.Next() {
		raw := rows.RawValues()
		c.Add(number(raw[0]), number(raw[1]), raw[2], raw[3])
		if q.Changes {
			c.AddChange(raw[4], number(raw[5]), raw[6])
		}
	}
	if c.Full() {
		return discardRest(rows, cancel)
	}
	c.Last = true
	return rows.Err()
}

// discardRest receives the rows that do not fit the part. If they are large, it
// cancels the query, which closes the connection.
func discardRest(rows pgx.Rows, cancel func()) error {
	for bytes := 0; rows.Next(); {
		if bytes += len(rows.RawValues()[3]); bytes > maxDiscard {
			cancel()
			rows.Close()
			return nil // the part is complete
		}
	}
	return rows.Err()
}

func number(raw []byte) int64 {
	return int64(binary.BigEndian.Uint64(raw)) //nolint:gosec // the column is signed, so this restores its sign
}
