package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, n store.New) (forms.Submission, error) {
	c := creation{New: n}
	err := s.StoreDefinition(ctx, &c.New)
	if err == nil {
		err = s.writer.do(ctx, c.run)
	}
	s.Wrote(err, false)
	return c.stored, err
}

// creation is a submission on its way through the writer.
type creation struct {
	store.New
	stored forms.Submission
}

func (c *creation) run(t *tx) error {
	var form int64
	err := t.change(nil, c.Files, c.Events, func() (rowID int64, err error) {
		if form, err = t.formOrNew(formName{c.PageID, c.FormID}); err != nil {
			return 0, err
		}
		// If its key is used, it is a repeat, and that error comes first.
		if err := t.conn.refusal(form, &c.New, t.counts); err != nil {
			return 0, cmp.Or(t.conn.refuseIfFound(store.ErrKeyUsed, sqlByKey, form, c.Key), err)
		}
		c.stored, err = t.insert(form, &c.New)
		return makeRowID(form, c.stored.ID), err
	})
	if err == nil {
		t.counts.add(form, 1)
	}
	return err
}

// Tallies implements store.Store. Small statements on one connection are faster here than a large one.
func (s *Store) Tallies(ctx context.Context, list []store.New) ([]store.Tally, error) {
	tallies := make([]store.Tally, len(list))
	err := s.pool.with(ctx, func(conn *connection) error {
		for i := range list {
			n, t := &list[i], &tallies[i]
			form, err := s.form(conn, formName{n.PageID, n.FormID})
			if errors.Is(err, errNoForm) { // it has no submissions
				continue
			}
			if err == nil {
				t.Count, err = conn.count(form, n.Limit)
			}
			if err == nil {
				err = conn.refuseSecond(form, n)
			}
			if t.Submitted = errors.Is(err, store.ErrAlreadySubmitted); err != nil && !t.Submitted {
				return err
			}
		}
		return nil
	})
	return tallies, engine.Wrap(err, "count submissions")
}

// insert stores a submission that was not refused.
func (t *tx) insert(form int64, n *store.New) (sub forms.Submission, err error) {
	if t.lastID++; t.lastID > forms.MaxSubmissionID {
		return sub, fmt.Errorf("submission ids are used up: the last is %d", int64(forms.MaxSubmissionID))
	}
	r, err := engine.NewRecord(t.lastID, n)
	if err != nil {
		return sub, err
	}
	t.bytes += len(r.Entries)
	err = t.conn.insertSubmission(form, &r)
	if errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) {
		return sub, store.ErrKeyUsed
	}
	return r.Submission, err
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key store.Key) (forms.Submission, error) {
	var sub forms.Submission
	err := s.pool.withSnapshot(ctx, func(conn *connection) error {
		at, err := s.forms.rowID(conn, key, true)
		if err == nil {
			sub, err = getSubmission(conn, at, key)
		}
		return err
	})
	return sub, err
}

// errChanged: the submission is not what was merged with any more.
var errChanged = errors.New("the submission was changed meanwhile")

// Update implements store.Store. It merges outside of the transaction, since
// there is only one for all writers, and stores the result if the submission is
// still what was merged with. Otherwise another update was stored meanwhile, and
// this one begins again.
func (s *Store) Update(ctx context.Context, key store.Key, merge store.Merge) (forms.Submission, error) {
	for {
		before, err := s.Get(ctx, key)
		if err != nil {
			return forms.Submission{}, err
		}
		after, change, err := engine.Merge(before, merge)
		if err == nil {
			err = s.replace(ctx, key, before, after, &change)
		}
		switch {
		case err == nil:
			return after, nil
		case !errors.Is(err, errChanged):
			return forms.Submission{}, err
		}
	}
}

// replace stores a submission as it is after an update, unless it is not what it was before.
func (s *Store) replace(
	ctx context.Context, key store.Key, before, after forms.Submission, change *store.Change,
) error {
	err := s.writer.do(ctx, func(tx *tx) error {
		at, now, err := tx.find(key)
		if err != nil {
			return err
		}
		if !bytes.Equal(now.Entries, before.Entries) || !slices.Equal(now.Files, before.Files) ||
			!now.Changed.Equal(before.Changed) || now.Changer != before.Changer {
			return errChanged
		}
		tx.bytes += len(after.Entries)
		return tx.change(before.Files, after.Files, change.Events, func() (int64, error) {
			return at, tx.atomically(func() error {
				row := append([]any{at, after.Entries, string(forms.EncodeFiles(after.Files))}, lastChange(&after)...)
				return tx.runAll(append(engine.HistoryStatements(key.ID, change.Step), engine.NewStatement(sqlUpdate, row...))...)
			})
		})
	})
	s.Wrote(err, !slices.Equal(before.Files, after.Files))
	return err
}

// Delete implements store.Store.
func (s *Store) Delete(
	ctx context.Context, key store.Key, check func(forms.Submission) error, events ...store.Event,
) error {
	var sub forms.Submission
	err := s.writer.do(ctx, func(tx *tx) (err error) {
		var at int64
		if at, sub, err = tx.find(key); err != nil {
			return err
		}
		if check != nil {
			if err := check(sub); err != nil {
				return err
			}
		}
		err = tx.change(sub.Files, nil, events, func() (int64, error) {
			return at, tx.atomically(func() error {
				return tx.runAll(
					engine.NewStatement(sqlDelete, at), engine.NewStatement(engine.SQLDeleteHistory, key.ID))
			})
		})
		if err == nil {
			tx.counts.add(at>>idBits, -1)
		}
		return err
	})
	s.Wrote(err, len(sub.Files) > 0)
	return err
}

// find reads a submission and its row id.
func (t *tx) find(key store.Key) (rowID int64, sub forms.Submission, err error) {
	if rowID, err = t.forms.rowID(t.conn, key, !t.hasNewForm); err == nil {
		sub, err = getSubmission(t.conn, rowID, key)
	}
	return rowID, sub, err
}

// getSubmission reads one row. It binds by hand, without the cost of queryRow.
func getSubmission(conn *connection, rowID int64, key store.Key) (sub forms.Submission, err error) {
	stmt, err := conn.prepare(sqlGet)
	if err != nil {
		return sub, err
	}
	defer stmt.Reset()
	err = stmt.BindInt64(1, rowID)
	switch {
	case err == nil && stmt.Step():
		return readSubmission(stmt, key)
	case cmp.Or(err, stmt.Err()) == nil:
		return sub, store.ErrNotFound
	}
	return sub, fmt.Errorf("read submission %d: %w", key.ID, cmp.Or(err, stmt.Err()))
}

// readSubmission reads a row that begins with the columns of sqlSubmission.
func readSubmission(stmt *sqlite3.Stmt, key store.Key) (forms.Submission, error) {
	files, err := forms.DecodeFiles(stmt.ColumnRawText(3))
	if err != nil {
		return forms.Submission{}, fmt.Errorf("read submission %d: %w", key.ID, err)
	}
	sub := forms.Submission{
		ID: key.ID, PageID: key.PageID, FormID: key.FormID,
		Created:  time.UnixMilli(stmt.ColumnInt64(0)).UTC(),
		Username: stmt.ColumnText(1),
		Entries:  append([]byte(nil), stmt.ColumnRawText(2)...),
		Files:    files,
		Changed:  time.UnixMilli(stmt.ColumnInt64(4)).UTC(),
	}
	if changer := stmt.ColumnRawText(5); string(changer) != sub.Username { // mostly it is: share the text
		sub.Changer = string(changer)
	} else {
		sub.Changer = sub.Username
	}
	return sub, nil
}

// ByKey implements store.Store.
func (s *Store) ByKey(
	ctx context.Context, pageID int64, formID, key string,
) (sub forms.Submission, body string, err error) {
	err = s.pool.with(ctx, func(conn *connection) error {
		form, err := s.form(conn, formName{pageID, formID})
		if err != nil {
			return err
		}
		var readErr error
		err = conn.queryRow(sqlByKey, func(row *sqlite3.Stmt) {
			id := submissionID(row.ColumnInt64(6))
			sub, readErr = readSubmission(row, store.Key{PageID: pageID, FormID: formID, ID: id})
			body = row.ColumnText(7)
		}, form, key)
		return cmp.Or(err, readErr)
	})
	return sub, body, err
}
