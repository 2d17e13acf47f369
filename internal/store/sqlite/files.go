package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
		err := run(stmt, time.Now().UnixMilli(), id)
		if err == nil && number > 0 && tx.stmts.conn.Changes() == 0 {
			return store.ErrNoFile
		}
		if err != nil || len(data) == 0 {
			return classify(err)
		}
		tx.bytes += len(data)
		put := tx.stmts.putChunk
		err = run(put, id, number, data)
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
	if err == nil && room+free*pageBytes < minRoom {
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

func readChunk(stmt *sqlite3.Stmt, id, number int64, buf []byte) (n int, err error) {
	size := -1
	err = query(stmt, func() bool {
		data := stmt.ColumnRawBlob(0)
		n, size = copy(buf, data), len(data)
		return false
	}, id, number)
	switch {
	case err != nil:
		return 0, err
	case size < 0:
		return 0, store.ErrNotFound
	case size > len(buf):
		return 0, fmt.Errorf("a chunk has %d bytes: the database is damaged", size)
	}
	return n, nil
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
	_, err := s.exec(ctx, `UPDATE staged_files SET touched = ?1 WHERE touched < ?2 AND removed = 0 AND id IN `+idList(ids),
		now.UnixMilli(), now.Add(-time.Minute).UnixMilli())
	return err
}

// idList is a list of ids in SQL.
func idList(ids []int64) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatInt(id, 10)
	}
	return "(" + strings.Join(list, ",") + ")"
}

// MarkStale implements engine.FileEngine.
func (s fileEngine) MarkStale(ctx context.Context, age time.Duration) error {
	if found, err := s.ask(ctx, `SELECT EXISTS (SELECT 1 FROM staged_files)`); err != nil || !found {
		return err
	}
	_, err := s.exec(ctx, `UPDATE staged_files SET removed = 1 WHERE removed = 0 AND touched < ?`, time.Now().Add(-age).UnixMilli())
	return err
}

// ask asks a question whose answer is 0 or 1. It spares the writer work: most
// often there is nothing to remove.
func (s fileEngine) ask(ctx context.Context, question string) (yes bool, err error) {
	err = s.pool.with(ctx, func(stmts *readStmts) error {
		n, err := queryInt(stmts.conn, question)
		yes = n != 0
		return err
	})
	return yes, err
}

// sqlMoreMarked asks whether more than so many chunks are marked. It reads no more
// than these.
const sqlMoreMarked = `SELECT count(*) > %[1]d FROM
	(SELECT 1 FROM staged_files CROSS JOIN file_chunks ON file = id WHERE removed = 1 LIMIT %[1]d + 1)`

// RemoveSome implements engine.FileEngine.
func (s fileEngine) RemoveSome(ctx context.Context, moreThan int, reading []int64) (more bool, err error) {
	question := `SELECT EXISTS (SELECT 1 FROM staged_files WHERE removed = 1)` // one without chunks must be removed, too
	if moreThan > 0 {
		question = fmt.Sprintf(sqlMoreMarked, moreThan)
	}
	if more, err = s.ask(ctx, question); err != nil || !more {
		return false, err
	}
	err = s.writer.do(ctx, func(tx *tx) error {
		conn, id, removed := tx.stmts.conn, int64(0), int64(0)
		err := queryRow(conn, `SELECT id FROM staged_files WHERE removed = 1 AND id NOT IN `+idList(reading)+` LIMIT 1`,
			func(row *sqlite3.Stmt) { id = row.ColumnInt64(0) })
		if errors.Is(err, store.ErrNotFound) {
			more = false
			return nil
		}
		const first = `DELETE FROM file_chunks WHERE file = ?1 AND number IN
			(SELECT number FROM file_chunks WHERE file = ?1 ORDER BY number LIMIT ?2)`
		if err == nil {
			removed, err = execute(conn, first, id, int64(engine.RemoveChunks))
		}
		if err == nil && removed < engine.RemoveChunks {
			_, err = execute(conn, `DELETE FROM staged_files WHERE id = ?`, id)
		}
		tx.bytes += int(removed) * engine.ChunkBytes
		return classify(err)
	})
	return more, err
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
		_ = t.stmts.rollback.Exec()
	}
	return err
}

// changeFiles makes the contents of a submission follow its files: what is
// new becomes the submission's, and what is gone is marked to be removed. To be
// called within atomically.
func (t *tx) changeFiles(before, after []forms.StoredFile) error {
	added, removed := engine.DiffFiles(before, after)
	for _, id := range added {
		changed, err := execute(t.stmts.conn, `DELETE FROM staged_files WHERE id = ? AND removed = 0`, id)
		if err != nil {
			return classify(err)
		}
		if changed == 0 {
			return store.ErrNoFile
		}
	}
	for _, id := range removed {
		if _, err := execute(t.stmts.conn, `INSERT INTO staged_files VALUES (?, 0, 1)`, id); err != nil {
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
