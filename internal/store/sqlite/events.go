package sqlite

import (
	"context"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

const (
	sqlInsertEvent = `INSERT INTO events (hook, recipient, form, submission, type, created, message, title, language,
		anonymous, failed, error) VALUES (?, ?, ?, ?, ?, ?, ?, NULLIF(?, ''), NULLIF(?, ''), ?, ?, NULLIF(?, ''))`
	sqlAddQueue = `INSERT OR IGNORE INTO event_queues (hook, recipient, form, due, leased, attempts) VALUES (?, ?, ?, ` + sqlNow + `, 0, 0)`
)

// insertEvents stores events of a form, and adds their queues.
func (t *tx) insertEvents(form, submission int64, events []store.Event) error {
	for _, e := range events {
		e.Recipient = engine.Recipient(&e, submission)
		var failed any
		if !e.Failed.IsZero() {
			failed = e.Failed.UnixMilli()
		}
		t.bytes += 200 + len(e.Title)
		err := t.conn.run(sqlInsertEvent, e.Hook, e.Recipient, form, submission, e.Type, e.Created.UnixMilli(), e.Message,
			e.Title, e.Language, e.Anonymous, failed, e.Error)
		if err == nil {
			err = t.conn.run(sqlAddQueue, e.Hook, e.Recipient, form)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
