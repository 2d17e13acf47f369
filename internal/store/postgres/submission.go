package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/panics"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, n store.New) (forms.Submission, error) {
	c := &creation{new: n}
	if err := s.StoreDefinition(ctx, &c.new); err != nil {
		return forms.Submission{}, err
	}
	run := s.writer.queue.Do
	if c.needsOwnTx() {
		run = s.createAlone
	}
	err := run(ctx, c)
	s.Wrote(err, false)
	if err != nil {
		return forms.Submission{}, err
	}
	// Again, for a connection that was replaced meanwhile. If this fails, the next create does it.
	_ = s.StoreDefinition(ctx, &c.new)
	return c.stored.Submission, nil
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key store.Key) (forms.Submission, error) {
	sub := forms.Submission{ID: key.ID, PageID: key.PageID, FormID: key.FormID}
	err := s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return readSubmission(conn.QueryRow(ctx, sqlGet, key.PageID, key.FormID, key.ID), &sub)
	})
	return sub, err
}

// readSubmission reads the columns of sqlSubmission, and those before them in the row.
func readSubmission(row pgx.Row, sub *forms.Submission, before ...any) error {
	var created, changed int64
	var files []byte
	err := row.Scan(append(before, &created, &sub.Username, (*[]byte)(&sub.Entries), &files, &changed, &sub.Changer)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.ErrNotFound
	}
	if err == nil {
		sub.Files, err = forms.DecodeFiles(files)
	}
	if err != nil {
		return fmt.Errorf("read submission %d: %w", sub.ID, err)
	}
	sub.Created, sub.Changed = time.UnixMilli(created).UTC(), time.UnixMilli(changed).UTC()
	return nil
}

// ByKey implements store.Store.
func (s *Store) ByKey(
	ctx context.Context, pageID int64, formID, key string,
) (sub forms.Submission, body string, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		sub = forms.Submission{PageID: pageID, FormID: formID}
		return readSubmission(conn.QueryRow(ctx, sqlByKey, pageID, formID, key), &sub, &sub.ID, &body)
	})
	return sub, body, err
}

// Update implements store.Store. It is a transaction in two round trips.
func (s *Store) Update(ctx context.Context, key store.Key, merge store.Merge) (after forms.Submission, err error) {
	var removed []int64
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		before, err := lockSubmission(ctx, conn, key)
		if err != nil {
			return err
		}
		var change store.Change
		if after, change, err = engine.Merge(before, merge); err != nil {
			return err
		}
		var added []int64
		added, removed = engine.DiffFiles(before.Files, after.Files)
		if err := claimFiles(ctx, conn, added); err != nil {
			return err
		}
		changed, changer := lastChange(&after)
		return commit(ctx, conn, about(key, change.Events), removed, append(
			engine.HistoryStatements(key.ID, change.Step),
			engine.NewStatement(sqlUpdate, key.PageID, key.FormID, key.ID,
				[]byte(after.Entries), forms.EncodeFiles(after.Files), changed, changer))...)
	})
	s.Wrote(err, len(removed) > 0)
	if err != nil {
		return forms.Submission{}, err
	}
	return after, nil
}

// lastChange returns the last two columns of a submission.
func lastChange(s *forms.Submission) (changed *int64, changer *string) {
	if !s.IsChanged() {
		return nil, nil
	}
	at := s.Changed.UnixMilli()
	return &at, &s.Changer
}

// lockSubmission begins a transaction, locks a submission and reads it.
func lockSubmission(ctx context.Context, conn *pgx.Conn, key store.Key) (forms.Submission, error) {
	sub := forms.Submission{ID: key.ID, PageID: key.PageID, FormID: key.FormID}
	batch := &pgx.Batch{}
	batch.Queue(`BEGIN`)
	lock := batch.Queue(sqlLock, key.PageID, key.FormID, key.ID)
	var readErr error
	lock.QueryRow(func(row pgx.Row) error {
		readErr = readSubmission(row, &sub)
		return nil // an error would make pgx prepare the statements again
	})
	err := conn.SendBatch(ctx, batch).Close()
	return sub, cmp.Or(err, readErr)
}

// commit runs the last statements of a transaction, stores events, marks files for removal, and commits.
func commit(
	ctx context.Context, conn *pgx.Conn, events []store.Event, removed []int64, statements ...engine.Statement,
) error {
	if len(events) > 0 {
		statements = append(statements, engine.NewStatement(sqlInsertEvents, eventColumns(events)...))
	}
	if len(removed) > 0 {
		statements = append(statements, engine.NewStatement(sqlMarkFiles, removed))
	}
	err := send(ctx, conn, append(statements, engine.NewStatement(`COMMIT`))...)
	return commitError(conn, engine.Wrap(err, "write the submission"))
}

// Delete implements store.Store. Like an update it takes two round trips.
func (s *Store) Delete(
	ctx context.Context, key store.Key, check func(forms.Submission) error, events ...store.Event,
) error {
	var removed []int64
	err := s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err := lockSubmission(ctx, conn, key)
		if err != nil {
			return err
		}
		if check != nil {
			if err := panics.ToError(func() error { return check(found) }); err != nil {
				return err
			}
		}
		_, removed = engine.DiffFiles(found.Files, nil)
		return commit(ctx, conn, about(key, events), removed,
			engine.NewStatement(sqlDelete, key.PageID, key.FormID, key.ID),
			engine.NewStatement(engine.SQLDeleteHistory, key.ID))
	})
	s.Wrote(err, len(removed) > 0)
	return err
}
