package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
)

// groupByLimit puts the creates of forms with a limit last, each form's together. The
// others must not wait for their locks.
func groupByLimit(ops []*operation) {
	if !slices.ContainsFunc(ops, func(op *operation) bool { return op.Value.new.Limit > 0 }) {
		return
	}
	slices.SortStableFunc(ops, func(x, y *operation) int {
		a, b := &x.Value.new, &y.Value.new
		if a.Limit == 0 || b.Limit == 0 {
			return cmp.Compare(min(a.Limit, 1), min(b.Limit, 1))
		}
		return cmp.Or(cmp.Compare(a.PageID, b.PageID), cmp.Compare(a.FormID, b.FormID), cmp.Compare(a.Limit, b.Limit))
	})
}

// sameLimit reports whether one statement may store both: those of a form with a limit
// are stored by themselves.
func sameLimit(x, y *operation) bool {
	a, b := &x.Value.new, &y.Value.new
	return a.Limit == b.Limit && (a.Limit == 0 || a.PageID == b.PageID && a.FormID == b.FormID)
}

// limit is that of the form, if it has one.
func (b batch) limit() int { return b[0].Value.new.Limit }

// begin begins a transaction, and returns how many submissions the form takes in it. A
// form with a limit is locked until the transaction ends: of concurrent transactions,
// in this process and in others, each counts what the one before has stored.
func (b batch) begin(ctx context.Context, conn *pgx.Conn) (room int, err error) {
	if b.limit() == 0 {
		_, err := conn.Exec(ctx, `BEGIN`)
		return len(b), err
	}
	n := &b[0].Value.new
	steps := &pgx.Batch{}
	steps.Queue(`BEGIN`)
	steps.Queue(sqlLockForm, n.PageID, n.FormID)
	count := 0
	steps.Queue(sqlCountForm, n.PageID, n.FormID, n.Limit).QueryRow(func(row pgx.Row) error { return row.Scan(&count) })
	if err := conn.SendBatch(ctx, steps).Close(); err != nil {
		return 0, fmt.Errorf("count submissions: %w", err)
	}
	return n.Limit - count, nil
}

// insertLimited stores as many of the batch as the form takes, and sets the outcome of
// each operation.
func (b batch) insertLimited(ctx context.Context, conn *pgx.Conn) error {
	room, err := b.begin(ctx, conn)
	if err != nil {
		return err
	}
	all, err := b.columns()
	if err != nil {
		return err
	}
	refused, rest := map[int64]*operation{}, b
	for room > 0 && len(rest) > 0 { // again where a row is refused for another reason, and leaves room
		some := rest[:min(room, len(rest))]
		rest = rest[len(some):]
		columns, err := some.columns()
		if err != nil {
			return err
		}
		others, err := some.insertEach(ctx, conn, columns)
		if err != nil {
			return err
		}
		room -= len(some) - len(others)
		for id, op := range others {
			refused[id] = op
		}
	}
	if _, err := conn.Exec(ctx, `COMMIT`); err != nil {
		return commitError(conn, err)
	}
	findUsedKeys(ctx, conn, refused, all)
	rest.refuse(ctx, conn, all)
	return nil
}

// refuse sets the outcome of operations that the form has no room for. That one is a
// repeat, or its submitter's second, is told first. columns are those of the batch.
func (b batch) refuse(ctx context.Context, conn *pgx.Conn, columns []any) {
	if len(b) == 0 {
		return
	}
	refused := make(map[int64]*operation, len(b))
	for _, op := range b {
		op.Err = store.ErrLimit
		refused[op.Value.stored.ID] = op
	}
	submitted, err := queryIDs(ctx, conn, sqlAllSubmitted, columns...)
	if err != nil {
		for _, op := range b {
			op.Err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		return
	}
	for _, id := range submitted {
		if op := refused[id]; op != nil {
			op.Err = store.ErrAlreadySubmitted
		}
	}
	findUsedKeys(ctx, conn, refused, columns)
}
