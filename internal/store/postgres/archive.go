package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// fetchRows is how many rows of a dump are in memory at a time.
const fetchRows = 16

// Dump implements store.Archive. It fetches rows through a cursor, because the
// contents of their files are read over the same connection.
func (s *Store) Dump(ctx context.Context) iter.Seq2[store.Dumped, error] {
	return engine.Sequence(func(yield func(store.Dumped) bool) error {
		options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		err := s.transact(ctx, options, func(tx pgx.Tx) error { return dump(ctx, tx, yield) })
		return engine.Wrap(err, "dump submissions")
	})
}

func dump(ctx context.Context, tx pgx.Tx, yield func(store.Dumped) bool) error {
	for _, sql := range []string{sqlUseIndex, sqlDump} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	snapshot := querier{tx.Conn()}
	complete := engine.RecordReader(ctx, snapshot)
	for {
		records, err := fetch(ctx, tx, complete)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return engine.DumpEvents(ctx, snapshot, yield)
		}
		for _, r := range records {
			if !yield(store.Dumped{Record: r}) {
				return nil
			}
		}
	}
}

// fetch returns the next rows of a dump.
func fetch(ctx context.Context, tx pgx.Tx, complete func(*store.Record) error) ([]store.Record, error) {
	rows, _ := tx.Query(ctx, fmt.Sprintf(`FETCH %d FROM dump`, fetchRows)) // the rows have its error
	records, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Record, error) {
		var r store.Record
		err := readSubmission(row, &r.Submission,
			&r.PageID, &r.FormID, &r.ID, &r.SubmitterKey, &r.Key, &r.Body, &r.Definition.Hash)
		return r, err
	})
	for i := range records {
		if err == nil {
			err = complete(&records[i])
		}
	}
	return records, err
}

// Load implements store.Archive. It advances the sequence first: if the insert
// fails, that leaves only a gap in the ids.
func (s *Store) Load(ctx context.Context, records []store.Record) error {
	if len(records) == 0 {
		return nil
	}
	var last int64
	var files []int64
	for _, r := range records {
		if err := r.CheckIDs(); err != nil {
			return err
		}
		added, _ := engine.DiffFiles(nil, r.Files)
		files = append(files, added...)
		last = max(last, r.ID)
	}
	columns := columns(records)
	if err := s.Advance(ctx, last); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // a write that has begun is completed
	err := s.transact(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		var history []engine.Statement
		for i := range records {
			history = append(history, engine.LoadHistory(&records[i])...)
		}
		if err := send(ctx, tx.Conn(), engine.LoadDefinitions(records)...); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlInsert, columns...); err != nil {
			return duplicateError(err)
		}
		if err := claimFiles(ctx, tx.Conn(), files); err != nil {
			return err
		}
		return send(ctx, tx.Conn(), history...)
	})
	return engine.Wrap(err, "load submissions")
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
	defer s.ForgetDefinitions()
	err := s.transact(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `TRUNCATE submissions, definitions, history, keeps, file_chunks, staged_files,
			events, event_queues`)
		return err
	})
	return engine.Wrap(err, "remove all submissions")
}

// Count implements store.Archive.
func (s *Store) Count(ctx context.Context) (count int64, err error) {
	err = s.transact(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, sqlCount).Scan(&count)
	})
	return count, engine.Wrap(err, "count submissions")
}

// LastID implements store.Archive.
func (s *Store) LastID(ctx context.Context) (last int64, err error) {
	err = engine.QueryRow(ctx, database{s}, []any{&last}, sqlLastID)
	return last, engine.Wrap(err, "read the last id")
}

// Advance implements store.Archive. The sequence never goes back, so there is
// nothing to do if it is far enough.
func (s *Store) Advance(ctx context.Context, to int64) error {
	last, err := s.LastID(ctx)
	if err != nil || last >= to {
		return err
	}
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		// Without the lock, another process could allocate ids between the read and the
		// write of sqlAdvance, which would move the sequence back.
		return send(ctx, conn, engine.NewStatement(sqlLockSequence), engine.NewStatement(sqlAdvance, to))
	})
	return engine.Wrap(err, "advance the sequence")
}
