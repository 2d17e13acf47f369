package storetest

import (
	"errors"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var submissionTests = []test{
	{"what is created is returned and found", testCreate},
	{"ids are not given twice", testIDsNotReused},
	{"found only under its page and form", testKey},
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
		Entries: []forms.Entry{{ID: 8193, FieldID: "b", Value: "2"}, {ID: 8194, FieldID: "a", Value: "1"}, {ID: 8195, FieldID: "c"}},
	}
	Same(t, "created", got, want)
	Same(t, "found", b.get(t, want.key()), want)
	Same(t, "listed", b.scan(t, store.Query{PageID: 7, FormID: "survey"}), []record{want})

	empty := b.create(t, store.New{PageID: 7, FormID: "survey", Created: created})
	Same(t, "without entries", b.get(t, empty.key()), record{ID: empty.ID, PageID: 7, FormID: "survey", Created: created})
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
