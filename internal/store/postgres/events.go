package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// about returns events of one submission.
func about(key store.Key, events []store.Event) []store.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].PageID, events[i].FormID, events[i].Submission = key.PageID, key.FormID, key.ID
	}
	return events
}

// eventColumns returns the parameters of sqlEventColumns.
func eventColumns(events []store.Event) []any {
	n := len(events)
	pages, submissions, created, failed := make([]int64, n), make([]int64, n), make([]int64, n), make([]*int64, n)
	formIDs, hooks, recipients, types, messages := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	titles, errs := make([]*string, n), make([]*string, n)
	anonymous := make([]bool, n)
	for i := range events {
		e := &events[i]
		pages[i], formIDs[i], submissions[i], hooks[i], recipients[i] = e.PageID, e.FormID, e.Submission, e.Hook, e.Recipient
		types[i], created[i], messages[i], anonymous[i] = e.Type, e.Created.UnixMilli(), e.Message, e.Anonymous
		if e.Title != "" {
			titles[i] = &e.Title
		}
		if !e.Failed.IsZero() {
			at := e.Failed.UnixMilli()
			failed[i], errs[i] = &at, &e.Error
		}
	}
	return []any{pages, formIDs, submissions, hooks, recipients, types, created, messages, titles, anonymous, failed, errs}
}

// readEvent reads a row of sqlEvent.
func readEvent(row pgx.CollectableRow) (e store.Event, err error) {
	var created, failed int64
	err = row.Scan(&e.ID, &e.PageID, &e.FormID, &e.Submission, &e.Hook, &e.Recipient, &e.Type, &created, &e.Message, &e.Title, &e.Anonymous, &failed, &e.Error)
	e.Created, e.Failed = time.UnixMilli(created).UTC(), engine.TimeOrZero(failed)
	return e, err
}

// collect returns all rows of a query.
func collect[T any](ctx context.Context, s *Store, read pgx.RowToFunc[T], sql string, args ...any) (all []T, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, sql, args...) // the rows have its error
		all, err = pgx.CollectRows(rows, read)
		return err
	})
	return all, err
}

// DueQueues implements store.Events.
func (s *Store) DueQueues(ctx context.Context, after map[string]int64, limit int) ([]store.Queue, error) {
	hooks, pages := make([]string, 0, len(after)), make([]int64, 0, len(after))
	for hook, page := range after {
		hooks, pages = append(hooks, hook), append(pages, page)
	}
	due, err := collect(ctx, s, func(row pgx.CollectableRow) (q store.Queue, err error) {
		return q, row.Scan(&q.Hook, &q.Recipient, &q.PageID, &q.FormID)
	}, sqlDueQueues, hooks, pages, limit)
	return due, engine.Wrap(err, "look for due events")
}

// LeaseQueue implements store.Events. If it fails after its first statement, the lease
// runs out.
func (s *Store) LeaseQueue(ctx context.Context, q store.Queue, lease time.Duration, limit int) (store.Lease, error) {
	leased := store.Lease{Queue: q}
	err := s.queryRow(ctx, sqlLease, []any{q.Hook, q.Recipient, q.PageID, q.FormID, lease.Milliseconds()}, &leased.Attempts, &leased.Token)
	if errors.Is(err, pgx.ErrNoRows) { // another server has it
		return store.Lease{}, nil
	}
	if err == nil {
		leased.Events, err = collect(ctx, s, readEvent, sqlWaiting, q.Hook, q.Recipient, q.PageID, q.FormID, limit)
	}
	if err == nil && len(leased.Events) == 0 {
		err = s.SettleQueue(ctx, leased, store.Settlement{})
		leased = store.Lease{}
	}
	return leased, engine.Wrap(err, "lease events")
}

// RemoveDelivered implements store.Events.
func (s *Store) RemoveDelivered(ctx context.Context, q store.Queue, ids []int64) error {
	_, err := s.exec(ctx, sqlRemoveDelivered, q.Hook, q.Recipient, q.PageID, q.FormID, ids)
	return engine.Wrap(err, "remove delivered events")
}

// SettleQueue implements store.Events. It may run twice: the second time changes nothing.
func (s *Store) SettleQueue(ctx context.Context, l store.Lease, settled store.Settlement) error {
	err := s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		queue := slices.Clip([]any{l.Hook, l.Recipient, l.PageID, l.FormID})
		batch := &pgx.Batch{}
		batch.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`) // sqlRestoreQueue needs a newer snapshot
		if len(settled.Delivered) > 0 {
			batch.Queue(sqlDelivered, append(queue, settled.Delivered)...)
		}
		if len(settled.Failed) > 0 {
			batch.Queue(sqlGiveUp, append(queue, settled.Failed, settled.Error)...)
		}
		if settled.Delay == 0 && settled.Attempts == 0 {
			batch.Queue(sqlEndLease, append(queue, l.Token)...)
			batch.Queue(sqlRemoveQueue, queue...)
			batch.Queue(sqlRestoreQueue, queue...)
		} else {
			batch.Queue(sqlDelayQueue, append(queue, l.Token, settled.Delay.Milliseconds(), settled.Attempts, settled.Error)...)
		}
		batch.Queue(`COMMIT`)
		return conn.SendBatch(ctx, batch).Close()
	})
	return engine.Wrap(err, "settle events")
}

// EventCounts implements store.Events.
func (s *Store) EventCounts(ctx context.Context) ([]store.EventCount, error) {
	counts, err := collect(ctx, s, func(row pgx.CollectableRow) (c store.EventCount, err error) {
		var oldest int64
		err = row.Scan(&c.Hook, &c.Queued, &c.Failed, &oldest, &c.LastError)
		c.Oldest = engine.TimeOrZero(oldest)
		return c, err
	}, sqlEventCounts)
	return counts, engine.Wrap(err, "count events")
}

// LoadEvents implements store.Archive.
func (s *Store) LoadEvents(ctx context.Context, events []store.Event) error {
	err := s.transact(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlInsertEvents, eventColumns(events)...)
		return err
	})
	return engine.Wrap(err, "load events")
}
