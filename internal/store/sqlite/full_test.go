package sqlite

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

// limitPages limits the database to its present size and some more pages.
func limitPages(t *testing.T, s *Store, more int64) {
	t.Helper()
	onWriter(t, s, func(conn *sqlite3.Conn) error {
		pages, err := queryInt(conn, "PRAGMA page_count")
		if err != nil {
			return err
		}
		return conn.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages+more))
	})
}

func mustBeFull(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("%s: %v, want %v", what, err, store.ErrFull)
	}
}

func TestFull(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	stored := map[int64]string{}
	create := func(value string) error {
		sub, err := s.Create(ctx, sample(value))
		if err == nil {
			stored[sub.ID] = value
		}
		return err
	}
	for i := range 10 {
		if err := create(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	limitPages(t, s, 10)
	mustBeFull(t, "create", create(strings.Repeat("x", 100<<10)))
	storetest.Same(t, "stored", storetest.Values(t, s), stored)

	var err error
	for i := 0; err == nil && i < 1000; i++ { // until nothing fits any more
		err = create(strings.Repeat("y", 1000))
	}
	mustBeFull(t, "one create too many", err)
	storetest.Same(t, "stored", storetest.Values(t, s), stored)
	key := store.Key{PageID: 1, FormID: "form", ID: 1}
	_, err = s.Update(ctx, key, func(forms.Submission) (store.Change, error) {
		return store.Change{Entries: []forms.Entry{{FieldID: "field", Value: strings.Repeat("z", 50<<10)}}}, nil
	})
	mustBeFull(t, "update", err)
	storetest.Same(t, "stored", storetest.Values(t, s), stored)

	limitPages(t, s, 1000)
	last := int64(len(stored))
	if err := create("there is room again"); err != nil || stored[last+1] == "" {
		t.Errorf("create: %v; ids %d and on were not to be used up", err, last+1)
	}
	checkIntegrity(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "stored, after a restart", storetest.Values(t, openStore(t, dir)), stored)
}

// TestFullForOne: an operation that is too large does not fail the others of its
// batch.
func TestFullForOne(t *testing.T) {
	s := openStore(t, t.TempDir())
	big := mustCreate(t, s, sample(strings.Repeat("x", 60<<10)))
	stored := map[int64]string{}
	if err := s.Delete(ctx, store.Key{PageID: 1, FormID: "form", ID: big.ID}, nil); err != nil {
		t.Fatal(err)
	}
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
