package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// CreateSession implements store.Sessions.
func (s *Store) CreateSession(ctx context.Context, n store.Session) error {
	err := s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		batch := &pgx.Batch{} // which is one transaction
		batch.Queue(sqlTrimSessions, n.Owner[:], store.MaxSessions-1)
		batch.Queue(sqlInsertSession, n.Hash[:], n.Owner[:], n.Expires.UnixMilli(), n.Sealed)
		return commitError(conn, conn.SendBatch(ctx, batch).Close())
	})
	return engine.Wrap(err, "create session")
}

// Session implements store.Sessions.
func (s *Store) Session(ctx context.Context, hash [32]byte) (store.Session, error) {
	found := store.Session{Hash: hash}
	var owner []byte
	var expires int64
	err := s.queryRow(ctx, sqlSession, []any{hash[:]}, &owner, &expires, &found.Sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		err = store.ErrNoSession
	}
	if err != nil {
		return store.Session{}, fmt.Errorf("read session: %w", err)
	}
	copy(found.Owner[:], owner)
	found.Expires = time.UnixMilli(expires).UTC()
	return found, nil
}
