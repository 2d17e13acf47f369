package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
)

var _ store.Sessions = (*Store)(nil)

const (
	sqlSession       = `SELECT owner, expires, sealed FROM sessions WHERE hash = ?`
	sqlInsertSession = `INSERT INTO sessions (hash, owner, expires, sealed) VALUES (?, ?, ?, ?)`
	sqlRenewSession  = `UPDATE sessions SET expires = max(expires, ?2) WHERE hash = ?1`
	sqlDeleteSession = `DELETE FROM sessions WHERE hash = ?`
	// sqlTrimSessions keeps the ?2 sessions of an owner that expire last.
	sqlTrimSessions = `DELETE FROM sessions
		WHERE hash IN (SELECT hash FROM sessions WHERE owner = ?1 ORDER BY expires DESC LIMIT -1 OFFSET ?2)`
	sqlDeleteExpired = `DELETE FROM sessions
		WHERE hash IN (SELECT hash FROM sessions WHERE expires <= ?1 ORDER BY expires LIMIT ?2)`
)

// CreateSession implements store.Sessions.
func (s *Store) CreateSession(ctx context.Context, n store.Session) error {
	return s.writer.do(ctx, func(tx *tx) error {
		tx.bytes += len(n.Sealed)
		return tx.atomically(func() error {
			_, err := execBound(tx.stmts.conn, sqlTrimSessions, n.Owner[:], int64(store.MaxSessions-1))
			if err == nil {
				_, err = execBound(tx.stmts.conn, sqlInsertSession, n.Hash[:], n.Owner[:], n.Expires.UnixMilli(), n.Sealed)
			}
			return classify(err)
		})
	})
}

// Session implements store.Sessions.
func (s *Store) Session(ctx context.Context, hash [32]byte) (found store.Session, err error) {
	err = s.pool.with(ctx, func(stmts *readStmts) error {
		found, err = readSession(stmts.session, hash)
		return err
	})
	return found, err
}

func readSession(stmt *sqlite3.Stmt, hash [32]byte) (store.Session, error) {
	defer func() { _ = stmt.Reset() }()
	if err := stmt.BindBlob(1, hash[:]); err != nil {
		return store.Session{}, err
	}
	if !stmt.Step() {
		if err := stmt.Err(); err != nil {
			return store.Session{}, err
		}
		return store.Session{}, store.ErrNoSession
	}
	found := store.Session{Hash: hash, Expires: time.UnixMilli(stmt.ColumnInt64(1)).UTC(), Sealed: stmt.ColumnBlob(2, nil)}
	copy(found.Owner[:], stmt.ColumnRawBlob(0))
	return found, stmt.Err()
}

// RenewSession implements store.Sessions.
func (s *Store) RenewSession(ctx context.Context, hash [32]byte, expires time.Time) error {
	return s.writer.do(ctx, func(tx *tx) error {
		changed, err := execBound(tx.stmts.conn, sqlRenewSession, hash[:], expires.UnixMilli())
		if err == nil && changed == 0 {
			return store.ErrNoSession
		}
		return classify(err)
	})
}

// DeleteSession implements store.Sessions.
func (s *Store) DeleteSession(ctx context.Context, hash [32]byte) error {
	return s.writer.do(ctx, func(tx *tx) error {
		_, err := execBound(tx.stmts.conn, sqlDeleteSession, hash[:])
		return classify(err)
	})
}

// DeleteExpiredSessions implements store.Sessions.
func (s *Store) DeleteExpiredSessions(ctx context.Context, until time.Time, limit int) (removed int, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		removed, err = execBound(tx.stmts.conn, sqlDeleteExpired, until.UnixMilli(), int64(limit))
		return classify(err)
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// execBound runs a statement that is not used often enough to stay prepared. Its
// arguments are of type int64 or []byte. It returns how many rows were changed.
func execBound(conn *sqlite3.Conn, sql string, args ...any) (changed int, err error) {
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		return 0, err
	}
	defer func() { _ = stmt.Close() }()
	for i, arg := range args {
		switch arg := arg.(type) {
		case int64:
			err = errors.Join(err, stmt.BindInt64(i+1, arg))
		case []byte:
			err = errors.Join(err, stmt.BindBlob(i+1, arg))
		default:
			err = errors.Join(err, fmt.Errorf("argument %d is a %T", i+1, arg))
		}
	}
	if err != nil {
		return 0, err
	}
	if err := stmt.Exec(); err != nil {
		return 0, err
	}
	return int(conn.Changes()), nil
}
