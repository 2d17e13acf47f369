package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// walSize is the length of the WAL file. Not all of it need be in use.
func walSize(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, FileName+"-wal"))
	must(t, err)
	return info.Size()
}

// TestDiskFaults: while the disk fails, writes return an error with its cause and
// store nothing, and reads succeed. Writes succeed again as soon as the disk works.
func TestDiskFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault fault
		want  error
	}{
		"full":                      {fault{err: syscall.ENOSPC}, store.ErrFull},
		"over quota":                {fault{err: syscall.EDQUOT}, store.ErrFull},
		"full within a transaction": {fault{err: syscall.ENOSPC, suffix: "-wal", size: 40 << 10}, store.ErrFull},
		"writes fail":               {fault{err: syscall.EIO}, store.ErrUnavailable},
		"syncs fail":                {fault{err: syscall.EIO, syncs: true}, store.ErrUnavailable},
		// The write may be on the disk already. ErrFull would promise that it is not.
		"full on sync": {fault{err: syscall.ENOSPC, syncs: true}, store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) { testDiskFault(t, &c.fault, c.want) })
	}
}

func testDiskFault(t *testing.T, x *fault, want error) {
	dir := t.TempDir()
	s, disk := openOnDisk(t, dir)
	stored := map[int64]string{1: "before"}
	mustCreate(t, s, sample("before"))

	disk.fault.Store(x)
	operation := "write " + filepath.Join(dir, FileName)
	if x.syncs {
		operation = "sync " + filepath.Join(dir, FileName)
	}
	// The last one does not fit the cache, so SQLite writes to the disk before the commit.
	for _, size := range []int{50 << 10, 100 << 10, 12 << 20} {
		if _, err := s.Create(ctx, sample(strings.Repeat("x", size))); !errors.Is(err, want) || !strings.Contains(err.Error(), operation) || !strings.Contains(err.Error(), x.err.Error()) {
			t.Errorf("create of %d bytes: %v, want %v because of %s: %v", size, err, want, operation, x.err)
		}
		storetest.Same(t, "stored", storetest.Values(t, s), stored)
	}
	disk.fault.Store(nil)

	for id := int64(2); id < 5; id++ { // failed creates use up no ids
		stored[id] = fmt.Sprint("after", id)
		storetest.Same(t, "id", mustCreate(t, s, sample(stored[id])).ID, id)
	}
	storetest.Same(t, "stored", storetest.Values(t, s), stored)
	checkIntegrity(t, s)
	must(t, s.Close())
	again := openStore(t, dir)
	storetest.Same(t, "stored, after a restart", storetest.Values(t, again), stored)
	storetest.Same(t, "id, after a restart", mustCreate(t, again, sample("x")).ID, int64(5))
}

// TestCommitFailsForAll: when the commit fails, all operations of the batch fail
// with its error, also those that had failed by themselves.
func TestCommitFailsForAll(t *testing.T) {
	s, disk := openOnDisk(t, t.TempDir())
	mustCreate(t, s, sample("before"))
	first := store.Key{PageID: 1, FormID: "form", ID: 1}
	disk.fault.Store(&fault{err: syscall.EIO, syncs: true})
	errs := oneBatch(t, s,
		creating(s, sample("x")),
		creating(s, withSubmitterKey(sample("y"), "key")),
		creating(s, withSubmitterKey(sample("z"), "key")), // the first with this key is not stored after all
		func() error { return s.Delete(ctx, first, nil) },
		func() error { return s.Delete(ctx, first, nil) }, // the first delete did not happen after all
	)
	for i, err := range errs {
		testkit.ErrorIs(t, i, err, store.ErrUnavailable)
	}
	disk.fault.Store(nil)
	storetest.Same(t, "stored", storetest.Values(t, s), map[int64]string{1: "before"})
	sub := mustCreate(t, s, withSubmitterKey(sample("after"), "key"))
	storetest.Same(t, "id", sub.ID, int64(2))
	storetest.Same(t, "entries", string(sub.Entries), `{"field":{"id":16385,"fieldId":"field","value":"after"}}`)
}

// TestDiskFullForOne is TestFullForOne where the disk is full only once the
// transaction is written out.
func TestDiskFullForOne(t *testing.T) {
	dir := t.TempDir()
	s, disk := openOnDisk(t, dir)
	disk.fault.Store(&fault{err: syscall.ENOSPC, suffix: "-wal", size: walSize(t, dir) + 200<<10})
	errs := oneBatch(t, s,
		creating(s, sample("small")), creating(s, sample(strings.Repeat("x", 1<<20))), creating(s, sample("too")))
	storetest.Same(t, "those that fit", []error{errs[0], errs[2]}, []error{nil, nil})
	mustBeFull(t, "the large one", errs[1])
	storetest.Same(t, "stored", storetest.Values(t, s), map[int64]string{1: "small", 2: "too"})
}
