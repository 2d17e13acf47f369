package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
)

const (
	sqlSession       = `SELECT owner, expires, sealed FROM sessions WHERE hash = ?`
	sqlInsertSession = `INSERT INTO sessions (hash, owner, expires, sealed) VALUES (?, ?, ?, ?)`
	// sqlTrimSessions deletes all sessions of an owner except the ?2 with the
	// latest expiry.
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
			err := tx.conn.run(sqlTrimSessions, n.Owner[:], int64(store.MaxSessions-1))
			if err == nil {
				err = tx.conn.run(sqlInsertSession, n.Hash[:], n.Owner[:], n.Expires.UnixMilli(), n.Sealed)
			}
			return err
		})
	})
}

// Session implements store.Sessions.
func (s *Store) Session(ctx context.Context, hash [32]byte) (found store.Session, err error) {
	err = s.pool.with(ctx, func(conn *connection) error {
		return conn.queryRow(sqlSession, func(row *sqlite3.Stmt) {
			found = store.Session{Hash: hash, Expires: time.UnixMilli(row.ColumnInt64(1)).UTC(), Sealed: row.ColumnBlob(2, nil)}
			copy(found.Owner[:], row.ColumnRawBlob(0))
		}, hash[:])
	})
	if errors.Is(err, store.ErrNotFound) {
		err = store.ErrNoSession
	}
	return found, err
}
