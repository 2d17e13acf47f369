package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// fileEngine implements engine.FileEngine.
type fileEngine struct{ *Store }

// StageChunk implements engine.FileEngine.
func (s fileEngine) StageChunk(ctx context.Context, id, number int64, data []byte) error {
	sql, args := sqlStageChunk, []any{id, number, data}
	switch {
	case len(data) == 0:
		sql, args = sqlStageEmpty, []any{id}
	case number == 0:
		sql = sqlStageFirst
	}
	changed, err := s.exec(ctx, sql, args...)
	switch {
	case serverCode(err) == codeUniqueViolation:
		return nil // an earlier try has stored it: ids are random
	case err != nil:
		return fmt.Errorf("store a chunk: %w", err)
	case changed == 0:
		return store.ErrNoFile
	}
	return nil
}

// ReadChunk implements engine.FileEngine.
func (s fileEngine) ReadChunk(ctx context.Context, id, number int64, buf []byte) (n int, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		n, err = copyChunk(ctx, conn, id, number, buf)
		return err
	})
	return n, err
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// copyChunk copies the data from the driver's buffer.
func copyChunk(ctx context.Context, q querier, id, number int64, buf []byte) (int, error) {
	data := pgtype.PreallocBytes(buf)
	err := q.QueryRow(ctx, sqlChunk, id, number).Scan(&data)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, store.ErrNotFound
	case err != nil:
		return 0, err
	case len(data) > len(buf):
		return 0, fmt.Errorf("a chunk has %d bytes: the database is damaged", len(data))
	}
	return len(data), nil
}

// MarkRemoved implements engine.FileEngine.
func (s fileEngine) MarkRemoved(ctx context.Context, id int64) error {
	_, err := s.exec(ctx, sqlMarkRemoved, id)
	return err
}

// Touch implements engine.FileEngine.
func (s fileEngine) Touch(ctx context.Context, ids []int64) error {
	_, err := s.exec(ctx, sqlTouch, ids)
	return err
}

// MarkStale implements engine.FileEngine. The database's clock decides, since
// those of the replicas may differ.
func (s fileEngine) MarkStale(ctx context.Context, age time.Duration) error {
	_, err := s.exec(ctx, sqlMarkStale, int64(age.Seconds()))
	return err
}

// RemoveSome implements engine.FileEngine. Several replicas may remove the same
// content: its row stays until all of its chunks are gone.
func (s fileEngine) RemoveSome(ctx context.Context, moreThan int, reading []int64) (more bool, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var id int64
		err := conn.QueryRow(ctx, sqlNextRemoved, moreThan, reading).Scan(&id)
		if more = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		tag, err := conn.Exec(ctx, sqlRemoveChunks, id, engine.RemoveChunks)
		if err == nil && tag.RowsAffected() == 0 {
			_, err = conn.Exec(ctx, sqlRemoveFile, id)
		}
		if err == nil && s.removed.Add(tag.RowsAffected()) >= vacuumChunks {
			s.removed.Store(0)
			// A timeout is no error: autovacuum comes later.
			_, _ = conn.Exec(ctx, `VACUUM (TRUNCATE false) file_chunks`)
		}
		return err
	})
	return more, err
}

// vacuumChunks is after how many removed chunks (16 MiB) their room is made free
// for new ones. Autovacuum looks once a minute: until then refused uploads could
// fill the disk.
const vacuumChunks = 256

// claimFiles makes staged contents a submission's.
func claimFiles(ctx context.Context, conn *pgx.Conn, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	tag, err := conn.Exec(ctx, sqlClaimFiles, ids)
	if err == nil && tag.RowsAffected() < int64(len(ids)) {
		return store.ErrNoFile
	}
	return err
}
