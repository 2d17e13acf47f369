package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, n store.New) (forms.Submission, error) {
	var created forms.Submission
	err := s.writer.do(ctx, func(tx *tx) error {
		var err error
		created, err = tx.create(n)
		return err
	})
	return created, err
}

func (t *tx) create(n store.New) (forms.Submission, error) {
	if n.Once != "" && n.Username != "" {
		if found, err := t.stmts.hasByUser(n); err != nil || found {
			return forms.Submission{}, errors.Join(classify(err), onceIf(found))
		}
	}
	t.seq.submission++
	entries := slices.Clone(n.Entries)
	for i := range entries {
		t.seq.entry++
		entries[i].ID = t.seq.entry
	}
	sub := forms.Submission{
		ID: t.seq.submission, PageID: n.PageID, FormID: n.FormID, Username: n.Username,
		Created: n.Created.Truncate(time.Millisecond).UTC(),
		Entries: forms.EncodeEntries(make([]byte, 0, 96*len(entries)+2), entries),
	}
	t.bytes += len(sub.Entries)
	err := t.stmts.insertSubmission(sub, n.Once)
	if errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) {
		return forms.Submission{}, store.ErrOnce
	}
	return sub, classify(err)
}

func onceIf(found bool) error {
	if found {
		return store.ErrOnce
	}
	return nil
}

// assignIDs returns the entries with ids given to those that have none yet. The
// caller's stay without: ids of a transaction that fails are given again.
func (t *tx) assignIDs(entries []forms.Entry) []forms.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].ID == 0 {
			t.seq.entry++
			entries[i].ID = t.seq.entry
		}
	}
	return entries
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key store.Key) (forms.Submission, error) {
	var sub forms.Submission
	err := s.readers.with(ctx, func(stmts *readStmts) error {
		var err error
		sub, err = getSubmission(stmts.get, key)
		return err
	})
	return sub, err
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, key store.Key, merge func(forms.Submission) ([]forms.Entry, error)) (forms.Submission, error) {
	var updated forms.Submission
	err := s.writer.do(ctx, func(tx *tx) error {
		sub, err := getSubmission(tx.stmts.get, key)
		if err != nil {
			return classify(err)
		}
		entries, err := merge(sub)
		if err != nil {
			return err
		}
		sub.Entries = forms.EncodeEntries(make([]byte, 0, len(sub.Entries)+256), tx.assignIDs(entries))
		updated = sub
		tx.bytes += len(sub.Entries)
		return classify(tx.stmts.updateSubmission(sub))
	})
	return updated, err
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	return s.writer.do(ctx, func(tx *tx) error {
		found, err := tx.stmts.deleteSubmission(key)
		if err == nil && !found {
			return store.ErrNotFound
		}
		return classify(err)
	})
}

func bindList(stmt *sqlite3.Stmt, q store.Query) error {
	after := q.After
	if q.Descending && after == 0 {
		after = math.MaxInt64
	}
	err := errors.Join(stmt.BindInt64(1, q.PageID), stmt.BindText(2, q.FormID), stmt.BindInt64(3, after))
	if q.Username != nil {
		err = errors.Join(err, stmt.BindText(4, *q.Username))
	}
	return err
}

func getSubmission(stmt *sqlite3.Stmt, key store.Key) (forms.Submission, error) {
	defer func() { _ = stmt.Reset() }()
	err := bindKey(stmt, 1, key)
	if err != nil {
		return forms.Submission{}, err
	}
	if !stmt.Step() {
		if err := stmt.Err(); err != nil {
			return forms.Submission{}, fmt.Errorf("read submission %d: %w", key.ID, err)
		}
		return forms.Submission{}, store.ErrNotFound
	}
	return forms.Submission{
		ID: key.ID, PageID: key.PageID, FormID: key.FormID,
		Created:  time.UnixMilli(stmt.ColumnInt64(0)).UTC(),
		Username: stmt.ColumnText(1),
		Entries:  append([]byte(nil), stmt.ColumnRawText(2)...),
	}, stmt.Err()
}

func bindKey(stmt *sqlite3.Stmt, from int, key store.Key) error {
	return errors.Join(stmt.BindInt64(from, key.ID), stmt.BindInt64(from+1, key.PageID), stmt.BindText(from+2, key.FormID))
}
