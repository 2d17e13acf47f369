package storetest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var limitTests = []test{
	{"so many, until one is deleted", testLimit},
	{"each form and page for itself", testLimitApart},
	{"submissions from before the limit count", testLimitLowered},
	{"a repeat and a second submission are told first", testLimitOrder},
	{"holds for files", testLimitFiles},
	{"holds for concurrent creates", testLimitConcurrent},
	{"refused rows leave room", testLimitRefused},
	{"what is loaded and cleared counts", testLimitLoaded},
	{"more submissions than can be counted", testLimitBeyondCount},
	{"names", testCountNamed},
	{"the forms of a page, and all", testCountForms},
	{"the forms of new submissions", testTallies},
}

func withLimit(n store.New, limit int) store.New {
	n.Limit = limit
	return n
}

// full checks that the form takes no more.
func (b *bench) full(t *testing.T, what string, n store.New) {
	t.Helper()
	b.refuses(t, what, n, store.ErrLimit)
}

// countsForm checks how many submissions the form has.
func (b *bench) countsForm(t *testing.T, n store.New, want int) {
	t.Helper()
	Same(t, "count", b.tallies(t, withLimit(n, store.MaxLimit))[0].Count, want)
}

func testLimit(t *testing.T, b *bench) {
	n := withLimit(sample("form", "amy", "x"), 2)
	b.countsForm(t, n, 0)
	first := b.create(t, n)
	b.create(t, n)
	b.full(t, "third", n)
	b.countsForm(t, n, 2)
	b.delete(t, first.key())
	b.countsForm(t, n, 1)
	b.create(t, n)
	b.reopen(t)
	b.full(t, "after a restart", n)
	b.create(t, withLimit(n, 0))
	Same(t, "stored", len(b.all(t, "form")), 3)
}

func testLimitApart(t *testing.T, b *bench) {
	n := withLimit(sample("form", "amy", "x"), 1)
	b.create(t, n)
	for _, elsewhere := range otherForms(n) {
		b.create(t, elsewhere)
		b.full(t, "second there", elsewhere)
		b.countsForm(t, elsewhere, 1)
	}
}

func testLimitLowered(t *testing.T, b *bench) {
	for range 3 {
		b.create(t, sample("form", "amy", "x"))
	}
	n := withLimit(sample("form", "bob", "x"), 2)
	b.full(t, "with three from before", n)
	b.create(t, withLimit(n, store.MaxLimit))
}

func testLimitOrder(t *testing.T, b *bench) {
	n := withLimit(sample("form", "amy", "x"), 1)
	n.SubmitterKey, n.Key = "amy", "key"
	b.create(t, n)
	if _, err := b.Create(ctx, n); !errors.Is(err, store.ErrKeyUsed) {
		t.Errorf("a repeat: %v", err)
	}
	n.Key = "another"
	if _, err := b.Create(ctx, n); !errors.Is(err, store.ErrAlreadySubmitted) {
		t.Errorf("a second one: %v", err)
	}
	b.full(t, "somebody else", withSubmitterKey(withLimit(sample("form", "bob", "x"), 1), "bob"))
	anonymous := withLimit(sample("form", "", "x"), 1)
	b.full(t, "nobody", anonymous)
}

func testLimitFiles(t *testing.T, b *bench) {
	n := withLimit(sample("form", "amy", "x"), 1)
	n.Files = []forms.StoredFile{b.stage(t, "a", []byte("a"))}
	b.create(t, n)
	n.Files = []forms.StoredFile{b.stage(t, "b", []byte("b"))}
	b.full(t, "with a file", n)
	Same(t, "stored", len(b.all(t, "form")), 1)
}

// testLimitConcurrent has forms with and without a limit share batches.
func testLimitConcurrent(t *testing.T, b *bench) {
	const creates, limit = 200, 20
	errs := Parallel(2*creates, func(i int) error {
		n := sample("free", "amy", "x")
		if i%2 == 0 {
			n = withLimit(sample(fmt.Sprint("form", i/2%2), "amy", "x"), limit)
		}
		_, err := b.Create(ctx, n)
		return err
	})
	stored := 0
	for i, err := range errs {
		switch {
		case err == nil:
			stored++
		case !errors.Is(err, store.ErrLimit) || i%2 == 1:
			t.Errorf("create %d: %v", i, err)
		}
	}
	Same(t, "acknowledged", stored, creates+2*limit)
	Same(t, "without a limit", len(b.all(t, "free")), creates)
	Same(t, "stored", []int{len(b.all(t, "form0")), len(b.all(t, "form1"))}, []int{limit, limit})
}

// testLimitRefused: a submitter's second submission takes no place of somebody else.
func testLimitRefused(t *testing.T, b *bench) {
	const people, repeats = 10, 10
	errs := Parallel(people*repeats, func(i int) error {
		name := fmt.Sprint("user", i%people)
		_, err := b.Create(ctx, withLimit(withSubmitterKey(sample("form", name, "x"), name), people))
		return err
	})
	for i, err := range errs {
		if err != nil && !errors.Is(err, store.ErrAlreadySubmitted) {
			t.Errorf("create %d: %v", i, err)
		}
	}
	Same(t, "stored", len(b.all(t, "form")), people)
}

func testLimitLoaded(t *testing.T, b *bench) {
	n := withLimit(sample("form", "amy", "x"), 3)
	first := b.create(t, n)
	b.load(t, loadable("form", first.ID+10), loadable("form", first.ID+11))
	b.full(t, "with two that were loaded", n)
	if err := b.Clear(ctx); err != nil {
		t.Fatal(err)
	}
	b.create(t, n)
}

// testLimitBeyondCount: a count stops at store.MaxLimit, and is right again once
// enough were deleted.
func testLimitBeyondCount(t *testing.T, b *bench) {
	n := withLimit(sample("form", "amy", "x"), store.MaxLimit)
	records := make([]store.Record, store.MaxLimit+1)
	for i := range records {
		records[i] = loadable("form", int64(i+1))
	}
	b.load(t, records...)
	b.full(t, "one too many", n)
	b.delete(t, store.Key{PageID: n.PageID, FormID: n.FormID, ID: 1})
	b.full(t, "as many as it takes", n)
	b.delete(t, store.Key{PageID: n.PageID, FormID: n.FormID, ID: 2})
	b.create(t, n)
	b.full(t, "full again", n)
}

func testCountNamed(t *testing.T, b *bench) {
	check := func(wantNamed, wantAll int) {
		t.Helper()
		named, all, err := b.CountNamed(ctx, 1, "form")
		if err != nil || named != wantNamed || all != wantAll {
			t.Errorf("%d of %d have names, %v, want %d of %d", named, all, err, wantNamed, wantAll)
		}
	}
	b.create(t, sample("other", "amy", "x"))
	check(0, 0)
	for _, name := range []string{"", "amy", "bob", ""} {
		b.create(t, sample("form", name, "x"))
	}
	check(2, 4)
	records := make([]store.Record, store.MaxLimit)
	for i := range records {
		records[i] = loadable("form", int64(i+10))
		records[i].Username = ""
	}
	b.load(t, records...)
	check(2, store.MaxLimit)
}

func testCountForms(t *testing.T, b *bench) {
	check := func(pageID int64, limit int, want string) {
		t.Helper()
		found, err := b.CountForms(ctx, pageID, limit)
		if err != nil {
			t.Fatal(err)
		}
		Same(t, fmt.Sprintf("page %d, up to %d", pageID, limit), fmt.Sprint(found), want)
	}
	check(0, 10, "[]")
	for page, form := range map[int64]string{1: "form", 2: "a", 3: "zoë", math.MaxInt64: "form"} {
		n := sample(form, "amy", "x")
		n.PageID = page
		b.create(t, n)
	}
	b.fill(t, "form", 3, 10)
	b.fill(t, "Form", 1, 10)
	b.delete(t, b.create(t, sample("gone", "amy", "x")).key())
	check(1, 10, "[{1 Form 1} {1 form 4}]")
	check(1, 3, "[{1 Form 1} {1 form 3}]")
	check(3, 10, "[{3 zoë 1}]")
	check(4, 10, "[]")
	check(0, math.MaxInt, "[{1 Form 1} {1 form 4} {2 a 1} {3 zoë 1} {9223372036854775807 form 1}]")
}

// testTallies: each form is counted up to the limit of its own submission.
func testTallies(t *testing.T, b *bench) {
	once := withSubmitterKey(sample("once", "", "x"), "key")
	b.fill(t, "Form", 1, 10)
	b.fill(t, "form", 5, 10)
	b.create(t, once)
	elsewhere := withLimit(sample("form", "amy", "x"), 5)
	elsewhere.PageID = 2
	Same(t, "none", fmt.Sprint(b.tallies(t)), "[]")
	got := b.tallies(t, sample("form", "amy", "x"), withLimit(sample("form", "amy", "x"), 4), once, withLimit(once, 9), elsewhere,
		withLimit(sample("never", "amy", "x"), 2), withLimit(sample("Form", "amy", "x"), 7), withSubmitterKey(sample("once", "", "x"), "other"))
	want := []store.Tally{{}, {Count: 4}, {Submitted: true}, {Submitted: true, Count: 1}, {}, {}, {Count: 1}, {}}
	Same(t, "tallies", got, want)
}
