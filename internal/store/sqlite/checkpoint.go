package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
)

const (
	// checkpointPages is the length of the WAL from which on it is copied
	// back into the database, between two transactions.
	checkpointPages = 2000

	// restartPages is the length from which on reads are paused for one
	// checkpoint: so long a WAL means that overlapping reads kept SQLite from
	// reusing it from its start.
	restartPages = 4000

	// busyPages is the length from which on a read of another process is
	// logged. A backup of a busy store stays below it.
	busyPages = 16_000

	// maxWALBytes is the length from which on Ping fails.
	maxWALBytes = 256 << 20

	// emptyTries is how often to try to empty the WAL.
	emptyTries = 5

	// The format of a WAL: https://sqlite.org/fileformat2.html#walformat. frameBytes is what a page takes in it.
	walHeaderBytes = 32
	frameBytes     = 24 + pageBytes
)

// wal is the state of the WAL. pages and failures may be read by any goroutine.
type wal struct {
	pages    atomic.Int64  // that are in use; the file may be longer
	failures atomic.Int64  // of checkpoints
	failing  bool          // and logged
	limit    int64         // in bytes; maxWALBytes but in tests
	patience time.Duration // with reads of other processes that keep it from being emptied; tests have less
	// checkpointAt is the length of the WAL at which to try next. It moves on
	// with each try: while another process keeps the WAL from being reused, a
	// try after every commit would cost each commit two more syncs.
	checkpointAt int64
}

// bytes is what the file has at least: a header, and the pages in use.
func (w *wal) bytes() int64 {
	if pages := w.pages.Load(); pages > 0 {
		return walHeaderBytes + pages*frameBytes
	}
	return 0
}

func (w *wal) due() bool { return w.pages.Load() >= w.checkpointAt }

// grown is called with the length of the WAL after each commit.
func (w *wal) grown(pages int64) {
	if pages < w.pages.Load() { // it started over
		w.checkpointAt = checkpointPages
	}
	w.pages.Store(pages)
}

// WALBytes is the length of the write-ahead log.
func (s *Store) WALBytes() float64 { return float64(s.writer.wal.bytes()) }

// FailedCheckpoints is how many checkpoints, which make the write-ahead log shorter, have
// failed since the store was opened.
func (s *Store) FailedCheckpoints() float64 { return float64(s.writer.wal.failures.Load()) }

// Ping implements store.Store. It fails when the store can't be written to, or the
// WAL is beyond its limit. It goes through the writer, so that it waits when the
// writer is stuck.
func (s *Store) Ping(ctx context.Context) error {
	return s.writer.do(ctx, func(tx *tx) error {
		if _, err := tx.conn.readLastID(); err != nil {
			return err
		}
		wal := &s.writer.wal
		if bytes := wal.bytes(); bytes > wal.limit {
			wal.checkpointAt = 0 // a server that is not ready may get no writes, so this ping must lead to a checkpoint
			return fmt.Errorf("%w: the write-ahead log has grown to %d MiB, since checkpoints fail: the log says why",
				store.ErrUnavailable, bytes>>20)
		}
		return nil
	})
}

// checkpoint moves the WAL into the database, if it is long enough. It runs
// after the batch was answered, and its failure (a full disk, say) is no
// failure of a write: the WAL holds everything, and it is tried again when that
// has grown further.
func (w *writer) checkpoint() {
	if !w.wal.due() {
		return
	}
	w.wal.checkpointAt = w.wal.pages.Load() + checkpointPages
	if w.wal.pages.Load() < restartPages {
		w.pool.endSnapshots()
		_, _, err := w.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
		w.noteCheckpoint(err)
		return
	}
	w.restartWAL()
}

// restartWAL makes a checkpoint that does not wait for reads of another process, such as a backup: all reads here would
// wait with it.
func (w *writer) restartWAL() { w.noteCheckpoint(w.restart(sqlite3.CHECKPOINT_RESTART, 0)) }

// restart makes a checkpoint after which the WAL is written from its start. Reads are paused meanwhile.
func (w *writer) restart(mode sqlite3.CheckpointMode, patience time.Duration) error {
	release := w.pool.pause()
	defer release()
	_ = w.conn.BusyTimeout(patience)
	defer w.conn.BusyTimeout(busyTimeout)
	_, _, err := w.conn.WALCheckpoint("main", mode)
	if err == nil {
		w.wal.grown(0)
	}
	return err
}

// Purge implements store.Engine. It empties the WAL, in which deleted rows are.
func (s *Store) Purge(ctx context.Context) error {
	if err := s.Files.Purge(ctx); err != nil {
		return err
	}
	return s.writer.emptyWAL(ctx)
}

// emptyWAL waits for reads of other processes for a while. Their writes wait meanwhile, so it tries again.
func (w *writer) emptyWAL(ctx context.Context) (err error) {
	w.commitMu.Lock()
	defer w.commitMu.Unlock()
	if err := w.conn.Exec(sqlCountEmptied); err != nil { // so that a server knows that nothing was lost
		return w.conn.classify(err)
	}
	for range emptyTries {
		if err = w.restart(sqlite3.CHECKPOINT_TRUNCATE, w.wal.patience); err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(w.wal.patience)
	}
	return fmt.Errorf("what was deleted can't be removed from %s now, since another process reads the database, "+
		"such as a backup: run this again when it is done: %w", w.files[1].name, w.conn.classify(err))
}

// noteCheckpoint counts failures, and logs when checkpoints begin to fail and
// when they work again.
func (w *writer) noteCheckpoint(err error) {
	if err == nil {
		if w.wal.failing {
			w.wal.failing = false
			w.log.Info("checkpoints of the write-ahead log work again")
		}
		return
	}
	w.wal.failures.Add(1)
	busy := errors.Is(err, sqlite3.BUSY)
	switch {
	case w.wal.failing || busy && w.wal.pages.Load() < busyPages:
		return
	case busy:
		w.log.Warn("the write-ahead log grows, since another process reads the database: "+
			"end it, or wait until a backup is done",
			"file", w.files[1].name, "bytes", w.wal.bytes())
	default:
		w.log.Error("the write-ahead log grows, since it can't be copied into the database: check the disk",
			"file", w.files[1].name, "bytes", w.wal.bytes(), "error", w.conn.classify(err))
	}
	w.wal.failing = true
}
