package sqlite

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"strings"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// limitPages limits the database to its present size and some more pages.
func limitPages(t *testing.T, s *Store, more int64) {
	t.Helper()
	onWriter(t, s, func(conn *connection) error {
		pages, err := conn.queryInt("PRAGMA page_count")
		if err != nil {
			return err
		}
		return conn.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages+more))
	})
}

func mustBeFull(t *testing.T, what string, err error) {
	t.Helper()
	testkit.ErrorIs(t, what, err, store.ErrFull)
}

// TestFullForOne: an operation that is too large does not fail the others of its
// batch.
func TestFullForOne(t *testing.T) {
	s := openStore(t, t.TempDir())
	big := mustCreate(t, s, sample(strings.Repeat("x", 60<<10)))
	stored := map[int64]string{}
	must(t, s.Delete(ctx, keyOf(big), nil))
	limitPages(t, s, 0) // room is where the big one was
	var ops []func() error
	for i := range 9 {
		ops = append(ops, creating(s, sample(fmt.Sprint(i))))
		if i != 4 {
			stored[int64(len(stored)+2)] = fmt.Sprint(i)
		}
	}
	ops[4] = creating(s, sample(strings.Repeat("x", 1<<20)))
	for i, err := range oneBatch(t, s, ops...) {
		if i == 4 {
			mustBeFull(t, "the large one", err)
		} else if err != nil {
			t.Errorf("number %d: %v", i, err)
		}
	}
	storetest.Same(t, "stored", storetest.Values(t, s), maps.Clone(stored))
	checkIntegrity(t, s)
}

// TestFullWALStartsOver: a WAL that finds no more room is copied into the
// database, and written from its start.
func TestFullWALStartsOver(t *testing.T) {
	dir := t.TempDir()
	s, disk := openOnDisk(t, dir)
	disk.fault.Store(&fault{err: syscall.ENOSPC, suffix: "-wal", size: 1 << 20})
	const count = 40
	for range count {
		mustCreate(t, s, sample(strings.Repeat("x", 100<<10)))
	}
	storetest.Same(t, "stored", len(storetest.Values(t, s)), count)
	mustBeFull(t, "create of what the WAL can't hold", creating(s, sample(strings.Repeat("x", 2<<20)))())
	checkIntegrity(t, s)
}

// TestFullDiskCutsOffAnUpload: what was stored of it is removed after a write that finds room again.
func TestFullDiskCutsOffAnUpload(t *testing.T) {
	s, disk := openOnDisk(t, t.TempDir())
	fills := readerFunc(func([]byte) (int, error) {
		disk.fault.Store(&fault{err: syscall.ENOSPC})
		return 0, io.EOF
	})
	chunk := make([]byte, engine.ChunkBytes)
	_, err := s.StageFile(ctx, io.MultiReader(bytes.NewReader(chunk), fills, bytes.NewReader(chunk)))
	mustBeFull(t, "an upload", err)
	mustBeFull(t, "a create", creating(s, sample("x"))())
	disk.fault.Store(nil)
	testkit.Eventually(t, "the upload is removed", func() bool {
		mustCreate(t, s, sample("x"))
		return writerQuery(t, s, `SELECT (SELECT count(*) FROM file_chunks) + (SELECT count(*) FROM staged_files)`) == "0"
	})
}
