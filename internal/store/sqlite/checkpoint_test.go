package sqlite

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
)

// logOf sends the log of the store to a buffer.
func logOf(t *testing.T, s *Store) *bytes.Buffer {
	t.Helper()
	log := &bytes.Buffer{}
	onWriter(t, s, func(*sqlite3.Conn) error {
		s.writer.log = slog.New(slog.NewTextHandler(log, nil))
		return nil
	})
	return log
}

// wantLines counts lines of the log, after the writer has finished.
func wantLines(t *testing.T, s *Store, log *bytes.Buffer, want map[string]int) {
	t.Helper()
	s.writer.commitMu.Lock()
	defer s.writer.commitMu.Unlock()
	for line, times := range want {
		if n := strings.Count(log.String(), line); n != times {
			t.Errorf("the log says %q %d times, want %d:\n%s", line, n, times, log)
		}
	}
}

// grow makes the WAL longer by about so many pages, unless SQLite reuses it from its start.
func grow(t *testing.T, s *Store, pages int) {
	t.Helper()
	const each = 1000
	for range pages / each {
		s.writer.lastSingle.Store(false) // through the queue, so that a checkpoint follows
		mustCreate(t, s, sample(strings.Repeat("x", each*pageBytes)))
	}
	s.writer.commitMu.Lock() // when the last checkpoint is done
	defer s.writer.commitMu.Unlock()
}

// TestFailingCheckpointsAreLogged: failures are logged once, with the reason, and
// once more when checkpoints work again. Ping fails when the WAL is too long.
func TestFailingCheckpointsAreLogged(t *testing.T) {
	dir := t.TempDir()
	s, disk := openOnDisk(t, dir)
	log := logOf(t, s)
	onWriter(t, s, func(*sqlite3.Conn) error {
		s.writer.wal.limit = 4 * restartPages * frameBytes
		return nil
	})
	disk.fault.Store(&fault{err: syscall.EIO, suffix: FileName})
	grow(t, s, 2*restartPages)
	size, failed := s.WAL()
	if size < 2*restartPages*frameBytes || size > walSize(t, dir) || failed < 2 {
		t.Errorf("the WAL has %d bytes, %d checkpoints failed; its file has %d", size, failed, walSize(t, dir))
	}
	reason := "write " + filepath.Join(dir, FileName) + ": input/output error"
	wantLines(t, s, log, map[string]int{"level=ERROR": 1, "check the disk": 1, reason: 1, "work again": 0})
	if err := s.Ping(ctx); err != nil {
		t.Errorf("ping below the limit: %v", err)
	}

	grow(t, s, 3*restartPages)
	if err := s.Ping(ctx); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "write-ahead log") {
		t.Errorf("ping beyond the limit: %v, want %v", err, store.ErrUnavailable)
	}
	mustCreate(t, s, sample("writes go on"))
	wantLines(t, s, log, map[string]int{"level=ERROR": 1})

	disk.fault.Store(nil)
	_ = s.Ping(ctx) // requests a checkpoint, since there may be no writes
	_ = s.Ping(ctx) // the writer has made it before this one
	if err := s.Ping(ctx); err != nil {
		t.Errorf("ping, with a disk that works: %v", err)
	}
	wantLines(t, s, log, map[string]int{"level=ERROR": 1, "work again": 1})
}

// TestLongReadIsLogged: a read of another process is logged when it keeps the
// WAL from being reused for long.
func TestLongReadIsLogged(t *testing.T) {
	dir := t.TempDir()
	s, log := openLogged(t, dir)
	mustCreate(t, s, sample("first"))
	other, err := sqlite3.Open(fileURI(filepath.Join(dir, FileName), vfsName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	txn := other.Begin()
	if _, err := queryText(other, "SELECT count(*) FROM submissions"); err != nil {
		t.Fatal(err)
	}
	grow(t, s, 2*restartPages)
	if _, failed := s.WAL(); failed == 0 {
		t.Error("no checkpoint has failed: nothing tested")
	}
	wantLines(t, s, log, map[string]int{"grows": 0})
	grow(t, s, busyPages)
	wantLines(t, s, log, map[string]int{"level=WARN": 1, "another process reads the database": 1})
	if err := txn.Commit(); err != nil {
		t.Fatal(err)
	}
	grow(t, s, restartPages)
	wantLines(t, s, log, map[string]int{"level=WARN": 1, "work again": 1})
	if size, _ := s.WAL(); size >= restartPages*frameBytes {
		t.Errorf("the WAL has %d bytes: it did not start over", size)
	}
}
