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
	// maxTries bounds how often something is tried that others were in the
	// way of, or whose connection was lost. The pauses between them are less
	// than half a second together, so that a database that is down shows.
	maxTries = 6

	// maxTrying is how long after the first try another may begin. Where each
	// takes long, a host that does not answer for instance, few must do.
	maxTrying = 3 * time.Second

	// firstPause is how long it waits at most after the first try. It doubles.
	firstPause = 10 * time.Millisecond

	// acquireTimeout bounds the wait for a free connection.
	acquireTimeout = 5 * time.Second
)

// attempt is something done on a connection that nobody else uses meanwhile.
// doubt is true when it was tried before, and may have been carried out then.
type attempt func(ctx context.Context, conn *pgx.Conn, doubt bool) error

// do tries until it succeeds, or fails in a way that another try would not
// change. The context that an attempt is given outlives the caller: a write is
// carried through, and a read that is broken off would cost its connection. It
// ends soon enough by itself.
func (s *Store) do(ctx context.Context, try attempt) error {
	doubt, began := false, time.Now()
	for n := 1; ; n++ {
		err := s.tryOnce(ctx, try, doubt)
		if err == nil || !passes(err) || n == maxTries || time.Since(began) > maxTrying {
			return classify(err)
		}
		doubt = doubt || leavesDoubt(err)
		pause(n)
	}
}

// pause waits a while that is different for everybody, so that who was in each
// other's way is not so again.
func pause(try int) {
	time.Sleep(rand.N(firstPause << (try - 1))) //nolint:gosec // nobody gains by guessing it
}

func (s *Store) tryOnce(ctx context.Context, try attempt, doubt bool) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	// A deadline of the connection instead of a context's: for a context that
	// can end, the driver starts a goroutine at every statement.
	socket := conn.Conn().PgConn().Conn()
	deadline := time.Now().Add(s.statementTimeout + acquireTimeout)
	_ = socket.SetDeadline(deadline) // if it fails, so will all that follows
	defer release(context.WithoutCancel(ctx), conn)
	err = try(context.WithoutCancel(ctx), conn.Conn(), doubt)
	if err != nil && time.Now().After(deadline) { // time enough was spent on it
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	return s.examine(conn, err)
}

func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	conn, err := s.pool.Acquire(bounded)
	if err != nil {
		return nil, s.notAcquired(ctx, err)
	}
	return conn, nil
}

// Connections are how many are in use by now, and how many may be.
func (s *Store) Connections() (used, limit int) {
	stat := s.pool.Stat()
	return int(stat.AcquiredConns()), int(stat.MaxConns())
}

func (s *Store) notAcquired(ctx context.Context, err error) error {
	if s.closed.Load() {
		return fmt.Errorf("%w: the store is closed", store.ErrUnavailable)
	}
	return unreachable(ctx, err)
}

// examine tells by the connection what became of it: the kinds of error that a
// lost connection shows itself by are too many to know.
func (s *Store) examine(conn *pgxpool.Conn, err error) error {
	if err == nil {
		return nil
	}
	if serverCode(err) == codeReadOnly {
		// The primary is another server now. Every connection there is leads
		// to the wrong one; new ones find the right one.
		s.pool.Reset()
	}
	if conn.Conn().IsClosed() {
		return lostError{err}
	}
	return err
}

// release gives a connection back. A transaction that was left open, by an
// error or a panic, is undone first: without that the pool would throw the
// connection away.
func release(ctx context.Context, conn *pgxpool.Conn) {
	if raw := conn.Conn(); !raw.IsClosed() && raw.PgConn().TxStatus() != 'I' {
		_, _ = raw.Exec(ctx, `ROLLBACK`) // if it fails, the pool does throw it away
	}
	_ = conn.Conn().PgConn().Conn().SetDeadline(time.Time{})
	conn.Release()
}

// transact runs fn in a transaction that may take its time, once. It is for
// copies, not for clients.
func (s *Store) transact(ctx context.Context, options pgx.TxOptions, fn func(pgx.Tx) error) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return classify(err)
	}
	defer release(ctx, conn)
	err = pgx.BeginTxFunc(ctx, conn, options, func(tx pgx.Tx) error {
		const unlimited = `SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)`
		if _, err := tx.Exec(ctx, unlimited); err != nil {
			return err
		}
		return fn(tx)
	})
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return classify(s.examine(conn, err))
}
