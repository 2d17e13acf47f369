package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
)

// A sequence's last value is the first of the ids that were given with it; one
// that was never called has the first value that it will give.
var (
	sqlLastSubmission = `SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM submission_ids`
	sqlLastEntry      = fmt.Sprintf(`SELECT CASE WHEN is_called THEN last_value + %d ELSE last_value - 1 END FROM entry_ids`, entryBlock-1)
)

const (
	// To lock a sequence there is no other way than to alter it, be it to what
	// it is.
	sqlLockSubmissions = `ALTER SEQUENCE submission_ids CACHE 1`
	sqlLockEntries     = `ALTER SEQUENCE entry_ids CACHE 1`

	// To alter a sequence puts it into a new file, even where nothing changes,
	// and who reads it meanwhile may find the old one gone: a SELECT does not
	// wait for it. This function does, and keeps others from altering the
	// sequences until the end of the transaction.
	sqlHoldSequences = `SELECT pg_sequence_last_value('entry_ids'), pg_sequence_last_value('submission_ids')`
)

// Sequences implements store.Archive.
func (s *Store) Sequences(ctx context.Context) (last store.Sequences, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn, _ bool) error {
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

// Advance implements store.Archive. Sequences never go back, so where they are
// far enough there is nothing to do.
func (s *Store) Advance(ctx context.Context, to store.Sequences) error {
	err := s.do(ctx, func(ctx context.Context, conn *pgx.Conn, _ bool) error {
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

// advance looks and sets while nobody takes an id: between the two, others
// could take more than are skipped, and to set the sequence would take it back.
// The lock lasts until the end of the transaction. Entry ids come first, as
// with those who take ids: in another order, the two would wait for each other.
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
