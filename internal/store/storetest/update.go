package storetest

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var updateTests = []test{
	{"merge sees what is stored", testMergeSees},
	{"entries keep their ids, new ones get the next numbers", testMergeIDs},
	{"a submission has at most 8191 entries", testMaxEntries},
	{"merge may take everything away", testMergeToNothing},
	{"what merge returns stays the caller's", testMergeResultKept},
	{"an error of merge changes nothing", testMergeError},
	{"a panic in merge ends only its own update", testMergePanic},
	{"a slow merge delays no other call", testSlowMerge},
	{"missing: merge is not asked", testUpdateMissing},
}

// set returns a merge that gives a field a value, and leaves the others alone.
func set(t rapid.TB, fieldID, value string) store.Merge {
	return func(sub forms.Submission) (store.Change, error) {
		entries, err := sub.Entries.Decode()
		if err != nil {
			t.Errorf("merge: %v", err)
			return store.Change{}, err
		}
		for i := range entries {
			if entries[i].FieldID == fieldID {
				entries[i].Value = value
				return store.Change{Entries: entries, Files: sub.Files}, nil
			}
		}
		return store.Change{Entries: append(entries, forms.Entry{FieldID: fieldID, Value: value}), Files: sub.Files}, nil
	}
}

func testMergeSees(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "x", "y"))
	var seen forms.Submission
	_, err := b.Update(ctx, r.key(), func(sub forms.Submission) (store.Change, error) {
		seen = sub
		seen.Entries = slices.Clone(sub.Entries)
		return store.Change{Entries: r.Entries}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	Same(t, "seen", decode(t, seen), r)
	Same(t, "unchanged", b.get(t, r.key()), r)
}

func testMergeIDs(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "x", "y", "z"))
	other := b.create(t, sample("form", "bob", "x"))
	sub, err := b.Update(ctx, r.key(), func(forms.Submission) (store.Change, error) {
		return store.Change{Entries: []forms.Entry{
			{FieldID: "new", Value: "1"},
			{ID: r.Entries[2].ID, FieldID: "f2", Value: "Z"},
			r.Entries[0],
			{FieldID: "newer", Value: "2"},
		}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, sub)
	want := r // page, form, user and time stay those of the creation
	want.Entries = []forms.Entry{
		{ID: 8192*r.ID + 4, FieldID: "new", Value: "1"},
		{ID: r.Entries[2].ID, FieldID: "f2", Value: "Z"},
		r.Entries[0],
		{ID: 8192*r.ID + 5, FieldID: "newer", Value: "2"},
	}
	Same(t, "updated", got, want)
	Same(t, "found", b.get(t, r.key()), want)
	Same(t, "listed", b.all(t, "form"), []record{want, other})
	b.reopen(t)
	Same(t, "found again", b.get(t, r.key()), want)
}

func testMaxEntries(t *testing.T, b *bench) {
	n := sample("form", "amy", make([]string, forms.MaxEntries)...)
	r := b.create(t, n)
	Same(t, "the last id", r.Entries[forms.MaxEntries-1].ID, 8192*r.ID+forms.MaxEntries)
	if _, err := b.Update(ctx, r.key(), set(t, "one more", "x")); err == nil {
		t.Error("there was room for one more")
	}
	Same(t, "found", b.get(t, r.key()), r)
	n.Entries = append(n.Entries, forms.Entry{FieldID: "one more"})
	if _, err := b.Create(ctx, n); err == nil {
		t.Error("one more was created")
	}
	Same(t, "listed", len(b.all(t, "form")), 1)
}

func testMergeToNothing(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "x"))
	sub, err := b.Update(ctx, r.key(), func(forms.Submission) (store.Change, error) { return store.Change{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	r.Entries = nil
	Same(t, "updated", decode(t, sub), r)
	Same(t, "found", b.get(t, r.key()), r)
}

func testMergeResultKept(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy"))
	entries := []forms.Entry{{FieldID: "new"}}
	// An id written into the caller's slice would look like a stored one to
	// the next merge, and be there twice.
	for range 2 {
		if _, err := b.Update(ctx, r.key(), func(forms.Submission) (store.Change, error) { return store.Change{Entries: entries}, nil }); err != nil {
			t.Fatal(err)
		}
		Same(t, "the slice that merge returned", entries, []forms.Entry{{FieldID: "new"}})
	}
}

func testMergeError(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "x"))
	refusal := errors.New("refused")
	_, err := b.Update(ctx, r.key(), func(forms.Submission) (store.Change, error) {
		return store.Change{Entries: []forms.Entry{{FieldID: "new"}}}, refusal
	})
	if err != refusal { //nolint:errorlint // as it is, not wrapped
		t.Errorf("update: %v, want %v itself", err, refusal)
	}
	Same(t, "found", b.get(t, r.key()), r)
}

func testMergePanic(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "x"))
	finishes(t, "an update that panics, and one after it", func() {
		_, err := b.Update(ctx, r.key(), func(forms.Submission) (store.Change, error) { panic("at the disco") })
		if err == nil {
			t.Error("update: no error")
		}
		Same(t, "found", b.get(t, r.key()), r)
		if _, err := b.Update(ctx, r.key(), set(t, "f0", "y")); err != nil {
			t.Errorf("next update: %v", err)
		}
	})
	Same(t, "found", b.get(t, r.key()).Entries, []forms.Entry{{ID: 8192*r.ID + 1, FieldID: "f0", Value: "y"}})
}

func testSlowMerge(t *testing.T, b *bench) {
	slow, other := b.create(t, sample("form", "amy", "x")), b.create(t, sample("form", "amy", "x"))
	gone := b.create(t, sample("form", "amy", "x"))
	merging, release, updated := make(chan struct{}, 10), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := b.Update(ctx, slow.key(), func(sub forms.Submission) (store.Change, error) {
			merging <- struct{}{}
			<-release
			return set(t, "f0", "slow")(sub)
		})
		updated <- err
	}()
	<-merging
	finishes(t, "what others write", func() {
		NoErrors(t, "create", Parallel(50, func(int) error {
			_, err := b.Create(ctx, sample("other", "amy", "x"))
			return err
		}))
		if _, err := b.Update(ctx, other.key(), set(t, "f0", "y")); err != nil {
			t.Errorf("update: %v", err)
		}
		b.delete(t, gone.key())
	})
	close(release)
	if err := <-updated; err != nil {
		t.Errorf("update: %v", err)
	}
	slow.Entries[0].Value, other.Entries[0].Value = "slow", "y"
	Same(t, "stored", b.all(t, "form"), []record{slow, other})
}

func testUpdateMissing(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "x"))
	gone := b.create(t, sample("form", "amy", "x"))
	b.delete(t, gone.key())
	for _, key := range []store.Key{
		gone.key(), {PageID: 2, FormID: "form", ID: r.ID}, {PageID: 1, FormID: "Form", ID: r.ID}, {PageID: 1, FormID: "form", ID: 99},
	} {
		_, err := b.Update(ctx, key, func(forms.Submission) (store.Change, error) {
			t.Errorf("merge was called for %+v", key)
			return store.Change{}, nil
		})
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("update %+v: %v, want %v", key, err, store.ErrNotFound)
		}
	}
	Same(t, "what is left", b.all(t, "form"), []record{r})
}
