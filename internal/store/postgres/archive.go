package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// dumpRows is the LIMIT of each statement of a dump. It does not bound memory,
// because rows are streamed. It makes the planner use the index: without a
// limit it would rather sort the table.
const dumpRows = 10_000

// Dump implements store.Archive.
func (s *Store) Dump(ctx context.Context, visit func(store.Record) error) error {
	d := dump{after: store.Key{PageID: math.MinInt64}, visit: visit}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := s.transact(ctx, snapshot, func(tx pgx.Tx) error { return d.run(ctx, tx) })
	if d.visitErr != nil {
		return d.visitErr
	}
	if err != nil {
		return fmt.Errorf("dump submissions: %w", err)
	}
	return nil
}

type dump struct {
	after    store.Key
	limit    int // of the next statement
	visit    func(store.Record) error
	visitErr error
}

func (d *dump) run(ctx context.Context, tx pgx.Tx) error {
	d.limit = dumpRows
	for more := true; more; {
		var err error
		if more, err = d.read(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// read visits the rows of one statement. A submission with files ends it early,
// because their contents are read over the same connection. After that
// statements begin with one row and double, so that few rows are read twice.
func (d *dump) read(ctx context.Context, tx pgx.Tx) (more bool, err error) {
	rows, err := tx.Query(ctx, sqlDump, d.after.PageID, d.after.FormID, d.after.ID, d.limit)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	count := 0
	for ; rows.Next(); count++ {
		r, err := readRecord(rows)
		if err != nil {
			return false, err
		}
		if len(r.Files) > 0 {
			if rows.Close(); rows.Err() != nil {
				return false, rows.Err()
			}
			r.Open = func(f forms.StoredFile) io.ReadCloser {
				return engine.OpenContent(ctx, f, func(ctx context.Context, id, number int64, buf []byte) (int, error) {
					return copyChunk(ctx, tx, id, number, buf)
				})
			}
			d.limit = 1
			return true, d.visitOne(r)
		}
		if err := d.visitOne(r); err != nil {
			return false, err
		}
	}
	more = count == d.limit
	d.limit = min(2*d.limit, dumpRows)
	return more, rows.Err()
}

func (d *dump) visitOne(r store.Record) error {
	d.after = store.Key{PageID: r.PageID, FormID: r.FormID, ID: r.ID}
	d.visitErr = d.visit(r)
	return d.visitErr
}

func readRecord(rows pgx.Rows) (r store.Record, err error) {
	var created int64
	var files []byte
	err = rows.Scan(&r.PageID, &r.FormID, &r.ID, &r.Username, &created, &r.SubmitterKey, (*[]byte)(&r.Entries), &r.Key, &r.Body, &files)
	if err == nil {
		r.Files, err = forms.DecodeFiles(files)
	}
	r.Created = time.UnixMilli(created).UTC()
	return r, err
}

// Load implements store.Archive. It advances the sequence first: if the insert
// fails, that leaves only a gap in the ids.
func (s *Store) Load(ctx context.Context, records []store.Record) error {
	if len(records) == 0 {
		return nil
	}
	b, last, files := &batch{}, int64(0), []int64(nil)
	for _, r := range records {
		if err := r.CheckIDs(); err != nil {
			return err
		}
		if err := b.addRow(r); err != nil {
			return fmt.Errorf("load submission %d: %w", r.ID, err)
		}
		added, _ := engine.DiffFiles(nil, r.Files)
		files = append(files, added...)
		last = max(last, r.ID)
	}
	if err := s.Advance(ctx, last); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // a write that has begun is completed
	err := s.transact(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlInsert, b.columns()...); err != nil {
			return duplicateError(err)
		}
		return claimFiles(ctx, tx.Conn(), files)
	})
	if err != nil {
		return fmt.Errorf("load submissions: %w", err)
	}
	return nil
}

// duplicateError maps a unique violation to ErrExists, to ErrAlreadySubmitted if the
// submitter already has a submission, or to ErrKeyUsed. Other errors are
// returned as they are.
func duplicateError(err error) error {
	var pgErr *pgconn.PgError
	switch {
	case !errors.As(err, &pgErr) || pgErr.Code != codeUniqueViolation:
		return err
	case pgErr.ConstraintName == "submissions_by_submitter":
		return store.ErrAlreadySubmitted // without the detail, which contains the submitter's key
	case pgErr.ConstraintName == "submissions_key":
		return store.ErrKeyUsed
	default:
		return fmt.Errorf("%w: %s", store.ErrExists, pgErr.Detail)
	}
}

// Clear implements store.Archive.
func (s *Store) Clear(ctx context.Context) error {
	err := s.transact(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `TRUNCATE submissions, file_chunks, staged_files`)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove all submissions: %w", err)
	}
	return nil
}

// Count implements store.Archive.
func (s *Store) Count(ctx context.Context) (count int64, err error) {
	err = s.transact(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, sqlCount).Scan(&count)
	})
	if err != nil {
		return 0, fmt.Errorf("count submissions: %w", err)
	}
	return count, nil
}
