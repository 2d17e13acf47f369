package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var concurrencyTests = []test{
	{"ids are given once", testConcurrentIDs},
	{"a later create gets a higher id", testIDsInOrder},
	{"of many with the same key one is stored", testConcurrentOnce},
	{"a failed operation fails alone", testFailAlone},
	{"merges of different fields all stay", testConcurrentMerges},
	{"a delete is checked against the last merge", testDeleteAgainstMerges},
	{"a merge against a delete leaves no ghost", testMergeAgainstDelete},
}

func testConcurrentIDs(t *testing.T, b *bench) {
	const count = 200
	made := make([]record, count)
	NoErrors(t, "create", Parallel(count, func(i int) error {
		sub, err := b.Create(ctx, sample(fmt.Sprintf("form%d", i%3), "amy", fmt.Sprint(i), "y"))
		if err == nil {
			made[i] = decode(t, sub)
		}
		return err
	}))
	subs, entries := map[int64]bool{}, map[int64]bool{}
	for i, r := range made {
		subs[r.ID] = true
		for _, e := range r.Entries {
			entries[e.ID] = true
		}
		if found := b.get(t, r.key()); found.Entries[0].Value != fmt.Sprint(i) {
			t.Errorf("submission %d has the value of another, %q", i, found.Entries[0].Value)
		}
	}
	Same(t, "different submission ids", len(subs), count)
	Same(t, "different entry ids", len(entries), 2*count)
}

func testConcurrentOnce(t *testing.T, b *bench) {
	errs := Parallel(200, func(int) error {
		_, err := b.Create(ctx, withSubmitterKey(sample("form", "amy", "x"), "amy"))
		return err
	})
	stored := 0
	for _, err := range errs {
		if err == nil {
			stored++
		} else if !errors.Is(err, store.ErrAlreadySubmitted) {
			t.Errorf("create: %v, want %v", err, store.ErrAlreadySubmitted)
		}
	}
	Same(t, "told that theirs is stored", stored, 1)
	Same(t, "stored", len(b.all(t, "form")), 1)
}

// testFailAlone runs, at the same time, operations that fail for each possible
// reason, and others that must not fail.
func testFailAlone(t *testing.T, b *bench) {
	const count = 200
	refusal := errors.New("refused")
	for key := range 5 {
		b.create(t, withSubmitterKey(sample("form", "", "first"), fmt.Sprint(key)))
	}
	target := b.create(t, sample("target", "amy"))
	errs := Parallel(count, func(i int) error {
		var err error
		switch i % 8 {
		case 1, 5:
			_, err = b.Create(ctx, withSubmitterKey(sample("form", "", "second"), fmt.Sprint(i%5)))
		case 3:
			_, err = b.Update(ctx, target.key(), func(forms.Submission) (store.Change, error) { return store.Change{}, refusal })
		case 7:
			err = b.Delete(ctx, store.Key{PageID: 1, FormID: "form", ID: 1 << 50}, nil)
		default:
			_, err = b.Create(ctx, withSubmitterKey(sample("form", "", fmt.Sprint(i)), fmt.Sprint("own", i)))
		}
		return err
	})
	want := map[int]error{1: store.ErrAlreadySubmitted, 5: store.ErrAlreadySubmitted, 3: refusal, 7: store.ErrNotFound}
	for i, err := range errs {
		if !errors.Is(err, want[i%8]) {
			t.Errorf("number %d: %v, want %v", i, err, want[i%8])
		}
	}
	var values []string
	for _, r := range b.all(t, "form") {
		values = append(values, r.Entries[0].Value)
	}
	slices.Sort(values)
	Same(t, "stored", len(slices.Compact(values)), 1+count/2)
}

func testConcurrentMerges(t *testing.T, b *bench) {
	const count = 50
	r := b.create(t, sample("form", "amy", "first"))
	NoErrors(t, "update", Parallel(count, func(i int) error {
		_, err := b.Update(ctx, r.key(), set(t, fmt.Sprint("field", i), fmt.Sprint(i)))
		return err
	}))
	values, ids := map[string]string{}, map[int64]bool{}
	for _, e := range b.get(t, r.key()).Entries {
		values[e.FieldID] = e.Value
		ids[e.ID] = true
	}
	want := map[string]string{"f0": "first"}
	for i := range count {
		want[fmt.Sprint("field", i)] = fmt.Sprint(i)
	}
	Same(t, "fields", values, want)
	Same(t, "different ids", len(ids), count+1)
}

func testMergeAgainstDelete(t *testing.T, b *bench) {
	n := withSubmitterKey(sample("form", "", "x"), "key")
	for range 20 {
		r := b.create(t, n)
		errs := Parallel(5, func(i int) error {
			if i == 2 {
				return b.Delete(ctx, r.key(), nil)
			}
			_, err := b.Update(ctx, r.key(), set(t, "f0", fmt.Sprint(i)))
			return err
		})
		for i, err := range errs {
			if err != nil && (i == 2 || !errors.Is(err, store.ErrNotFound)) {
				t.Errorf("number %d: %v", i, err)
			}
		}
		if _, err := b.Get(ctx, r.key()); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("get: %v, want %v", err, store.ErrNotFound)
		}
		Same(t, "listed", len(b.all(t, "form")), 0)
	}
	b.create(t, n) // the deleted submission must not block the key
}

// testIDsInOrder creates one after the other, right after many at once. An engine
// that used ids left over from those would assign too low ones.
func testIDsInOrder(t *testing.T, b *bench) {
	last := record{}
	for range 4 {
		for _, r := range b.fill(t, "form", 20, 10) {
			if r.ID <= last.ID {
				t.Fatalf("id %d after %d", r.ID, last.ID)
			}
			last = r
		}
		for range 4 {
			r := b.create(t, sample("form", "amy", "x"))
			if r.ID <= last.ID {
				t.Fatalf("id %d after %d", r.ID, last.ID)
			}
			last = r
		}
	}
}

// testDeleteAgainstMerges: of many who change or delete a submission if it is
// still as they have seen it, one succeeds.
func testDeleteAgainstMerges(t *testing.T, b *bench) {
	changed := errors.New("changed meanwhile")
	for range 10 {
		r := b.create(t, sample("form", "amy", "first"))
		same := func(sub forms.Submission) error {
			if entries, err := sub.Entries.Decode(); err != nil || entries[0].Value != "first" {
				return changed
			}
			return nil
		}
		errs := Parallel(6, func(i int) error {
			if i%2 == 0 {
				return b.Delete(ctx, r.key(), same)
			}
			_, err := b.Update(ctx, r.key(), func(sub forms.Submission) (store.Change, error) {
				if err := same(sub); err != nil {
					return store.Change{}, err
				}
				return set(t, "f0", "second")(sub)
			})
			return err
		})
		succeeded := 0
		for i, err := range errs {
			if err == nil {
				succeeded++
			} else if !errors.Is(err, changed) && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("number %d: %v", i, err)
			}
		}
		Same(t, "succeeded", succeeded, 1)
	}
}
