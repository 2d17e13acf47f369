package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// logOf sends the log of the store to a buffer.
func logOf(t *testing.T, s *Store) *bytes.Buffer {
	t.Helper()
	log := &bytes.Buffer{}
	onWriter(t, s, func(*connection) error {
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
		onWriter(t, s, func(conn *connection) error {
			return conn.run(`REPLACE INTO file_chunks VALUES (1, 1, zeroblob(?))`, int64(each*pageBytes))
		})
	}
	s.writer.commitMu.Lock() // when the last checkpoint is done
	defer s.writer.commitMu.Unlock()
}

// writerPages is the length of the WAL as the writer knows it.
func writerPages(t *testing.T, s *Store) (pages int) {
	t.Helper()
	onWriter(t, s, func(*connection) error {
		pages = int(s.writer.wal.pages.Load())
		return nil
	})
	return pages
}

// TestCheckpointsFail: no write fails because of it, since the WAL holds
// everything. Failures are logged once, with the reason, and once more when
// checkpoints work again. Ping fails when the WAL is too long.
func TestCheckpointsFail(t *testing.T) {
	dir := t.TempDir()
	s, disk := openOnDisk(t, dir)
	log := logOf(t, s)
	const limit = restartPages + 2000
	onWriter(t, s, func(*connection) error {
		s.writer.wal.limit = limit * frameBytes
		return nil
	})
	disk.fault.Store(&fault{err: syscall.EIO, suffix: FileName})
	mustCreate(t, s, sample("first"))
	grow(t, s, restartPages+1000) // beyond both kinds of checkpoint
	size, failed := int64(s.WALBytes()), s.FailedCheckpoints()
	if size < restartPages*frameBytes || size > walSize(t, dir) || failed < 2 {
		t.Errorf("the WAL has %d bytes, %v checkpoints failed; its file has %d", size, failed, walSize(t, dir))
	}
	reason := "write " + filepath.Join(dir, FileName) + ": input/output error"
	wantLines(t, s, log, map[string]int{"level=ERROR": 1, "check the disk": 1, reason: 1, "work again": 0})
	testkit.ErrorIs(t, "ping below the limit", s.Ping(ctx), nil)

	grow(t, s, 2000)
	if err := s.Ping(ctx); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "write-ahead log") {
		t.Errorf("ping beyond the limit: %v, want %v", err, store.ErrUnavailable)
	}
	mustCreate(t, s, sample("writes go on"))
	wantLines(t, s, log, map[string]int{"level=ERROR": 1})

	disk.fault.Store(nil)
	_ = s.Ping(ctx) // requests a checkpoint, since there may be no writes
	_ = s.Ping(ctx) // the writer has made it before this one
	testkit.ErrorIs(t, "ping, with a disk that works", s.Ping(ctx), nil)
	wantLines(t, s, log, map[string]int{"level=ERROR": 1, "work again": 1})
	storetest.Same(t, "stored", storetest.Values(t, s), map[int64]string{1: "first", 2: "writes go on"})
	checkIntegrity(t, s)
	if pages := writerPages(t, s); pages >= restartPages {
		t.Errorf("the WAL did not start over: %d pages", pages)
	}
}

// TestReadOfAnotherProcess: a long read, such as a backup, makes the WAL longer, and
// no call waits for it. It is logged when it keeps the WAL from being reused for
// long.
func TestReadOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	s, log := openLogged(t, dir)
	mustCreate(t, s, sample("first"))
	other, err := sqlite3.Open(fileURI(filepath.Join(dir, FileName), vfsName))
	must(t, err)
	defer func() { _ = other.Close() }()
	txn := other.Begin()
	if n, err := queryText(other, "SELECT count(*) FROM submissions"); err != nil || n != "1" {
		t.Fatal(n, err)
	}
	waited := false
	onWriter(t, s, func(conn *connection) error { // called by SQLite before it waits for a lock
		return conn.BusyHandler(func(context.Context, int) (retry bool) { waited = true; return false })
	})
	grow(t, s, restartPages+1000)
	if s.FailedCheckpoints() == 0 {
		t.Error("no checkpoint has failed: nothing tested")
	}
	wantLines(t, s, log, map[string]int{"grows": 0})
	grow(t, s, busyPages-restartPages)
	wantLines(t, s, log, map[string]int{"level=WARN": 1, "another process reads the database": 1})
	storetest.Same(t, "read meanwhile", storetest.Values(t, s), map[int64]string{1: "first"})
	must(t, txn.Commit())
	grow(t, s, 2*checkpointPages)
	wantLines(t, s, log, map[string]int{"level=WARN": 1, "work again": 1})
	if pages := writerPages(t, s); pages >= restartPages {
		t.Errorf("the WAL did not start over: %d pages", pages)
	}
	if waited {
		t.Error("a checkpoint waited for the read")
	}
	storetest.Same(t, "busy timeout", writerQuery(t, s, "PRAGMA busy_timeout"), fmt.Sprint(busyTimeout.Milliseconds()))
}

// TestWALStaysBounded: without pauses, overlapping reads would keep SQLite from
// ever reusing the WAL from its start.
func TestWALStaysBounded(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	const writers, rounds, size, bound = 4, 90, 100 << 10, 32 << 20 // 37 MB in all
	mustCreate(t, s, sample("read again and again"))
	var done atomic.Bool
	var readers, writing sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for !done.Load() {
				err := testkit.Each(s.Scan(ctx, store.Query{PageID: 1, FormID: "form", Limit: 1}), func(forms.Submission) error { return nil })
				if err != nil {
					t.Errorf("scan: %v", err)
					return
				}
			}
		})
	}
	var longest atomic.Int64
	for range writers {
		writing.Go(func() {
			for range rounds {
				if _, err := s.Create(ctx, sample(strings.Repeat("x", size))); err != nil {
					t.Errorf("create: %v", err)
					return
				}
				if n := walSize(t, dir); n > longest.Load() {
					longest.Store(n) // another may have a longer one at this moment, and again at the next
				}
			}
		})
	}
	writing.Wait()
	done.Store(true)
	readers.Wait()
	if n := longest.Load(); n >= bound || n < restartPages*4096/2 {
		t.Errorf("the WAL grew to %d bytes; it should have been worth a checkpoint, and stayed below %d", n, bound)
	}
	checkIntegrity(t, s)
}

// TestSnapshots: connections keep their snapshots while nothing is committed. A read sees
// each commit all the same, and no checkpoint waits for an idle connection.
func TestSnapshots(t *testing.T) {
	s := openStore(t, t.TempDir())
	key := store.Key{PageID: 1, FormID: "form", ID: mustCreate(t, s, sample("first")).ID}
	get := func(want string) {
		t.Helper()
		for range 2 * cap(s.pool.slots) { // twice with each connection
			if sub, err := s.Get(ctx, key); err != nil || !strings.Contains(string(sub.Entries), want) {
				t.Fatalf("read %s, %v, want %q", sub.Entries, err, want)
			}
		}
		kept := 0
		for range cap(s.pool.slots) {
			c := <-s.pool.slots
			if !c.GetAutocommit() {
				kept++
			}
			s.pool.slots <- c
		}
		if kept != cap(s.pool.slots) {
			t.Fatalf("%d of %d connections keep their snapshot", kept, cap(s.pool.slots))
		}
	}
	get("first")
	_, err := s.Update(ctx, key, func(_ forms.Submission) (store.Change, error) {
		return store.Change{Entries: sample("second").Entries}, nil
	})
	must(t, err)
	get("second")

	grow(t, s, checkpointPages)
	grow(t, s, 1000)
	if pages := writerPages(t, s); pages >= checkpointPages {
		t.Errorf("the WAL did not start over after a checkpoint: %d pages", pages)
	}
	get("second")
	s.writer.commitMu.Lock()
	s.writer.restartWAL()
	s.writer.commitMu.Unlock()
	if size, failed := s.WALBytes(), s.FailedCheckpoints(); size != 0 || failed != 0 {
		t.Errorf("the WAL has %v bytes, %v checkpoints failed", size, failed)
	}
}
