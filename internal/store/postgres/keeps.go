package postgres

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"
)

// sqlTryAlone takes an advisory lock whose key is beside those of sqlQueueLock.
const sqlTryAlone = `SELECT pg_try_advisory_xact_lock(1181904236, 64)`

// Alone implements store.Keeps. The lock is that of a transaction: poolers such as PgBouncer keep it on one connection,
// and it ends when the server is killed. The transaction is idle while do runs. It must have no snapshot, which would
// hold up VACUUM: the simple protocol leaves none open. If the connection is lost, another server may begin, which
// does no harm: each submission is deleted once.
func (s *Store) Alone(ctx context.Context, do func() error) (err error) {
	lockErr := s.transact(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		alone := false
		if err := tx.QueryRow(ctx, sqlTryAlone, pgx.QueryExecModeSimpleProtocol).Scan(&alone); err != nil || !alone {
			return err
		}
		err = do()
		return err
	})
	return cmp.Or(err, lockErr)
}
