package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
)

// last_value of entry_ids is the first id of the last block. As long as
// is_called is false, last_value is the first value that will be returned.
var (
	sqlLastSubmission = `SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM submission_ids`
	sqlLastEntry      = fmt.Sprintf(`SELECT CASE WHEN is_called THEN last_value + %d ELSE last_value - 1 END FROM entry_ids`, entryBlock-1)
)

const (
	// ALTER SEQUENCE is the only way to lock a sequence. These change nothing.
	sqlLockSubmissions = `ALTER SEQUENCE submission_ids CACHE 1`
	sqlLockEntries     = `ALTER SEQUENCE entry_ids CACHE 1`

	// ALTER SEQUENCE moves the sequence to a new file, even if nothing changes.
	// A concurrent SELECT does not wait for it and may find the old file gone.
	// This function does wait, and locks the sequences against ALTER until the
	// end of the transaction.
	sqlHoldSequences = `SELECT pg_sequence_last_value('entry_ids'), pg_sequence_last_value('submission_ids')`
)

// Sequences implements store.Archive.
func (s *Store) Sequences(ctx context.Context) (last store.Sequences, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		last, err = readSequences(ctx, conn)
		return err
	})
	if err != nil {
		return store.Sequences{}, fmt.Errorf("read sequences: %w", err)
	}
	return last, nil
}

func readSequences(ctx context.Context, conn *pgx.Conn) (last store.Sequences, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlHoldSequences); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, sqlLastSubmission).Scan(&last.Submission); err != nil {
			return err
		}
		return tx.QueryRow(ctx, sqlLastEntry).Scan(&last.Entry)
	})
	return last, err
}

// Advance implements store.Archive. Sequences never go back, so there is nothing
// to do if they are far enough.
func (s *Store) Advance(ctx context.Context, to store.Sequences) error {
	err := s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		last, err := readSequences(ctx, conn)
		if err != nil || (last.Submission >= to.Submission && last.Entry >= to.Entry) {
			return err
		}
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return advance(ctx, tx, to) })
	})
	if err != nil {
		return fmt.Errorf("advance sequences: %w", err)
	}
	return nil
}

// advance locks each sequence, reads it and sets it. Without the lock, another
// process could allocate ids between the read and the write, and setval would
// move the sequence back. The lock lasts until the end of the transaction. The
// order, entry ids first, is that of sqlTakeIDs: another one could deadlock.
func advance(ctx context.Context, tx pgx.Tx, to store.Sequences) error {
	for _, seq := range []struct {
		lock, last, set string
		to              int64
	}{
		{sqlLockEntries, sqlLastEntry, `SELECT setval('entry_ids', $1, false)`, to.Entry},
		{sqlLockSubmissions, sqlLastSubmission, `SELECT setval('submission_ids', $1, false)`, to.Submission},
	} {
		if _, err := tx.Exec(ctx, seq.lock); err != nil {
			return err
		}
		var last int64
		if err := tx.QueryRow(ctx, seq.last).Scan(&last); err != nil {
			return err
		}
		if last >= seq.to {
			continue
		}
		if _, err := tx.Exec(ctx, seq.set, seq.to+1); err != nil {
			return err
		}
	}
	return nil
}
