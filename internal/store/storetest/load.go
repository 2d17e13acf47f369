package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var loadTests = []test{
	{"what is dumped can be loaded, with all that is known of it", testLoad},
	{"limits hold for what was loaded", testLoadOnce},
	{"ids after a load are higher", testLoadIDs},
	{"a load stores all or none", testLoadExists},
	{"ids that no store assigns are not loaded", testLoadWrongIDs},
	{"the last id is known", testLastID},
	{"ids advance, and never go back", testAdvance},
	{"ids stay unique while they advance", testAdvanceConcurrently},
}

// archived is all that is stored, as Load takes it.
func (b *bench) archived(t *testing.T) []store.Record {
	t.Helper()
	var records []store.Record
	err := EachDumped(b.Dump(ctx), func(r store.Record) error {
		r.Entries = slices.Clone(r.Entries)
		records = append(records, r)
		return nil
	}, nil)
	if err != nil {
		t.Fatalf("dump: %v", err)
	}
	return records
}

func (b *bench) load(t *testing.T, records ...store.Record) {
	t.Helper()
	if err := b.Load(ctx, records); err != nil {
		t.Fatalf("load: %v", err)
	}
}

// loadable is a submission as another store may have kept it, with entries of
// these numbers.
func loadable(formID string, id int64, numbers ...int64) store.Record {
	var entries []forms.Entry
	for i, number := range numbers {
		entries = append(entries, forms.Entry{ID: 8192*id + number, FieldID: fmt.Sprint("f", i), Value: "loaded"})
	}
	return store.Record{Submission: forms.Submission{
		ID: id, PageID: 1, FormID: formID, Username: "amy", Created: created, Entries: forms.EncodeEntries(nil, entries),
	}}
}

func testLoad(t *testing.T, b *bench) {
	want := b.fillForms(t)
	for _, r := range b.fill(t, "many", 300, 200) {
		want = append(want, row{record: r})
	}
	sortRows(want)
	records := b.archived(t)
	other := b.another(t)
	other.load(t)
	other.load(t, records[:20]...)
	slices.Reverse(records[20:]) // the order does not matter
	other.load(t, records[20:]...)
	Same(t, "the copy", other.dump(t), want)
	for _, r := range want[:20] {
		Same(t, "found", other.get(t, r.key()), r.record)
	}
	Same(t, "listed", other.all(t, "many"), b.all(t, "many"))
	Same(t, "the original", b.dump(t), want)
}

func testLoadOnce(t *testing.T, b *bench) {
	named, anonymous := withSubmitterKey(sample("form", "amy", "x"), "amy"), withSubmitterKey(sample("form", "", "x"), "hash")
	first, second := b.create(t, named), b.create(t, anonymous)
	b.create(t, sample("form", "bob", "from before the limit"))
	other := b.another(t)
	other.load(t, b.archived(t)...)
	other.refused(t, "a named user", named)
	other.refused(t, "an anonymous one", anonymous)
	other.refused(t, "one from before the limit", withSubmitterKey(sample("form", "bob", "x"), "bob"))
	other.create(t, withSubmitterKey(sample("form", "cid", "x"), "cid"))
	other.delete(t, first.key())
	other.delete(t, second.key())
	other.create(t, named)
	other.create(t, anonymous)
}

func testLoadIDs(t *testing.T, b *bench) {
	b.create(t, sample("form", "amy", "x")) // an engine that reserves ids has reserved some now
	loaded := loadable("form", 50, 2, 700, 3)
	b.load(t, loaded, loadable("form", 40))
	for range 2 {
		if next := b.create(t, sample("form", "amy", "x")); next.ID <= 50 {
			t.Errorf("id %d, after 50 was loaded", next.ID)
		}
		b.reopen(t)
	}
	sub, err := b.Update(ctx, store.Key{PageID: 1, FormID: "form", ID: 50}, set(t, "added", "y"))
	if err != nil {
		t.Fatal(err)
	}
	Same(t, "the next number", decode(t, sub).Entries[3].ID, int64(50*8192+701))
	last := b.all(t, "form")
	b.load(t, loadable("form", 7, 30)) // far below the last id
	if next := b.create(t, sample("form", "amy", "x")); next.ID <= last[len(last)-1].ID {
		t.Errorf("id %d, after %d", next.ID, last[len(last)-1].ID)
	}
}

func testLoadExists(t *testing.T, b *bench) {
	stored := b.create(t, withSubmitterKey(sample("form", "amy", "x"), "amy"))
	want := b.dump(t)
	limited := loadable("form", 31)
	limited.SubmitterKey = "amy"
	for what, records := range map[string][]store.Record{
		"one that is stored, last":  {loadable("form", 10, 50), loadable("form", 11), loadable("form", stored.ID)},
		"one that is stored, first": {loadable("form", stored.ID), loadable("form", 10)},
		"one twice":                 {loadable("form", 20), loadable("form", 21), loadable("form", 20)},
	} {
		if err := b.Load(ctx, records); !errors.Is(err, store.ErrExists) {
			t.Errorf("%s: %v, want %v", what, err, store.ErrExists)
		}
		Same(t, what, b.dump(t), want)
	}
	if err := b.Load(ctx, []store.Record{loadable("form", 30), limited}); !errors.Is(err, store.ErrAlreadySubmitted) {
		t.Errorf("a second of the same submitter: %v, want %v", err, store.ErrAlreadySubmitted)
	}
	Same(t, "after a second of the same submitter", b.dump(t), want)
	keyed, repeat := loadable("form", 32), loadable("form", 33)
	keyed.Key, repeat.Key = "key", "key"
	if err := b.Load(ctx, []store.Record{keyed, repeat}); !errors.Is(err, store.ErrKeyUsed) {
		t.Errorf("a second with the same key: %v, want %v", err, store.ErrKeyUsed)
	}
	Same(t, "after a second with the same key", b.dump(t), want)
	b.load(t, loadable("form", 10, 50), loadable("form", 20)) // the failed loads left nothing
	b.checkCount(t, 3)
}

func testLoadWrongIDs(t *testing.T, b *bench) {
	other := loadable("form", 3, 1)
	other.ID = 4
	broken := loadable("form", 5)
	broken.Entries = broken.Entries[:1]
	for what, r := range map[string]store.Record{
		"0": loadable("form", 0), "-1": loadable("form", -1), "too high": loadable("form", forms.MaxSubmissionID+1),
		"entries of another submission": other, "no entries": broken, "entry 0": loadable("form", 6, 0),
	} {
		if err := b.Load(ctx, []store.Record{loadable("form", 2), r}); err == nil {
			t.Errorf("%s was loaded", what)
		}
	}
	b.checkCount(t, 0)
	b.load(t, loadable("form", forms.MaxSubmissionID, forms.MaxEntries))
	if _, err := b.Create(ctx, sample("form", "amy", "x")); err == nil {
		t.Error("created beyond the last id")
	}
}

func (b *bench) lastID(t *testing.T) int64 {
	t.Helper()
	last, err := b.LastID(ctx)
	if err != nil {
		t.Fatalf("last id: %v", err)
	}
	return last
}

// checkNext creates a submission and checks that its id is higher.
func (b *bench) checkNext(t *testing.T, what string, last int64) record {
	t.Helper()
	r := b.create(t, sample("form", "amy", "x"))
	if r.ID <= last {
		t.Errorf("%s: id %d, which is not beyond %d", what, r.ID, last)
	}
	return r
}

func testLastID(t *testing.T, b *bench) {
	Same(t, "of an empty store", b.lastID(t), int64(0))
	for range 3 {
		r := b.create(t, sample("form", "amy", "x", "y"))
		last := b.lastID(t)
		if last < r.ID {
			t.Errorf("last id %d, after id %d", last, r.ID)
		}
		b.delete(t, r.key())
		b.checkNext(t, "after a delete", last)
		last = b.lastID(t)
		b.reopen(t)
		b.checkNext(t, "after a restart", last)
	}
}

func (b *bench) advance(t *testing.T, to int64) {
	t.Helper()
	if err := b.Advance(ctx, to); err != nil {
		t.Fatalf("advance to %d: %v", to, err)
	}
}

func testAdvance(t *testing.T, b *bench) {
	b.advance(t, 0)
	Same(t, "first id", b.create(t, sample("form", "amy", "x")).ID, int64(1))
	for _, to := range []int64{5, 6, 100_000} {
		b.advance(t, to)
		if last := b.lastID(t); last < to {
			t.Errorf("last id %d, after an advance to %d", last, to)
		}
		b.checkNext(t, "after an advance", to)
	}
	far := b.lastID(t)
	for _, back := range []int64{0, 1, 50_000} {
		b.advance(t, back)
		b.checkNext(t, "after an advance to what was passed", 100_001)
		b.reopen(t)
	}
	if err := b.Advance(ctx, forms.MaxSubmissionID+1); err == nil {
		t.Error("advanced beyond the last id")
	}
	b.checkNext(t, "at last", 100_001)

	other := b.another(t)
	other.advance(t, far)
	other.checkNext(t, "another store", far)
}

// testAdvanceConcurrently: an engine that reads a sequence and then sets it would
// reset it to below the ids that were assigned between the two steps.
func testAdvanceConcurrently(t *testing.T, b *bench) {
	const clients, rounds = 8, 30
	made := make([][]record, clients)
	var highest atomic.Int64
	NoErrors(t, "call", Parallel(clients, func(i int) error {
		for range rounds {
			sub, err := b.Create(ctx, sample("form", "amy", "x", "y"))
			if err != nil {
				return err
			}
			made[i] = append(made[i], decode(t, sub))
			highest.Store(sub.ID)
			if i < 2 {
				last := highest.Load() + 3
				if err := b.Advance(ctx, last); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	subs := map[int64]bool{}
	for _, r := range slices.Concat(made...) {
		subs[r.ID] = true
	}
	Same(t, "different submission ids", len(subs), clients*rounds)
}
