package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// fileEngine implements engine.FileEngine.
type fileEngine struct{ *Store }

// StageChunk implements engine.FileEngine. Chunks go through the writer like all
// other writes, and share its commits.
func (s fileEngine) StageChunk(ctx context.Context, id, number int64, data []byte) error {
	return s.writer.do(ctx, func(tx *tx) error {
		if err := s.writer.checkRoom(); err != nil {
			return err
		}
		stmt := tx.stmts.touchFile
		if number == 0 {
			stmt = tx.stmts.stageFile
		}
		err := errors.Join(stmt.BindInt64(1, time.Now().UnixMilli()), stmt.BindInt64(2, id), stmt.Exec())
		if err == nil && number > 0 && tx.stmts.conn.Changes() == 0 {
			return store.ErrNoFile
		}
		if err != nil || len(data) == 0 {
			return classify(err)
		}
		tx.bytes += len(data)
		put := tx.stmts.putChunk
		err = errors.Join(put.BindInt64(1, id), put.BindInt64(2, number), put.BindBlob(3, data), put.Exec())
		return classify(errors.Join(err, put.ClearBindings())) // the copy of the data
	})
}

// minRoom is the room that uploads leave for other writes.
const minRoom = 16 << 20

// checkRoom returns ErrFull while there is less than minRoom for the database to
// grow: on the disk, and in its free pages. Else uploads could fill the disk such
// that even a delete finds no room. What is in the WAL will need room in the
// database, too.
func (w *writer) checkRoom() error {
	var disk unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(w.files[0].name), &disk); err != nil {
		return fmt.Errorf("%w: look for free space: %w", store.ErrUnavailable, err)
	}
	room := int64(disk.Bavail)*int64(disk.Bsize) - w.wal.bytes() //nolint:gosec,unconvert // no disk is larger; types differ between systems
	if room >= minRoom {
		return nil
	}
	free, err := queryInt(w.conn, `PRAGMA freelist_count`)
	if err == nil && room+int64(free)*pageBytes < minRoom {
		err = fmt.Errorf("%w: the last %d MiB are left to submissions without files", store.ErrFull, minRoom>>20)
	}
	return classify(err)
}

// ReadChunk implements engine.FileEngine.
func (s fileEngine) ReadChunk(ctx context.Context, id, number int64, buf []byte) (n int, err error) {
	err = s.pool.with(ctx, func(stmts *readStmts) error {
		n, err = readChunk(stmts.chunk, id, number, buf)
		return err
	})
	return n, err
}

func readChunk(stmt *sqlite3.Stmt, id, number int64, buf []byte) (int, error) {
	defer func() { _ = stmt.Reset() }()
	if err := errors.Join(stmt.BindInt64(1, id), stmt.BindInt64(2, number)); err != nil {
		return 0, err
	}
	if !stmt.Step() {
		if err := stmt.Err(); err != nil {
			return 0, err
		}
		return 0, store.ErrNotFound
	}
	data := stmt.ColumnRawBlob(0)
	if len(data) > len(buf) {
		return 0, fmt.Errorf("a chunk has %d bytes: the database is damaged", len(data))
	}
	return copy(buf, data), stmt.Err()
}

// MarkRemoved implements engine.FileEngine.
func (s fileEngine) MarkRemoved(ctx context.Context, id int64) error {
	return s.writer.do(ctx, func(tx *tx) error {
		return classify(execInts(tx.stmts.conn, `UPDATE loose_files SET removed = 1 WHERE id = ?`, id))
	})
}

// Touch implements engine.FileEngine. To be asked again within a minute changes
// nothing.
func (s fileEngine) Touch(ctx context.Context, ids []int64) error {
	now := time.Now()
	return s.writer.do(ctx, func(tx *tx) error {
		return classify(execInts(tx.stmts.conn, `UPDATE loose_files SET touched = ?1 WHERE touched < ?2 AND removed = 0 AND id IN `+idList(ids),
			now.UnixMilli(), now.Add(-time.Minute).UnixMilli()))
	})
}

// idList is a list of ids in SQL.
func idList(ids []int64) string {
	list := []byte{'('}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, id, 10)
	}
	return string(append(list, ')'))
}

// MarkStale implements engine.FileEngine.
func (s fileEngine) MarkStale(ctx context.Context, age time.Duration) error {
	if loose, err := s.find(ctx, `SELECT EXISTS (SELECT 1 FROM loose_files)`); err != nil || !loose {
		return err
	}
	return s.writer.do(ctx, func(tx *tx) error {
		return classify(execInts(tx.stmts.conn, `UPDATE loose_files SET removed = 1 WHERE removed = 0 AND touched < ?`,
			time.Now().Add(-age).UnixMilli()))
	})
}

// find asks a question that has the answer 0 or 1. A writer that has nothing to
// write would commit for nothing.
func (s fileEngine) find(ctx context.Context, question string) (found bool, err error) {
	err = s.pool.with(ctx, func(stmts *readStmts) error {
		n, err := queryInt(stmts.conn, question)
		found = n != 0
		return err
	})
	return found, err
}

// sqlMoreMarked asks whether more than so many chunks are marked. It reads no more
// than these.
const sqlMoreMarked = `SELECT count(*) > %[1]d FROM
	(SELECT 1 FROM loose_files CROSS JOIN file_chunks ON file = id WHERE removed = 1 LIMIT %[1]d + 1)`

// RemoveSome implements engine.FileEngine.
func (s fileEngine) RemoveSome(ctx context.Context, keep int, reading []int64) (more bool, err error) {
	question := `SELECT EXISTS (SELECT 1 FROM loose_files WHERE removed = 1)` // one without chunks must be removed, too
	if keep > 0 {
		question = fmt.Sprintf(sqlMoreMarked, keep)
	}
	if more, err = s.find(ctx, question); err != nil || !more {
		return false, err
	}
	err = s.writer.do(ctx, func(tx *tx) error {
		conn, id := tx.stmts.conn, int64(0)
		err := queryRow(conn, `SELECT id FROM loose_files WHERE removed = 1 AND id NOT IN `+idList(reading)+` LIMIT 1`,
			func(row *sqlite3.Stmt) { id = row.ColumnInt64(0) })
		if errors.Is(err, store.ErrNotFound) {
			more = false
			return nil
		}
		const first = `DELETE FROM file_chunks WHERE file = ?1 AND number IN
			(SELECT number FROM file_chunks WHERE file = ?1 ORDER BY number LIMIT ?2)`
		if err == nil {
			err = execInts(conn, first, id, engine.RemoveChunks)
		}
		removed := conn.Changes()
		if err == nil && removed < engine.RemoveChunks {
			err = execInts(conn, `DELETE FROM loose_files WHERE id = ?`, id)
		}
		tx.bytes += int(removed) * engine.ChunkBytes
		return classify(err)
	})
	return more, err
}

// execInts runs a statement that is not used often enough to stay prepared.
func execInts(conn *sqlite3.Conn, sql string, args ...int64) error {
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	for i, arg := range args {
		err = errors.Join(err, stmt.BindInt64(i+1, arg))
	}
	if err != nil {
		return err
	}
	return stmt.Exec()
}

// changeFiles makes the contents of a submission follow its files: what is
// new becomes the submission's, and what is gone is marked to be removed. To be
// called within atomically.
func (t *tx) changeFiles(before, after []forms.StoredFile) error {
	added, removed := engine.DiffFiles(before, after)
	for _, id := range added {
		if err := execInts(t.stmts.conn, `DELETE FROM loose_files WHERE id = ? AND removed = 0`, id); err != nil {
			return classify(err)
		}
		if t.stmts.conn.Changes() == 0 {
			return store.ErrNoFile
		}
	}
	for _, id := range removed {
		if err := execInts(t.stmts.conn, `INSERT INTO loose_files VALUES (?, 0, 1)`, id); err != nil {
			return classify(err)
		}
	}
	return nil
}

// atomically runs an operation of several statements that must succeed or fail
// together.
func (t *tx) atomically(run func() error) error {
	if err := t.stmts.conn.Exec(`SAVEPOINT operation`); err != nil {
		return classify(err)
	}
	err := run()
	if err == nil {
		return classify(t.stmts.conn.Exec(`RELEASE operation`))
	}
	t.seen = nil // the numbers of new forms are rolled back with it
	if undo := t.stmts.conn.Exec(`ROLLBACK TO operation; RELEASE operation`); undo != nil {
		return errors.Join(err, undo)
	}
	return err
}
