package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

const (
	sqlInsertEvent = `INSERT INTO events (hook, recipient, form, submission, type, created, message, title, anonymous, failed, error)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	sqlAddQueue = `INSERT OR IGNORE INTO event_queues (hook, recipient, form, due, leased, attempts) VALUES (?, ?, ?, ?, 0, 0)`

	// sqlDueQueues numbers the due queues of each page, so that pages take turns.
	sqlDueQueues = `SELECT recipient, page_id, form_id FROM (
			SELECT recipient, page_id, form_id, row_number() OVER (PARTITION BY page_id ORDER BY due) AS turn
			FROM event_queues CROSS JOIN forms ON number = form WHERE hook = ?1 AND due <= ?2)
		ORDER BY turn, page_id <= ?3, page_id LIMIT ?4`

	sqlLease   = `UPDATE event_queues SET due = ?4, leased = 1 WHERE hook = ?1 AND recipient = ?2 AND form = ?3 AND due <= ?5 RETURNING attempts`
	sqlWaiting = `SELECT ` + sqlEvent + ` FROM events JOIN forms ON number = form
		WHERE hook = ? AND recipient = ? AND form = ? AND failed IS NULL ORDER BY id LIMIT ?`
	// sqlEvent are the columns of readEvent.
	sqlEvent = `id, hook, recipient, page_id, form_id, submission, type, created, message, ifnull(title, ''), anonymous, ifnull(failed, 0), ifnull(error, '')`

	sqlDelivered  = `DELETE FROM events WHERE id IN (SELECT value FROM json_each(?))`
	sqlGiveUp     = `UPDATE events SET failed = ?2, error = ?3 WHERE id IN (SELECT value FROM json_each(?1)) AND failed IS NULL`
	sqlDelayQueue = `UPDATE event_queues SET due = ?5, leased = 0, attempts = ?6, error = ?7
		WHERE hook = ?1 AND recipient = ?2 AND form = ?3 AND leased = 1 AND due = ?4`
	sqlRemoveQueue = `DELETE FROM event_queues WHERE hook = ?1 AND recipient = ?2 AND form = ?3 AND leased = 0
		AND NOT EXISTS (SELECT 1 FROM events WHERE hook = ?1 AND recipient = ?2 AND form = ?3 AND failed IS NULL)`

	// sqlEventCounts takes the error of the queue that is due last, or else that of the
	// event that failed last.
	sqlEventCounts = `SELECT hook, count(*) - count(failed), count(failed), ifnull(min(iif(failed IS NULL, created, NULL)), 0), coalesce(
			(SELECT error FROM event_queues q WHERE q.hook = e.hook AND error IS NOT NULL ORDER BY due DESC LIMIT 1),
			(SELECT error FROM events f WHERE f.hook = e.hook AND failed IS NOT NULL ORDER BY failed DESC LIMIT 1), '')
		FROM events e GROUP BY hook ORDER BY hook`

	sqlRetryFailed = `UPDATE events SET failed = NULL, error = NULL WHERE id IN (SELECT id FROM events
		WHERE failed IS NOT NULL AND hook IN (SELECT value FROM json_each(?)) LIMIT 1000)`
	// sqlAdoptEvents adds the queues of events that wait again.
	sqlAdoptEvents = `INSERT OR IGNORE INTO event_queues (hook, recipient, form, due, leased, attempts)
		SELECT DISTINCT hook, recipient, form, 0, 0, 0 FROM events WHERE failed IS NULL`
	sqlRetryDelayed = `UPDATE event_queues SET due = 0 WHERE attempts > 0 AND leased = 0 AND hook IN (SELECT value FROM json_each(?))`
	sqlDiscard      = `DELETE FROM events WHERE id IN (SELECT id FROM events WHERE hook IN (SELECT value FROM json_each(?)) LIMIT 1000)`
	sqlRemoveFailed = `DELETE FROM events WHERE id IN (SELECT id FROM events WHERE failed < CAST(1000 * unixepoch('subsec') AS INTEGER) - ? ORDER BY failed LIMIT ?)`
	sqlAllEvents    = `SELECT ` + sqlEvent + ` FROM events JOIN forms ON number = form ORDER BY id`
)

// list is a parameter of json_each.
func list[T any](values []T) string {
	text, err := json.Marshal(append([]T{}, values...)) // not null, which json_each takes for a value
	if err != nil {
		panic(err) // they are texts or numbers
	}
	return string(text)
}

// insertEvents stores events of a form, and adds their queues.
func (t *tx) insertEvents(form, submission int64, events []store.Event) error {
	for _, e := range events {
		anonymous, failed := int64(0), any(nil)
		if e.Anonymous {
			anonymous = 1
		}
		if !e.Failed.IsZero() {
			failed = e.Failed.UnixMilli()
		}
		t.bytes += 200 + len(e.Title)
		err := t.conn.run(sqlInsertEvent, e.Hook, e.Recipient, form, submission, e.Type, e.Created.UnixMilli(), e.Message,
			optional(e.Title), anonymous, failed, optional(e.Error))
		if err == nil {
			err = t.conn.run(sqlAddQueue, e.Hook, e.Recipient, form, time.Now().UnixMilli())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readEvent reads a row of sqlEvent.
func readEvent(row *sqlite3.Stmt) store.Event {
	return store.Event{
		ID:         row.ColumnInt64(0),
		Queue:      store.Queue{Hook: row.ColumnText(1), Recipient: row.ColumnText(2), PageID: row.ColumnInt64(3), FormID: row.ColumnText(4)},
		Submission: row.ColumnInt64(5), Type: row.ColumnText(6), Created: time.UnixMilli(row.ColumnInt64(7)).UTC(),
		Message: row.ColumnText(8), Title: row.ColumnText(9), Anonymous: row.ColumnInt64(10) != 0,
		Failed: engine.TimeOrZero(row.ColumnInt64(11)), Error: row.ColumnText(12),
	}
}

// DueQueues implements store.Events.
func (s *Store) DueQueues(ctx context.Context, after map[string]int64, limit int) (due []store.Queue, err error) {
	err = s.pool.with(ctx, func(conn *connection) error {
		for hook, page := range after {
			err := conn.query(sqlDueQueues, func(row *sqlite3.Stmt) bool {
				due = append(due, store.Queue{Hook: hook, Recipient: row.ColumnText(0), PageID: row.ColumnInt64(1), FormID: row.ColumnText(2)})
				return true
			}, hook, time.Now().UnixMilli(), page, int64(limit))
			if err != nil {
				return err
			}
		}
		return nil
	})
	return due, engine.Wrap(err, "look for due events")
}

// LeaseQueue implements store.Events.
func (s *Store) LeaseQueue(ctx context.Context, q store.Queue, lease time.Duration, limit int) (leased store.Lease, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		leased = store.Lease{Queue: q}
		return tx.lease(&leased, lease, limit)
	})
	if errors.Is(err, store.ErrNotFound) { // it is not due any more
		return store.Lease{}, nil
	}
	return leased, engine.Wrap(err, "lease events")
}

// lease returns ErrNotFound where the queue is not due. If it fails after its first write,
// the lease runs out.
func (t *tx) lease(leased *store.Lease, lease time.Duration, limit int) error {
	q := leased.Queue
	form, err := t.form(formName{q.PageID, q.FormID})
	if err != nil {
		return err
	}
	now := time.Now()
	leased.Token = now.Add(lease).UnixMilli()
	err = t.conn.queryRow(sqlLease, func(row *sqlite3.Stmt) { leased.Attempts = int(row.ColumnInt64(0)) },
		q.Hook, q.Recipient, form, leased.Token, now.UnixMilli())
	if err != nil {
		return err
	}
	err = t.conn.query(sqlWaiting, func(row *sqlite3.Stmt) bool {
		leased.Events = append(leased.Events, readEvent(row))
		return true
	}, q.Hook, q.Recipient, form, int64(limit))
	if err == nil && len(leased.Events) == 0 {
		err = t.settle(form, *leased, store.Settlement{})
		*leased = store.Lease{}
	}
	return err
}

// RemoveDelivered implements store.Events.
func (s *Store) RemoveDelivered(ctx context.Context, _ store.Queue, ids []int64) error {
	_, err := s.exec(ctx, sqlDelivered, list(ids))
	return engine.Wrap(err, "remove delivered events")
}

// SettleQueue implements store.Events.
func (s *Store) SettleQueue(ctx context.Context, l store.Lease, settled store.Settlement) error {
	err := s.writer.do(ctx, func(tx *tx) error {
		form, err := tx.form(formName{l.PageID, l.FormID})
		if err != nil {
			return err
		}
		return tx.atomically(func() error { return tx.settle(form, l, settled) })
	})
	return engine.Wrap(err, "settle events")
}

func (t *tx) settle(form int64, l store.Lease, s store.Settlement) error {
	now := time.Now()
	queue := []any{l.Hook, l.Recipient, form, l.Token}
	if err := t.conn.run(sqlDelivered, list(s.Delivered)); err != nil {
		return err
	}
	if err := t.conn.run(sqlGiveUp, list(s.Failed), now.UnixMilli(), s.Error); err != nil {
		return err
	}
	err := t.conn.run(sqlDelayQueue, append(queue, now.Add(s.Delay).UnixMilli(), int64(s.Attempts), optional(s.Error))...)
	if err == nil && s.Delay == 0 && s.Attempts == 0 {
		err = t.conn.run(sqlRemoveQueue, queue[:3]...)
	}
	return err
}

// EventCounts implements store.Events.
func (s *Store) EventCounts(ctx context.Context) (counts []store.EventCount, err error) {
	err = s.pool.with(ctx, func(conn *connection) error {
		counts, err = conn.eventCounts()
		return err
	})
	return counts, engine.Wrap(err, "count events")
}

func (c *connection) eventCounts() (counts []store.EventCount, err error) {
	err = c.query(sqlEventCounts, func(row *sqlite3.Stmt) bool {
		counts = append(counts, store.EventCount{
			Hook: row.ColumnText(0), Queued: row.ColumnInt64(1), Failed: row.ColumnInt64(2),
			Oldest: engine.TimeOrZero(row.ColumnInt64(3)), LastError: row.ColumnText(4),
		})
		return true
	})
	return counts, err
}

// commonStatements are those of this engine, run by one of two connections.
func commonStatements(exec func(ctx context.Context, sql string, args ...any) (changed int64, err error)) engine.Common {
	return engine.Common{
		Exec: exec, DeleteExpired: sqlDeleteExpired, RetryFailed: sqlRetryFailed, Discard: sqlDiscard, RetryDelayed: sqlRetryDelayed,
		AdoptEvents: sqlAdoptEvents, RemoveFailed: sqlRemoveFailed,
	}
}

// LoadEvents implements store.Archive.
func (s *Store) LoadEvents(ctx context.Context, events []store.Event) error {
	return s.writer.do(ctx, func(tx *tx) error {
		return tx.atomically(func() error {
			for _, e := range events {
				form, err := tx.formOrNew(formName{e.PageID, e.FormID})
				if err == nil {
					err = tx.insertEvents(form, e.Submission, []store.Event{e})
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Shared is a store that a server has open. It can do what an operator asks for
// while the server runs.
type Shared struct {
	engine.Common
	conn *connection
}

// OpenShared opens the store in directory dir beside a running server.
func OpenShared(ctx context.Context, dir string) (*Shared, error) {
	if err := errors.Join(Exists(dir), refuseReadOnly(dir)); err != nil {
		return nil, err
	}
	conn, err := openShared(ctx, filepath.Join(dir, FileName))
	if err != nil {
		return nil, classify(err)
	}
	err = conn.Exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = FULL`) // checkpoints are the server's
	if err != nil {
		return nil, errors.Join(classify(err), conn.Close())
	}
	s := &Shared{conn: conn}
	s.Common = commonStatements(s.exec)
	return s, nil
}

// EventCounts is that of store.Events.
func (s *Shared) EventCounts(context.Context) ([]store.EventCount, error) {
	counts, err := s.conn.eventCounts()
	return counts, engine.Wrap(classify(err), "count events")
}

func (s *Shared) exec(_ context.Context, sql string, args ...any) (changed int64, err error) {
	if err := s.conn.run(sql, args...); err != nil {
		return 0, classify(err)
	}
	return s.conn.Changes(), nil
}

// Close closes the connection.
func (s *Shared) Close() error { return s.conn.Close() }
