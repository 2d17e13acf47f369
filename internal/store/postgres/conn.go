package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formulary/formulary/internal/store"
)

const (
	// maxTries bounds how often an operation is tried after conflicts with
	// other transactions or lost connections. The backoffs between the tries
	// add up to less than half a second, so that an outage is reported soon.
	maxTries = 6

	// maxRetryTime is how long after the first try another may begin. It
	// matters where a single try takes long, with a host that does not answer
	// for instance.
	maxRetryTime = 3 * time.Second

	// firstBackoff bounds the backoff after the first try. It doubles with each try.
	firstBackoff = 10 * time.Millisecond

	// acquireTimeout bounds the wait for a free connection of the pool.
	acquireTimeout = 5 * time.Second
)

// attempt is one try of an operation, on a connection of its own. One that must
// not be committed twice passes the error of its last statement to commitError.
type attempt func(ctx context.Context, conn *pgx.Conn) error

// do runs an attempt, and runs it again after errors that are retryable.
//
// The attempt's context is not cancelled with the caller's. A write that has
// begun must be completed, and to cancel a read would cost the connection. The
// statement timeout ends both.
func (s *Store) do(ctx context.Context, try attempt) error {
	began := time.Now()
	for n := 1; ; n++ {
		err := s.tryOnce(ctx, try)
		if err == nil || !isRetryable(err) || n == maxTries || time.Since(began) > maxRetryTime {
			return classify(err)
		}
		// Random, so that transactions that were in conflict do not meet again.
		time.Sleep(rand.N(firstBackoff << (n - 1))) //nolint:gosec // the jitter is no secret
	}
}

func (s *Store) tryOnce(ctx context.Context, try attempt) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	// The deadline is set on the socket, not on the context: for a context
	// that can be cancelled, the driver starts a goroutine per statement.
	socket := conn.Conn().PgConn().Conn()
	_ = socket.SetDeadline(time.Now().Add(s.statementTimeout + acquireTimeout)) // if this fails, so does the attempt
	defer release(context.WithoutCancel(ctx), conn)
	return s.checkConn(conn, try(context.WithoutCancel(ctx), conn.Conn()))
}

func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	conn, err := s.pool.Acquire(bounded)
	switch {
	case err == nil:
		return conn, nil
	case s.closed.Load():
		return nil, fmt.Errorf("%w: the store is closed", store.ErrUnavailable)
	case ctx.Err() != nil: // that of the caller has ended
		return nil, fmt.Errorf("wait for a connection: %w", ctx.Err())
	default:
		return nil, fmt.Errorf("%w: connect: %w", errLost, err)
	}
}

// UsedConnections is how many connections are in use.
func (s *Store) UsedConnections() float64 { return float64(s.pool.Stat().AcquiredConns()) }

// MaxConnections is how many connections may be in use.
func (s *Store) MaxConnections() float64 { return float64(s.pool.Stat().MaxConns()) }

// checkConn wraps the error of an attempt in errLost if the connection is
// closed. The state of the connection is checked, because a lost connection can
// surface as many kinds of error.
func (s *Store) checkConn(conn *pgxpool.Conn, err error) error {
	if err == nil {
		return nil
	}
	if serverCode(err) == codeReadOnly {
		// The server was demoted. All open connections lead to the old
		// primary; new ones find the new primary.
		s.pool.Reset()
	}
	if conn.Conn().IsClosed() {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

// release returns a connection to the pool. A transaction that an error or a
// panic left open is rolled back first: otherwise the pool would close the
// connection.
func release(ctx context.Context, conn *pgxpool.Conn) {
	if raw := conn.Conn(); !raw.IsClosed() && raw.PgConn().TxStatus() != 'I' {
		_, _ = raw.Exec(ctx, `ROLLBACK`) // if it fails, the pool closes the connection
	}
	_ = conn.Conn().PgConn().Conn().SetDeadline(time.Time{})
	conn.Release()
}

// transact runs fn once, in a transaction without timeouts. It is for dumps and
// loads, which may take long, not for requests.
func (s *Store) transact(ctx context.Context, options pgx.TxOptions, fn func(pgx.Tx) error) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return classify(err)
	}
	defer release(ctx, conn)
	err = pgx.BeginTxFunc(ctx, conn, options, func(tx pgx.Tx) error {
		const unlimited = `SELECT set_config('statement_timeout', '0', true),
			set_config('idle_in_transaction_session_timeout', '0', true)`
		if _, err := tx.Exec(ctx, unlimited); err != nil {
			return err
		}
		return fn(tx)
	})
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return classify(s.checkConn(conn, err))
}
