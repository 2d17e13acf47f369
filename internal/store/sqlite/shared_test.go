package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// openBeside opens the store beside another that has it open.
func openBeside(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(ctx, dir, Options{Shared: true})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// A server reads what another process has deleted no longer, a limit counts it no longer and is not exceeded, and a
// definition that went with it is stored again.
func TestDeletedByAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	s, other := openStore(t, dir), openBeside(t, dir)
	n := sample("x")
	n.Limit, n.Definition = 1, forms.NewDefinition(`{"form":"form"}`)
	for range 3 {
		sub := mustCreate(t, s, n)
		testkit.ErrorIs(t, "a second one", creating(s, n)(), store.ErrLimit)
		must(t, testkit.ErrorOf(s.Definition(ctx, keyOf(sub))))
		for range 3 * cap(s.pool.slots) { // from then on by snapshots that are kept
			must(t, testkit.ErrorOf(s.Get(ctx, keyOf(sub))))
		}
		must(t, other.Delete(ctx, keyOf(sub), nil))
		testkit.Eventually(t, "it is gone", func() bool {
			_, err := s.Get(ctx, keyOf(sub))
			return errors.Is(err, store.ErrNotFound)
		})
	}
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 0)
	must(t, s.Close())
	report, err := Verify(ctx, dir, func(string, string, int64, int64) {})
	if err != nil || report.Submissions != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A server goes on when another process has emptied the WAL, also before it has read anything. A WAL that was cut short
// in another way is still noticed.
func TestEmptiedByAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	s, log := openLogged(t, dir)
	other := openBeside(t, dir)
	wal := filepath.Join(dir, FileName+"-wal")
	for i := range 3 {
		sub := mustCreate(t, s, sample(fmt.Sprint(i)))
		for range 2 * cap(s.pool.slots) { // snapshots, which end by themselves
			must(t, testkit.ErrorOf(s.Get(ctx, keyOf(sub))))
		}
		must(t, other.Purge(ctx))
		storetest.Same(t, "bytes of the WAL", size(wal), int64(0))
		must(t, s.Ping(ctx))
	}
	mustCreate(t, s, sample("after"))
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 4)
	storetest.Same(t, "log", strings.Count(log.String(), "cut short"), 0)
	must(t, os.Truncate(wal, 0))
	testkit.ErrorIs(t, "create", creating(s, sample("lost"))(), store.ErrUnavailable)
}

// No process finds the WAL shorter than it knows, which would be damage, when another has written it from its start.
func TestRestartedByAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	s, log := openLogged(t, dir)
	other, reader := openBeside(t, dir), openForReading(t, dir)
	const cut = 16 << 20
	for range 2 { // each is the one that restarts it, while the other remembers a longer one
		must(t, reader.pool.with(ctx, func(conn *connection) error {
			must(t, conn.Exec(`BEGIN; SELECT * FROM submissions`))
			grow(t, s, restartPages+2000)
			return conn.Exec(`ROLLBACK`)
		}))
		if size := walSize(t, dir); size <= cut {
			t.Fatalf("the WAL has %d bytes, more than %d are wanted", size, cut)
		}
		s, other = other, s
		grow(t, s, 5000)
		must(t, s.Ping(ctx))
		must(t, other.Ping(ctx))
	}
	storetest.Same(t, "log", strings.Count(log.String(), "cut short"), 0)
	if size := walSize(t, dir); size > cut {
		t.Errorf("the server has left %d bytes of the WAL", size)
	}
}

// Purge says which file has deleted rows for as long as another process reads.
func TestPurgeWhileAnotherProcessReads(t *testing.T) {
	dir := t.TempDir()
	s, reader := openStore(t, dir), openForReading(t, dir)
	s.writer.wal.patience = time.Millisecond
	mustCreate(t, s, sample("x"))
	err := testkit.Each(reader.Scan(ctx, store.Query{PageID: 1, FormID: "form"}), func(forms.Submission) error {
		return reader.pool.with(ctx, func(conn *connection) error {
			must(t, conn.Exec(`BEGIN; SELECT * FROM submissions`))
			err := s.Purge(ctx)
			must(t, conn.Exec(`ROLLBACK`))
			return err
		})
	})
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), FileName+"-wal") {
		t.Errorf("purge: %v", err)
	}
	must(t, s.Purge(ctx))
}

// Nothing that was deleted is in the files, wherever SQLite has moved it before: rows of several sizes are stored
// among others, and changed.
func TestDeletedBytes(t *testing.T) {
	dir := t.TempDir()
	s, other := openStore(t, dir), openBeside(t, dir)
	random := rand.New(rand.NewPCG(1, 2))
	text := func(word string) string {
		return strings.Repeat(word, 1+random.IntN([]int{30, 300, 2000}[random.IntN(3)])/len(word))
	}
	var deleted []store.Key
	for i := range testkit.Rounds(600, 3000) {
		n := sample(text("kept "))
		n.FormID = fmt.Sprint("form", i%2)
		if i%3 == 0 {
			n.Username, n.Entries[0].Value = fmt.Sprint("secret-name", i), text("secret-answer ")
			n.SubmitterKey = "user:" + n.Username
		}
		sub := mustCreate(t, s, n)
		if i%3 == 0 {
			deleted = append(deleted, keyOf(sub))
		}
		_, err := s.Update(ctx, deleted[random.IntN(len(deleted))], func(forms.Submission) (store.Change, error) {
			now := time.UnixMilli(int64(i)).UTC()
			return store.Change{
				Entries: []forms.Entry{{FieldID: "field", Value: text("secret-answer ")}}, Changed: now, Changer: "secret-name",
				Step: &store.Step{At: now, Username: "secret-name", Before: map[string]string{"field": text("secret-answer ")}},
			}, nil
		})
		must(t, err)
	}
	for _, key := range deleted {
		must(t, other.Delete(ctx, key, nil))
	}
	must(t, other.Purge(ctx))
	wantNotIn(t, dir, "secret-")
	for range 50 { // the server does not write what it had in memory
		mustCreate(t, s, sample(text("kept ")))
	}
	wantNotIn(t, dir, "secret-")
}

func wantNotIn(t *testing.T, dir, word string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	must(t, err)
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		must(t, err)
		if n := bytes.Count(content, []byte(word)); n > 0 {
			t.Errorf("%s has %q %d times", f.Name(), word, n)
		}
	}
}

func TestClearGap(t *testing.T) {
	page := func(head ...byte) []byte { return append(head, bytes.Repeat([]byte{0xee}, pageBytes-len(head))...) }
	for _, c := range []struct {
		what       string
		page       []byte
		start, end int
	}{
		{"a leaf of a table, with 3 cells from 0x0100 on", page(13, 0, 0, 0, 3, 1, 0, 0), 8 + 6, 0x100},
		{"a leaf of an index without cells", page(10, 0, 0, 0, 0, 0x0f, 0xf8, 0), 8, 0xff8},
		{"an interior page of a table", page(5, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 9), 12 + 2, 0x100},
		{"an interior page of an index", page(2, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 9), 12 + 2, 0x100},
		{"a full page", page(13, 0, 0, 0, 4, 0, 16, 0), 0, 0},
		{"an impossible page", page(13, 0, 0, 0, 4, 0xff, 0xff, 0), 0, 0},
		{"an overflow page", page(0, 0, 0, 13, 0, 1, 0, 0), 0, 0},
		{"an overflow page before the last that can be", page(maxPages>>24, 0xff, 0xff, 0xff, 0, 1, 0, 0), 0, 0},
		{"the first page", page([]byte("SQLite format 3\x00")...), 0, 0},
	} {
		want := bytes.Clone(c.page)
		clear(want[c.start:c.end])
		if clearGap(c.page); !bytes.Equal(c.page, want) {
			t.Errorf("%s: % x", c.what, c.page[:20])
		}
	}
}

// What SQLite has moved away from a page is not in a backup either, and a restored keep waits for a day.
func TestBackupHasNoGaps(t *testing.T) {
	dir, file, restored := t.TempDir(), filepath.Join(t.TempDir(), "backup"), t.TempDir()
	s := openStore(t, dir)
	for i := range 900 {
		n := sample("x")
		n.Username = fmt.Sprint("name-of-a-person-", i*7919%900)
		n.SubmitterKey = "user:" + n.Username
		mustCreate(t, s, n)
	}
	old := store.Keep{PageID: 1, FormID: "form", Period: forms.Period{N: 1, Unit: "day"}, Since: time.UnixMilli(1), Before: forms.Period{N: 2, Unit: "day"}}
	must(t, s.LoadKeeps(ctx, []store.Keep{old}))
	must(t, s.Close())
	must(t, Backup(ctx, dir, file, noProgress))
	data, err := os.ReadFile(file)
	must(t, err)
	for number := 1; number < len(data)/pageBytes; number++ {
		page := data[number*pageBytes:][:pageBytes]
		cleared := bytes.Clone(page)
		if clearGap(cleared); !bytes.Equal(page, cleared) {
			t.Errorf("page %d has something in its gap", number+1)
		}
	}
	must(t, restore(ctx, file, restored))
	keep, err := openStore(t, restored).Keep(ctx, 1, "form")
	if err != nil || keep.Now.Sub(keep.Since) > time.Hour || keep.InForce(keep.Now) != (forms.Period{}) {
		t.Errorf("%+v, %v", keep, err)
	}
}

// A WAL that is lost together with its index is damage: no process has emptied it.
func TestLostWithItsIndex(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate(t, s, sample("in the database"))
	must(t, s.Close())
	s = openStore(t, dir)
	for range 5 {
		mustCreate(t, s, sample("acknowledged"))
	}
	path := filepath.Join(dir, FileName)
	must(t, os.Truncate(path+"-wal", 0))
	index, err := os.OpenFile(path+"-shm", os.O_WRONLY, 0)
	must(t, err)
	_, err = index.Write(make([]byte, size(path+"-shm")))
	must(t, errors.Join(err, index.Close()))
	testkit.ErrorIs(t, "a create after it", testkit.ErrorOf(s.Create(ctx, sample("would be lost"))), store.ErrUnavailable)
}
