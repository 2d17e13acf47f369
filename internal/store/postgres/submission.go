package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/group"
)

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, n store.New) (forms.Submission, error) {
	c := &creation{new: n}
	if err := s.writer.queue.Do(ctx, c); err != nil {
		return forms.Submission{}, err
	}
	return c.stored, nil
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key store.Key) (sub forms.Submission, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn, _ bool) error {
		sub, err = readSubmission(conn.QueryRow(ctx, sqlGet, key.PageID, key.FormID, key.ID), key)
		return err
	})
	return sub, err
}

func readSubmission(row pgx.Row, key store.Key) (forms.Submission, error) {
	var created int64
	sub := forms.Submission{ID: key.ID, PageID: key.PageID, FormID: key.FormID}
	err := row.Scan(&created, &sub.Username, (*[]byte)(&sub.Entries))
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return forms.Submission{}, store.ErrNotFound
	case err != nil:
		return forms.Submission{}, fmt.Errorf("read submission %d: %w", key.ID, err)
	}
	sub.Created = time.UnixMilli(created).UTC()
	return sub, nil
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, key store.Key, merge func(forms.Submission) ([]forms.Entry, error)) (forms.Submission, error) {
	u := update{key: key, merge: merge}
	err := s.do(ctx, u.try)
	if err != nil {
		return forms.Submission{}, err
	}
	return u.after, nil
}

// update is a transaction in two round trips.
type update struct {
	key   store.Key
	merge func(forms.Submission) ([]forms.Entry, error)
	after forms.Submission
}

func (u *update) try(ctx context.Context, conn *pgx.Conn, _ bool) error {
	found, taken, err := lockSubmission(ctx, conn, u.key)
	if err != nil {
		return notExecutedError{err}
	}
	var entries []forms.Entry
	err = group.Protect(func() (err error) { // after a panic, the transaction must be rolled back and the connection released
		entries, err = u.merge(found)
		return err
	})
	if err != nil {
		return err
	}
	if missing := countWithoutID(entries) - entryBlock; missing > 0 {
		more, err := takeIDs(ctx, conn, 0, missing)
		if err != nil {
			return notExecutedError{err}
		}
		taken.blocks = append(taken.blocks, more.blocks...)
	}
	u.after = found
	u.after.Entries = forms.EncodeEntries(make([]byte, 0, len(found.Entries)+256), taken.assign(entries))
	err = replaceEntries(ctx, conn, u.key, u.after.Entries)
	if err != nil && conn.IsClosed() {
		// It can't be found out whether the update was committed: another
		// update may have stored the same text.
		return fmt.Errorf("%w: %w", errInDoubt, err)
	}
	return err
}

// lockSubmission begins a transaction, locks a submission and reads it. It also
// allocates a block of entry ids, which saves a round trip: most updates need
// no more than one block.
func lockSubmission(ctx context.Context, conn *pgx.Conn, key store.Key) (forms.Submission, ids, error) {
	batch := &pgx.Batch{}
	batch.Queue(`BEGIN`)
	batch.Queue(sqlLock, key.PageID, key.FormID, key.ID)
	batch.Queue(sqlTakeIDs, idRequest(0, 1))
	results := conn.SendBatch(ctx, batch)
	var taken ids
	var sub forms.Submission
	_, err := results.Exec()
	if err == nil {
		sub, err = readSubmission(results.QueryRow(), key)
	}
	if err == nil {
		var rows pgx.Rows
		if rows, err = results.Query(); err == nil {
			taken, err = readIDs(rows)
		}
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return sub, taken, err
}

// replaceEntries writes the entries and commits.
func replaceEntries(ctx context.Context, conn *pgx.Conn, key store.Key, entries forms.Entries) error {
	batch := &pgx.Batch{}
	batch.Queue(sqlUpdate, key.PageID, key.FormID, key.ID, []byte(entries))
	batch.Queue(`COMMIT`)
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("update submission %d: %w", key.ID, err)
	}
	return nil
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	return s.do(ctx, func(ctx context.Context, conn *pgx.Conn, inDoubt bool) error {
		tag, err := conn.Exec(ctx, sqlDelete, key.PageID, key.FormID, key.ID)
		switch {
		case err != nil:
			return fmt.Errorf("delete submission %d: %w", key.ID, err)
		case tag.RowsAffected() > 0:
			return nil
		case inDoubt:
			return errInDoubt // an earlier try may have deleted it
		default:
			return store.ErrNotFound
		}
	})
}
