package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

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
				err := s.Scan(ctx, store.Query{PageID: 1, FormID: "form", Limit: 1}, func(forms.Submission) error { return nil })
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

// TestReadOfAnotherProcess: a long read, such as a backup, makes the WAL longer, but
// no call waits for it.
func TestReadOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate(t, s, sample("first"))
	backup, err := sqlite3.Open(fileURI(filepath.Join(dir, FileName), vfsName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = backup.Close() }()
	txn := backup.Begin()
	if n, err := queryText(backup, "SELECT count(*) FROM submissions"); err != nil || n != "1" {
		t.Fatal(n, err)
	}
	waited := false
	onWriter(t, s, func(conn *sqlite3.Conn) error { // called by SQLite before it waits for a lock
		return conn.BusyHandler(func(context.Context, int) (retry bool) { waited = true; return false })
	})
	write := func() {
		for range 20 { // of 250 pages each: past restartPages, and then some
			mustCreate(t, s, sample(strings.Repeat("x", 1000<<10)))
			if _, err := s.Get(ctx, store.Key{PageID: 1, FormID: "form", ID: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	write()
	if pages := writerPages(t, s); pages < restartPages {
		t.Errorf("the WAL has %d pages only: nothing tested", pages)
	}
	if err := txn.Commit(); err != nil {
		t.Fatal(err)
	}
	write()
	if pages := writerPages(t, s); pages >= restartPages {
		t.Errorf("the WAL did not start over: %d pages", pages)
	}
	if waited {
		t.Error("a checkpoint waited for the read")
	}
	storetest.Same(t, "busy timeout", writerQuery(t, s, "PRAGMA busy_timeout"), fmt.Sprint(busyTimeout.Milliseconds()))
}

// writerPages is the length of the WAL as the writer knows it.
func writerPages(t *testing.T, s *Store) (pages int) {
	t.Helper()
	onWriter(t, s, func(*sqlite3.Conn) error {
		pages = int(s.writer.wal.pages.Load())
		return nil
	})
	return pages
}
