package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/limit"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// perForm bounds createAlone for one form: one waits for the lock of the form while another commits.
const perForm = 2

// newAlone bounds createAlone to half of the connections. If that is more than one, a form leaves one to others.
func newAlone(o Options) *limit.Limiter {
	busy := fmt.Errorf("%w: too many creates to forms with a limit or files", store.ErrUnavailable)
	total := max(o.MaxConns/2, 1)
	return limit.New(limit.Options{
		Total: total, PerKey: min(perForm, max(total-1, 1)), Wait: lockTimeout, Busy: busy, Overloaded: busy,
	})
}

// needsOwnTx reports whether a create has a transaction of its own: to a form with a limit,
// which is locked for it, or with files, whose contents become the submission's.
func (c *creation) needsOwnTx() bool {
	return c.new.Limit > 0 || len(c.new.Files) > 0
}

// createAlone stores one submission beside the workers, which do not wait for it.
func (s *Store) createAlone(ctx context.Context, c *creation) error {
	release, err := s.alone.Acquire(ctx, fmt.Sprintf("%d %s", c.new.PageID, c.new.FormID))
	if err != nil {
		return err
	}
	defer release()
	op := &operation{Value: c}
	s.create(ctx, []*operation{op})
	return op.Err
}

// insertInOwnTx completes the transaction of one create. A refused row leaves it to be rolled
// back.
func (b batch) insertInOwnTx(ctx context.Context, conn *pgx.Conn, refusal error) (err error) {
	columns, op := b.columns(), b[0]
	refused := map[int64]*operation{op.Value.stored.ID: op}
	if op.Err = refusal; refusal == nil {
		if refused, err = b.insertEach(ctx, conn, columns); err != nil {
			return err
		}
	}
	if len(refused) > 0 {
		findUsedKeys(ctx, conn, refused, columns)
		return nil
	}
	added, _ := engine.DiffFiles(nil, op.Value.new.Files)
	if err := claimFiles(ctx, conn, added); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `COMMIT`)
	return commitError(conn, err)
}

// begin begins the transaction of creates, and takes their ids. For one create with a transaction of its own it returns
// the error of Refusal, too. A form with a limit is locked until the transaction ends: of concurrent transactions, in
// this process and in others, each counts what the one before has stored.
func begin(ctx context.Context, conn *pgx.Conn, ops []*operation) (ids []int64, refusal, err error) {
	c, steps := ops[0].Value, &pgx.Batch{}
	n := &c.new
	steps.Queue(`BEGIN`)
	if n.Limit > 0 {
		steps.Queue(sqlLockForm, n.PageID, n.FormID)
	}
	index := 0
	if c.needsOwnTx() {
		steps.Queue(sqlRefusal, refusalArgs(n)...).QueryRow(func(row pgx.Row) error { return row.Scan(&index) })
	}
	steps.Queue(sqlAnnounceIDs)
	steps.Queue(sqlTakeIDs, len(ops)).Query(collect(&ids))
	err = conn.SendBatch(ctx, steps).Close()
	return ids, refusals[index], engine.Wrap(err, "begin a create")
}

// collect returns a callback that reads ids.
func collect(ids *[]int64) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	}
}

// Tallies implements store.Store.
func (s *Store) Tallies(ctx context.Context, list []store.New) (tallies []store.Tally, err error) {
	var pages, limits []int64
	var formIDs, keys, names []string
	for _, n := range list {
		pages, limits = append(pages, n.PageID), append(limits, int64(n.Limit))
		formIDs, keys, names = append(formIDs, n.FormID), append(keys, n.SubmitterKey), append(names, n.Username)
	}
	err = database{s}.Query(ctx, func(next engine.Next) {
		tallies = nil
		for t := (store.Tally{}); next(&t.Count, &t.Submitted); {
			tallies = append(tallies, t)
		}
	}, sqlTallies, pages, formIDs, limits, keys, names)
	return tallies, engine.Wrap(err, "count submissions")
}

var refusals = [...]error{nil, store.ErrAlreadySubmitted, store.ErrLimit}

func refusalArgs(n *store.New) []any {
	return []any{n.PageID, n.FormID, n.SubmitterKey, n.Username, n.Limit}
}
