package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// The joins are CROSS JOINs because SQLite keeps the order of those: forms in
// the order of their unique index, and within each its submissions by row id.
const sqlDump = `SELECT ` + sqlSubmission + `, page_id, form_id, row_id, ifnull(submitter_key, ''), ifnull(key, ''), ifnull(body, ''), definition
		FROM forms CROSS JOIN submissions ON row_id > number << 40 AND row_id < (number + 1) << 40
		ORDER BY page_id, form_id, row_id`

// Dump implements store.Archive. It has a connection of its own: the writer
// waits for those of the pool when the WAL has grown long.
func (s *Store) Dump(ctx context.Context) iter.Seq2[store.Dumped, error] {
	return engine.Sequence(func(yield func(store.Dumped) bool) error {
		s.dumps.RLock()
		defer s.dumps.RUnlock()
		if err := s.pool.with(ctx, func(*connection) error { return nil }); err != nil { // closed
			return err
		}
		conn, err := s.pool.connect(ctx)
		if err != nil {
			return classify(err)
		}
		defer conn.Close()
		if err := conn.Exec(`BEGIN`); err != nil { // the end of the connection ends it
			return classify(err)
		}
		for r, err := range dumpRows(ctx, conn) {
			if err != nil || !yield(store.Dumped{Record: r}) {
				return err
			}
		}
		return classify(engine.DumpEvents(ctx, conn, yield))
	})
}

// dumpRows yields the submissions. To be called in a read transaction.
func dumpRows(ctx context.Context, conn *connection) iter.Seq2[store.Record, error] {
	return engine.Sequence(func(yield func(store.Record) bool) error {
		complete := engine.RecordReader(ctx, conn)
		return classify(conn.query(sqlDump, func(rows *sqlite3.Stmt) error {
			for rows.Step() {
				r, err := readRecord(rows, complete)
				if err = cmp.Or(ctx.Err(), err); err != nil || !yield(r) {
					return err
				}
			}
			return nil
		}))
	})
}

func readRecord(row *sqlite3.Stmt, complete func(*store.Record) error) (r store.Record, err error) {
	key := store.Key{PageID: row.ColumnInt64(6), FormID: row.ColumnText(7), ID: submissionID(row.ColumnInt64(8))}
	r.Submission, err = readSubmission(row, key)
	r.SubmitterKey, r.Key, r.Body = row.ColumnText(9), row.ColumnText(10), row.ColumnText(11)
	copy(r.Definition.Hash[:], row.ColumnRawBlob(12))
	if err == nil {
		err = complete(&r)
	}
	return r, err
}

// Load implements store.Archive.
func (s *Store) Load(ctx context.Context, records []store.Record) error {
	return s.writer.do(ctx, func(tx *tx) error {
		clear(tx.counts)
		return tx.atomically(func() error {
			if err := tx.runAll(engine.LoadDefinitions(records)...); err != nil {
				return err
			}
			for i := range records {
				r := &records[i]
				err := r.CheckIDs()
				if err == nil {
					err = engine.Wrap(tx.load(r), "submission %d", r.ID)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (t *tx) load(r *store.Record) error {
	form, err := t.formOrNew(formName{r.PageID, r.FormID})
	if err != nil {
		return err
	}
	if err := t.conn.refuseIfFound(store.ErrKeyUsed, sqlByKey, form, r.Key); err != nil {
		return err
	}
	err = t.conn.insertSubmission(form, r)
	switch {
	case errors.Is(err, sqlite3.CONSTRAINT_UNIQUE):
		return store.ErrAlreadySubmitted
	case errors.Is(err, sqlite3.CONSTRAINT):
		return store.ErrExists
	case err != nil:
		return err
	}
	t.bytes += len(r.Entries)
	t.lastID = max(t.lastID, r.ID)
	if err := t.changeFiles(nil, r.Files); err != nil {
		return err
	}
	return t.runAll(engine.LoadHistory(r)...)
}

// Clear implements store.Archive.
func (s *Store) Clear(ctx context.Context) error {
	defer s.ForgetDefinitions()
	return s.writer.do(ctx, func(tx *tx) error {
		clear(tx.counts)
		return tx.atomically(func() error {
			return tx.conn.Exec(`DELETE FROM submissions; DELETE FROM definitions; DELETE FROM history; DELETE FROM file_chunks; DELETE FROM staged_files;
				DELETE FROM events; DELETE FROM event_queues; DELETE FROM keeps`)
		})
	})
}

// Count implements store.Archive.
func (s *Store) Count(ctx context.Context) (count int64, err error) {
	err = s.pool.with(ctx, func(conn *connection) error {
		count, err = conn.queryInt(`SELECT count(*) FROM submissions`)
		return err
	})
	return count, err
}

// LastID implements store.Archive.
func (s *Store) LastID(ctx context.Context) (last int64, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		last = tx.lastID
		return nil
	})
	return last, err
}

// Advance implements store.Archive.
func (s *Store) Advance(ctx context.Context, to int64) error {
	if to > forms.MaxSubmissionID {
		return fmt.Errorf("advance to %d: ids end with %d", to, int64(forms.MaxSubmissionID))
	}
	return s.writer.do(ctx, func(tx *tx) error {
		tx.lastID = max(tx.lastID, to)
		return nil
	})
}
