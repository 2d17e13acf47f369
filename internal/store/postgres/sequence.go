package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store/engine"
)

// LastID implements store.Archive.
func (s *Store) LastID(ctx context.Context) (last int64, err error) {
	err = s.queryRow(ctx, sqlLastID, nil, &last)
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
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			// Without the lock, another process could allocate ids between the
			// read and the write, and setval would move the sequence back.
			if _, err := tx.Exec(ctx, sqlLockSequence); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, sqlAdvance, to)
			return err
		})
	})
	return engine.Wrap(err, "advance the sequence")
}
