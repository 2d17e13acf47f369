package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

const (
	sqlStageFile  = `INSERT INTO staged_files (touched, id, removed) VALUES (?, ?, 0)`
	sqlTouchFile  = `UPDATE staged_files SET touched = ? WHERE id = ? AND removed = 0`
	sqlTouchFiles = `UPDATE staged_files SET touched = ?2
		WHERE touched < ?3 AND removed = 0 AND id IN (SELECT value FROM json_each(?1))`
	sqlPutChunk = `INSERT INTO file_chunks (file, number, data) VALUES (?, ?, ?)`
	sqlChunk    = `SELECT data FROM file_chunks WHERE file = ? AND number = ?`

	// sqlNextRemoved returns a marked file that is not among ?2, if more than ?1 chunks
	// are marked. It counts no more than these. ?1 = 0 also finds a file without chunks.
	sqlNextRemoved = `SELECT id FROM staged_files
		WHERE removed = 1 AND id NOT IN (SELECT value FROM json_each(?2)) AND (?1 = 0 OR ?1 < (SELECT count(*) FROM
			(SELECT 1 FROM staged_files m CROSS JOIN file_chunks ON file = m.id WHERE m.removed = 1 LIMIT ?1 + 1)))
		LIMIT 1`
	sqlRemoveChunks = `DELETE FROM file_chunks WHERE file = ?1
		AND number IN (SELECT number FROM file_chunks WHERE file = ?1 ORDER BY number LIMIT ?2)`
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
		sql := sqlTouchFile
		if number == 0 {
			sql = sqlStageFile
		}
		err := tx.conn.run(sql, time.Now().UnixMilli(), id)
		if err == nil && number > 0 && tx.conn.Changes() == 0 {
			return store.ErrNoFile
		}
		if err != nil || len(data) == 0 {
			return err
		}
		tx.bytes += len(data)
		return tx.conn.run(sqlPutChunk, id, number, data)
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
	free, err := w.conn.queryInt(`PRAGMA freelist_count`)
	if err == nil && room+free*pageBytes < minRoom {
		err = fmt.Errorf("%w: the last %d MiB are left to submissions without files", store.ErrFull, minRoom>>20)
	}
	return err
}

// ReadChunk implements engine.FileEngine.
func (s fileEngine) ReadChunk(ctx context.Context, id, number int64, buf []byte) (n int, err error) {
	err = s.pool.with(ctx, func(conn *connection) error {
		n, err = readChunk(conn, id, number, buf)
		return err
	})
	return n, err
}

func readChunk(conn *connection, id, number int64, buf []byte) (size int, err error) {
	err = conn.queryRow(sqlChunk, func(row *sqlite3.Stmt) {
		data := row.ColumnRawBlob(0)
		size = len(data)
		copy(buf, data)
	}, id, number)
	if err == nil && size > len(buf) {
		err = fmt.Errorf("a chunk has %d bytes: the database is damaged", size)
	}
	return size, err
}

// MarkRemoved implements engine.FileEngine.
func (s fileEngine) MarkRemoved(ctx context.Context, id int64) error {
	_, err := s.exec(ctx, `UPDATE staged_files SET removed = 1 WHERE id = ?`, id)
	return err
}

// Touch implements engine.FileEngine. To be asked again within a minute changes
// nothing.
func (s fileEngine) Touch(ctx context.Context, ids []int64) error {
	now := time.Now()
	_, err := s.exec(ctx, sqlTouchFiles, list(ids), now.UnixMilli(), now.Add(-time.Minute).UnixMilli())
	return err
}

// MarkStale implements engine.FileEngine. Without uploads the writer has nothing to do.
func (s fileEngine) MarkStale(ctx context.Context, age time.Duration) error {
	err := s.pool.with(ctx, func(conn *connection) error {
		return conn.queryRow(`SELECT 1 FROM staged_files LIMIT 1`, func(*sqlite3.Stmt) {})
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		_, err = s.exec(ctx, `UPDATE staged_files SET removed = 1 WHERE removed = 0 AND touched < ?`, time.Now().Add(-age).UnixMilli())
	}
	return err
}

// RemoveSome implements engine.FileEngine. It looks for a file on a reading connection:
// most often there is none, and the writer has nothing to do.
func (s fileEngine) RemoveSome(ctx context.Context, moreThan int, reading []int64) (more bool, err error) {
	var id int64
	err = s.pool.with(ctx, func(conn *connection) error {
		read := func(row *sqlite3.Stmt) { id = row.ColumnInt64(0) }
		return conn.queryRow(sqlNextRemoved, read, int64(moreThan), list(reading))
	})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.writer.do(ctx, func(tx *tx) error {
		err := tx.conn.run(sqlRemoveChunks, id, int64(engine.RemoveChunks))
		removed := tx.conn.Changes()
		if err == nil && removed < engine.RemoveChunks {
			err = tx.conn.run(`DELETE FROM staged_files WHERE id = ?`, id)
		}
		tx.bytes += int(removed) * engine.ChunkBytes
		return err
	})
}

// change runs a write of a submission, which returns the row id. It makes the
// contents of the files follow, and stores the events.
func (t *tx) change(before, after []forms.StoredFile, events []store.Event, write func() (rowID int64, err error)) (err error) {
	var rowID int64
	if slices.Equal(before, after) {
		rowID, err = write()
	} else {
		err = t.atomically(func() error {
			if rowID, err = write(); err != nil {
				return err
			}
			return t.changeFiles(before, after)
		})
	}
	if err != nil {
		return err
	}
	err = t.insertEvents(rowID>>idBits, submissionID(rowID), events)
	if err != nil { // the disk is full or faulty: a savepoint for it would cost half of a create
		_ = t.conn.run(sqlRollback)
	}
	return err
}

// changeFiles makes the contents of a submission follow its files: what is
// new becomes the submission's, and what is gone is marked to be removed. To be
// called within atomically.
func (t *tx) changeFiles(before, after []forms.StoredFile) error {
	added, removed := engine.DiffFiles(before, after)
	for _, id := range added {
		if err := t.conn.run(`DELETE FROM staged_files WHERE id = ? AND removed = 0`, id); err != nil {
			return err
		}
		if t.conn.Changes() == 0 {
			return store.ErrNoFile
		}
	}
	for _, id := range removed {
		if err := t.conn.run(`INSERT INTO staged_files VALUES (?, 0, 1)`, id); err != nil {
			return err
		}
	}
	return nil
}

// atomically runs an operation of several statements that must succeed or fail
// together.
func (t *tx) atomically(run func() error) error {
	if err := t.conn.Exec(`SAVEPOINT operation`); err != nil {
		return err
	}
	err := run()
	if err == nil {
		return t.conn.Exec(`RELEASE operation`)
	}
	t.seen = nil // the numbers of new forms are rolled back with it
	if undo := t.conn.Exec(`ROLLBACK TO operation; RELEASE operation`); undo != nil {
		return errors.Join(err, undo)
	}
	return err
}
