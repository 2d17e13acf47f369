package storetest

import (
	"errors"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var submitterKeyTests = []test{
	{"one only, until it is deleted", testOnce},
	{"each form and page for itself", testOnceApart},
	{"submissions from before the limit count", testOnceLegacy},
	{"anonymous: by the key alone", testOnceAnonymous},
	{"survives updates and a restart", testOnceKept},
}

func (b *bench) refused(t *testing.T, what string, n store.New) {
	t.Helper()
	b.refuses(t, what, n, store.ErrAlreadySubmitted)
}

// refuses checks that a Tally and Create have an error.
func (b *bench) refuses(t *testing.T, what string, n store.New, want error) {
	t.Helper()
	if err := b.tallies(t, n)[0].Refusal(n); !errors.Is(err, want) {
		t.Errorf("%s: tally %v, want %v", what, err, want)
	}
	if _, err := b.Create(ctx, n); !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// otherForms is a submission to forms whose ids differ little.
func otherForms(n store.New) []store.New {
	other, upper, page := n, n, n
	other.FormID, upper.FormID, page.PageID = "other", "Form", 2
	return []store.New{other, upper, page}
}

func testOnce(t *testing.T, b *bench) {
	n := withSubmitterKey(sample("form", "amy", "x"), "amy")
	first := b.create(t, n)
	b.refused(t, "second", n)
	Same(t, "stored", b.all(t, "form"), []record{first})
	b.create(t, withSubmitterKey(sample("form", "bob", "x"), "bob"))

	b.delete(t, first.key())
	second := b.create(t, n)
	if second.ID <= first.ID {
		t.Errorf("id %d after %d", second.ID, first.ID)
	}
	b.refused(t, "third", n)
}

func testOnceApart(t *testing.T, b *bench) {
	n := withSubmitterKey(sample("form", "amy", "x"), "amy")
	b.create(t, n)
	for _, elsewhere := range otherForms(n) {
		b.create(t, elsewhere)
		b.refused(t, "second there", elsewhere)
	}
}

func testOnceLegacy(t *testing.T, b *bench) {
	legacy := []record{b.create(t, sample("form", "amy", "x")), b.create(t, sample("form", "amy", "y"))}
	limited := withSubmitterKey(sample("form", "amy", "z"), "amy")
	b.refused(t, "with two from before", limited)
	b.delete(t, legacy[0].key())
	b.refused(t, "with one from before", limited)
	b.delete(t, legacy[1].key())
	b.create(t, limited)

	// When the limit is taken away again, the user may go on.
	b.create(t, sample("form", "amy", "free"))
	Same(t, "stored", len(b.all(t, "form")), 2)
}

func testOnceAnonymous(t *testing.T, b *bench) {
	b.create(t, sample("form", "", "from before"))
	b.create(t, withSubmitterKey(sample("form", "", "x"), "key1"))
	b.create(t, withSubmitterKey(sample("form", "", "x"), "key2"))
	b.refused(t, "same key", withSubmitterKey(sample("form", "", "x"), "key1"))
	b.create(t, sample("form", "", "without a limit"))
	Same(t, "stored", len(b.all(t, "form")), 4)
}

func testOnceKept(t *testing.T, b *bench) {
	n := withSubmitterKey(sample("form", "", "x"), "key")
	r := b.create(t, n)
	if _, err := b.Update(ctx, r.key(), func(forms.Submission) (store.Change, error) { return store.Change{}, nil }); err != nil {
		t.Fatal(err)
	}
	b.refused(t, "after an update", n)
	b.reopen(t)
	b.refused(t, "after a restart", n)
	b.delete(t, r.key())
	b.create(t, n)
}
