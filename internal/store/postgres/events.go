package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// about returns events of one submission.
func about(key store.Key, events []store.Event) []store.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].PageID, events[i].FormID, events[i].Submission = key.PageID, key.FormID, key.ID
		events[i].Recipient = engine.Recipient(&events[i], key.ID)
	}
	return events
}

// eventColumns returns the parameters of sqlEventColumns.
func eventColumns(events []store.Event) []any {
	n := len(events)
	pages, submissions, created, failed := make([]int64, n), make([]int64, n), make([]int64, n), make([]*int64, n)
	formIDs, hooks, recipients := make([]string, n), make([]string, n), make([]string, n)
	types, messages := make([]string, n), make([]string, n)
	titles, languages, errs := make([]*string, n), make([]*string, n), make([]*string, n)
	anonymous := make([]bool, n)
	for i := range events {
		e := &events[i]
		pages[i], formIDs[i], submissions[i], hooks[i], recipients[i] = e.PageID, e.FormID, e.Submission, e.Hook, e.Recipient
		types[i], created[i], messages[i], anonymous[i] = e.Type, e.Created.UnixMilli(), e.Message, e.Anonymous
		if e.Title != "" {
			titles[i], languages[i] = &e.Title, &e.Language
		}
		if !e.Failed.IsZero() {
			at := e.Failed.UnixMilli()
			failed[i], errs[i] = &at, &e.Error
		}
	}
	return []any{
		pages, formIDs, submissions, hooks, recipients, types, created, messages, titles, languages,
		anonymous, failed, errs,
	}
}

// LoadEvents implements store.Archive.
func (s *Store) LoadEvents(ctx context.Context, events []store.Event) error {
	err := s.transact(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlInsertEvents, eventColumns(events)...)
		return err
	})
	return engine.Wrap(err, "load events")
}
