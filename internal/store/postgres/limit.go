package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
)

// limitedLast puts the creates of forms with a limit last: the others must not wait
// for their locks.
func limitedLast(ops []*operation) {
	slices.SortStableFunc(ops, func(x, y *operation) int {
		return cmp.Compare(min(x.Value.new.Limit, 1), min(y.Value.new.Limit, 1))
	})
}

// begin begins a transaction, and reports whether the form of the only create takes
// one more. A form with a limit is locked until the transaction ends: of concurrent
// transactions, in this process and in others, each counts what the one before has stored.
func (b batch) begin(ctx context.Context, conn *pgx.Conn) (takesOne bool, err error) {
	n := &b[0].Value.new
	if n.Limit == 0 {
		_, err := conn.Exec(ctx, `BEGIN`)
		return true, err
	}
	steps := &pgx.Batch{}
	steps.Queue(`BEGIN`)
	steps.Queue(sqlLockForm, n.PageID, n.FormID)
	count := 0
	steps.Queue(sqlCountForm, n.PageID, n.FormID, n.Limit).QueryRow(func(row pgx.Row) error { return row.Scan(&count) })
	if err := conn.SendBatch(ctx, steps).Close(); err != nil {
		return false, fmt.Errorf("count submissions: %w", err)
	}
	return count < n.Limit, nil
}

// refuse sets the outcome of the only create, for which the form has no room. That it
// is a repeat, or its submitter's second, is told first.
func (b batch) refuse(ctx context.Context, conn *pgx.Conn, columns []any) error {
	op := b[0]
	op.Err = store.ErrLimit
	if n := &op.Value.new; n.SubmitterKey != "" {
		submitted := false
		row := conn.QueryRow(ctx, sqlSubmitted, n.PageID, n.FormID, n.SubmitterKey, n.Username)
		if err := row.Scan(&submitted); err != nil {
			return fmt.Errorf("look for the submitter: %w", err)
		}
		if submitted {
			op.Err = store.ErrAlreadySubmitted
		}
	}
	findUsedKeys(ctx, conn, map[int64]*operation{op.Value.stored.ID: op}, columns)
	return nil
}
