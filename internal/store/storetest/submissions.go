package storetest

import (
	"errors"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var submissionTests = []test{
	{"what is created is returned and found", testCreate},
	{"ids ascend from 1, over all forms", testIDs},
	{"entry ids that are sent are ignored", testEntryIDsIgnored},
	{"ids are not given twice", testIDsNotReused},
	{"found only under its page and form", testKey},
	{"deleted is gone", testDelete},
	{"a delete is decided by its check", testDeleteCheck},
	{"answers", testPing},
}

func testCreate(t *testing.T, b *bench) {
	n := store.New{
		PageID: 7, FormID: "survey", Username: "amy", Created: created,
		Entries: []forms.Entry{{FieldID: "b", Value: "2"}, {FieldID: "a", Value: "1"}, {FieldID: "c"}},
	}
	got := b.create(t, n)
	want := record{
		ID: 1, PageID: 7, FormID: "survey", Username: "amy", Created: created,
		Entries: []forms.Entry{{ID: 1, FieldID: "b", Value: "2"}, {ID: 2, FieldID: "a", Value: "1"}, {ID: 3, FieldID: "c"}},
	}
	Same(t, "created", got, want)
	Same(t, "found", b.get(t, want.key()), want)
	Same(t, "listed", b.scan(t, store.Query{PageID: 7, FormID: "survey"}), []record{want})

	empty := b.create(t, store.New{PageID: 7, FormID: "survey", Created: created})
	Same(t, "without entries", b.get(t, empty.key()), record{ID: empty.ID, PageID: 7, FormID: "survey", Created: created})
}

func testIDs(t *testing.T, b *bench) {
	lastID, lastEntry := int64(0), int64(0)
	for i, n := range []store.New{
		sample("a", "amy", "x", "y"), sample("b", "bob"), sample("a", "", "x"),
		{PageID: 2, FormID: "a", Created: created, Entries: []forms.Entry{{FieldID: "f"}, {FieldID: "g"}}},
	} {
		r := b.create(t, n)
		if (i == 0 && r.ID != 1) || r.ID <= lastID {
			t.Errorf("submission %d has id %d, after %d", i, r.ID, lastID)
		}
		lastID = r.ID
		for _, e := range r.Entries {
			if (lastEntry == 0 && e.ID != 1) || e.ID <= lastEntry {
				t.Errorf("submission %d: entry %q has id %d, after %d", i, e.FieldID, e.ID, lastEntry)
			}
			lastEntry = e.ID
		}
	}
}

func testEntryIDsIgnored(t *testing.T, b *bench) {
	n := sample("a", "amy", "x", "y")
	n.Entries[0].ID, n.Entries[1].ID = 4711, 1
	first, second := b.create(t, n), b.create(t, n)
	Same(t, "the caller's entries", n.Entries[0].ID, int64(4711))
	seen := map[int64]bool{}
	for _, e := range append(first.Entries, second.Entries...) {
		if seen[e.ID] || e.ID == 4711 {
			t.Errorf("entry id %d was given twice, or taken from the caller", e.ID)
		}
		seen[e.ID] = true
	}
}

func testIDsNotReused(t *testing.T, b *bench) {
	last := b.create(t, sample("a", "amy", "x", "y"))
	for _, between := range []func(){func() {}, func() { b.reopen(t) }, func() { b.reopen(t); b.reopen(t) }} {
		b.delete(t, last.key())
		between()
		next := b.create(t, sample("a", "amy", "x", "y"))
		if next.ID <= last.ID {
			t.Errorf("submission id %d after %d was deleted", next.ID, last.ID)
		}
		if next.Entries[0].ID <= last.Entries[1].ID {
			t.Errorf("entry id %d after %d was deleted", next.Entries[0].ID, last.Entries[1].ID)
		}
		last = next
	}
}

func testKey(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "x"))
	b.create(t, sample("other", "amy", "x"))
	for _, key := range []store.Key{
		{PageID: 2, FormID: "form", ID: r.ID},
		{PageID: 1, FormID: "other", ID: r.ID},
		{PageID: 1, FormID: "", ID: r.ID},
		{PageID: 1, FormID: "form", ID: r.ID + 1},
		{PageID: 1, FormID: "form", ID: 0},
		{PageID: 1, FormID: "form", ID: -1},
		{PageID: 1, FormID: "form", ID: 1 << 62},
	} {
		if _, err := b.Get(ctx, key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("get %+v: %v, want %v", key, err, store.ErrNotFound)
		}
		if err := b.Delete(ctx, key, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("delete %+v: %v, want %v", key, err, store.ErrNotFound)
		}
	}
	Same(t, "after all of that", b.get(t, r.key()), r)
}

func testDelete(t *testing.T, b *bench) {
	first, second := b.create(t, sample("a", "amy", "x")), b.create(t, sample("a", "amy", "y"))
	b.delete(t, first.key())
	if _, err := b.Get(ctx, first.key()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %v, want %v", err, store.ErrNotFound)
	}
	if err := b.Delete(ctx, first.key(), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("second delete: %v, want %v", err, store.ErrNotFound)
	}
	Same(t, "what is left", b.all(t, "a"), []record{second})
}

func testDeleteCheck(t *testing.T, b *bench) {
	r, other := b.create(t, sample("a", "amy", "x")), b.create(t, sample("a", "amy", "y"))
	refusal := errors.New("refused")
	err := b.Delete(ctx, r.key(), func(sub forms.Submission) error {
		Same(t, "checked", decode(t, sub), r)
		return refusal
	})
	if err != refusal { //nolint:errorlint // as it is, not wrapped
		t.Errorf("delete: %v, want %v itself", err, refusal)
	}
	finishes(t, "a delete whose check panics, and one after it", func() {
		if err := b.Delete(ctx, r.key(), func(forms.Submission) error { panic("at the disco") }); err == nil {
			t.Error("delete: no error")
		}
		Same(t, "after those", b.all(t, "a"), []record{r, other})
		if err := b.Delete(ctx, r.key(), func(forms.Submission) error { return nil }); err != nil {
			t.Errorf("delete: %v", err)
		}
	})
	Same(t, "what is left", b.all(t, "a"), []record{other})
	err = b.Delete(ctx, r.key(), func(forms.Submission) error {
		t.Error("check was called for what is gone")
		return nil
	})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("second delete: %v, want %v", err, store.ErrNotFound)
	}
}

func testPing(t *testing.T, b *bench) {
	if err := b.Ping(ctx); err != nil {
		t.Error(err)
	}
	Same(t, "left behind", len(b.all(t, "a")), 0)
	Same(t, "first id after it", b.create(t, sample("a", "")).ID, int64(1))
}
