package engine

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/store"
)

// The statements of events.
const (
	// SQLDueQueues numbers the due queues of each page, so that pages take turns. It looks at those that
	// have waited longest, so that a look stays short when all are due, such as after an outage.
	SQLDueQueues = `SELECT recipient, page_id, form_id FROM (
			SELECT recipient, page_id, form_id, row_number() OVER (PARTITION BY page_id ORDER BY due) AS turn
			FROM (SELECT recipient, page_id, form_id, due FROM {queues}
				WHERE hook = $1 AND due <= {now} ORDER BY due LIMIT 5000) AS longest) AS due
		ORDER BY turn, page_id <= $2, page_id LIMIT $3`

	SQLLease = `UPDATE event_queues SET due = {now} + $5, leased = true WHERE {queue} AND due <= {now} RETURNING attempts, due`

	SQLReserve = `INSERT INTO event_queues (hook, recipient, {form}, due, leased, attempts)
		SELECT hook, $5, {form}, {now} + $6, true, 0 FROM event_queues WHERE {queue}
		ON CONFLICT (hook, recipient, {form}) DO UPDATE SET due = excluded.due, leased = true
			WHERE event_queues.due <= {now} RETURNING due`

	sqlEvents = `SELECT id, hook, recipient, page_id, form_id, submission, type, created, message, COALESCE(title, ''), COALESCE(language, ''),
		anonymous, COALESCE(failed, 0), COALESCE(error, '') FROM {events}`
	SQLWaiting   = sqlEvents + ` WHERE {queue} AND failed IS NULL ORDER BY id LIMIT $5`
	sqlAllEvents = sqlEvents + ` ORDER BY id`

	SQLDelivered = `DELETE FROM events WHERE {queue} AND failed IS NULL AND id {in}$5{end}`
	// SQLRemoveDelivered does not wait for the disk: if the database crashes, an event is sent again.
	SQLRemoveDelivered = SQLDelivered + `{unsynced}`
	SQLGiveUp          = `UPDATE events SET failed = {now}, error = $6 WHERE {queue} AND failed IS NULL AND id {in}$5{end}`

	SQLDelayQueue = `UPDATE event_queues SET due = {now} + $6, leased = false, attempts = $7, error = NULLIF($8, '')` + sqlLeased
	sqlLeased     = ` WHERE {queue} AND leased AND due = $5`

	// sqlIsWaiting reads in the order of an index. EXISTS could read the whole table.
	sqlIsWaiting = `(SELECT id FROM events WHERE {queue} AND failed IS NULL ORDER BY id LIMIT 1) IS NOT NULL`

	// These end a lease without a delay. An empty queue is removed, unless a transaction that is still open may have
	// added an event: that found the row, and wrote none. Then the queue is looked at again soon. An event that was
	// committed after SQLRemoveQueue had begun, and before its lock, is visible to SQLRestoreQueue.
	SQLEndLease = `UPDATE event_queues SET due = {now} + CASE WHEN ` + sqlIsWaiting + ` THEN 0 ELSE 500 END,
		leased = false, attempts = 0, error = NULL` + sqlLeased
	SQLRemoveQueue = `DELETE FROM event_queues WHERE {queue} AND NOT leased
		AND CASE WHEN ` + sqlIsWaiting + ` THEN false ELSE {unused} END`
	SQLRestoreQueue = `INSERT INTO event_queues (hook, recipient, {form}, due, leased, attempts)
		SELECT hook, recipient, {form}, {now}, false, 0 FROM events WHERE {queue} AND failed IS NULL ORDER BY id LIMIT 1
		ON CONFLICT DO NOTHING`

	// sqlEventCounts takes the error of the queue that is due last, or else that of the event that failed last.
	sqlEventCounts = `SELECT hook, count(*) - count(failed), count(failed), COALESCE(min(created) FILTER (WHERE failed IS NULL), 0), COALESCE(
			(SELECT error FROM event_queues q WHERE q.hook = e.hook AND error IS NOT NULL ORDER BY due DESC LIMIT 1),
			(SELECT error FROM events f WHERE f.hook = e.hook AND failed IS NOT NULL ORDER BY failed DESC LIMIT 1), '')
		FROM events e GROUP BY hook ORDER BY hook`

	// These change a thousand events at a time, so that others don't wait for long.
	sqlRetryFailed = `UPDATE events SET failed = NULL, error = NULL WHERE {row} {of}SELECT {row} FROM events
		WHERE failed IS NOT NULL AND hook {in}$1{end} ORDER BY failed LIMIT 1000{end}`
	sqlDiscard = `DELETE FROM events WHERE {row} {of}SELECT {row} FROM events WHERE hook {in}$1{end} LIMIT 1000{end}`

	sqlRetryDelayed = `UPDATE event_queues SET due = 0 WHERE attempts > 0 AND NOT leased AND hook {in}$1{end}`
	// sqlAdoptEvents adds the queues of events that wait again.
	sqlAdoptEvents = `INSERT INTO event_queues (hook, recipient, {form}, due, leased, attempts)
		SELECT DISTINCT hook, recipient, {form}, 0, false, 0 FROM events WHERE failed IS NULL ON CONFLICT DO NOTHING`
	SQLRemoveFailed = `DELETE FROM events WHERE {row} {of}SELECT {row} FROM events WHERE failed < {now} - $1 ORDER BY failed LIMIT $2{end}`
)

// DueQueues implements store.Events.
func (c Common) DueQueues(ctx context.Context, after map[string]int64, limit int) (due []store.Queue, err error) {
	for hook, page := range after {
		before := len(due)
		err = c.Database.Query(ctx, func(next Next) {
			due = due[:before]
			for q := (store.Queue{Hook: hook}); next(&q.Recipient, &q.PageID, &q.FormID); {
				due = append(due, q)
			}
		}, SQLDueQueues, hook, page, int64(limit))
		if err != nil {
			return nil, Wrap(err, "look for due events")
		}
	}
	return due, nil
}

// LeaseQueue implements store.Events. If it fails after its first statement, the lease runs out.
func (c Common) LeaseQueue(ctx context.Context, q store.Queue, lease time.Duration, limit int) (store.Lease, error) {
	leased, queue := store.Lease{Queue: q}, queueArgs(q)
	to := []any{&leased.Attempts, &leased.Token}
	err := QueryRow(ctx, c.Database, to, SQLLease, append(queue, lease.Milliseconds())...)
	if errors.Is(err, store.ErrNotFound) { // it is not due any more
		return store.Lease{}, nil
	}
	if err == nil {
		err = c.Database.Query(ctx, func(next Next) {
			leased.Events = slices.Collect(readEvents(next))
		}, SQLWaiting, append(queue, int64(limit))...)
	}
	if err == nil && len(leased.Events) == 0 {
		err = c.SettleQueue(ctx, leased, store.Settlement{})
		leased = store.Lease{}
	}
	return leased, Wrap(err, "lease events")
}

// ReserveQueue implements store.Events.
func (c Common) ReserveQueue(
	ctx context.Context, q store.Queue, recipient string, lease time.Duration,
) (store.Lease, error) {
	args, reserved := append(queueArgs(q), recipient, lease.Milliseconds()), store.Lease{Queue: q}
	reserved.Recipient = recipient
	err := QueryRow(ctx, c.Database, []any{&reserved.Token}, SQLReserve, args...)
	if errors.Is(err, store.ErrNotFound) {
		return store.Lease{}, nil
	}
	return reserved, Wrap(err, "reserve a queue")
}

// Recipient returns the recipient of a new event about a submission.
func Recipient(e *store.Event, submission int64) string {
	if strings.HasPrefix(e.Recipient, " ") {
		return strconv.FormatInt(submission, 10) + e.Recipient
	}
	return e.Recipient
}

// queueArgs returns the parameters of {queue}. To append to them makes a copy.
func queueArgs(q store.Queue) []any {
	return slices.Clip([]any{q.Hook, q.Recipient, q.PageID, q.FormID})
}

// readEvents returns the rows of SQLWaiting or sqlAllEvents.
func readEvents(next Next) iter.Seq[store.Event] {
	return func(yield func(store.Event) bool) {
		var e store.Event
		var created, failed int64
		for next(&e.ID, &e.Hook, &e.Recipient, &e.PageID, &e.FormID, &e.Submission, &e.Type, &created,
			&e.Message, &e.Title, &e.Language, &e.Anonymous, &failed, &e.Error) {
			e.Created, e.Failed = time.UnixMilli(created).UTC(), timeOrZero(failed)
			if !yield(e) {
				return
			}
		}
	}
}

// DumpEvents yields all events.
func DumpEvents(ctx context.Context, db Querier, yield func(store.Dumped) bool) error {
	return db.Query(ctx, func(next Next) {
		for e := range readEvents(next) {
			if !yield(store.Dumped{Event: &e}) {
				return
			}
		}
	}, sqlAllEvents)
}

// timeOrZero returns a time that is stored in milliseconds since 1970, or as 0 if there is none.
func timeOrZero(milliseconds int64) time.Time {
	if milliseconds == 0 {
		return time.Time{}
	}
	return time.UnixMilli(milliseconds).UTC()
}

// RemoveDelivered implements store.Events.
func (c Common) RemoveDelivered(ctx context.Context, q store.Queue, ids []int64) error {
	_, err := c.Database.Exec(ctx, SQLRemoveDelivered, append(queueArgs(q), ids)...)
	return Wrap(err, "remove delivered events")
}

// SettleQueue implements store.Events. It may run twice: the second time changes nothing.
func (c Common) SettleQueue(ctx context.Context, l store.Lease, s store.Settlement) error {
	queue := queueArgs(l.Queue)
	var all []Statement
	add := func(sql string, args ...any) { all = append(all, Statement{sql, append(queue, args...)}) }
	if len(s.Delivered) > 0 {
		add(SQLDelivered, s.Delivered)
	}
	if len(s.Failed) > 0 {
		add(SQLGiveUp, s.Failed, s.Error)
	}
	if s.Delay == 0 && s.Attempts == 0 {
		add(SQLEndLease, l.Token)
		add(SQLRemoveQueue)
		add(SQLRestoreQueue)
	} else {
		add(SQLDelayQueue, l.Token, s.Delay.Milliseconds(), int64(s.Attempts), s.Error)
	}
	return Wrap(c.Database.Transact(ctx, all...), "settle events")
}

// EventCounts implements store.Events.
func (c Common) EventCounts(ctx context.Context) (counts []store.EventCount, err error) {
	err = c.Database.Query(ctx, func(next Next) {
		counts = nil
		var n store.EventCount
		for oldest := int64(0); next(&n.Hook, &n.Queued, &n.Failed, &oldest, &n.LastError); {
			n.Oldest = timeOrZero(oldest)
			counts = append(counts, n)
		}
	}, sqlEventCounts)
	return counts, Wrap(err, "count events")
}

// RetryEvents implements store.Events.
func (c Common) RetryEvents(ctx context.Context, hooks []string) (failed int64, err error) {
	return c.change(ctx, sqlRetryFailed, hooks)
}

// DiscardEvents implements store.Events. Queues that are due are found to be empty.
func (c Common) DiscardEvents(ctx context.Context, hooks []string) (discarded int64, err error) {
	return c.change(ctx, sqlDiscard, hooks)
}

// change runs a statement until it changes nothing, and makes the queues due.
func (c Common) change(ctx context.Context, sql string, hooks []string) (changed int64, err error) {
	for n := int64(1); n > 0 && err == nil; changed += n {
		n, err = c.Database.Exec(ctx, sql, hooks)
	}
	if err == nil {
		_, err = c.Database.Exec(ctx, sqlAdoptEvents)
	}
	if err == nil {
		_, err = c.Database.Exec(ctx, sqlRetryDelayed, hooks)
	}
	return changed, Wrap(err, "retry or discard events")
}

// TidyEvents implements store.Events.
func (c Common) TidyEvents(ctx context.Context, age time.Duration, limit int) (removed int, err error) {
	n, err := c.Database.Exec(ctx, SQLRemoveFailed, age.Milliseconds(), int64(limit))
	return int(n), Wrap(err, "tidy events")
}
