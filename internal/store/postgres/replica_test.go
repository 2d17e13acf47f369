package postgres

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

// replicas opens two stores on one database, as two processes would.
func replicas(t *testing.T) [2]*Store {
	t.Helper()
	url := newDatabase(t)
	return [2]*Store{openStore(t, url), openStore(t, url)}
}

// TestReplicasGiveIDsInTheOrderOfTime: a later submission has a higher id, also
// across replicas, so that lists are in the order of time.
func TestReplicasGiveIDsInTheOrderOfTime(t *testing.T) {
	r := replicas(t)
	last, lastEntry := int64(0), int64(0)
	for i := range 40 {
		sub := mustCreate(t, r[i%2], sample("x"))
		entries, err := sub.Entries.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if sub.ID <= last || entries[0].ID <= lastEntry {
			t.Fatalf("id %d after %d, entry id %d after %d", sub.ID, last, entries[0].ID, lastEntry)
		}
		last, lastEntry = sub.ID, entries[0].ID
	}
}

// TestReplicasKeepOneSubmissionEach has both store the same keys at the same
// time, in opposite order.
func TestReplicasKeepOneSubmissionEach(t *testing.T) {
	r := replicas(t)
	const keys, rounds = 50, 4
	errs := storetest.Parallel(2*keys*rounds, func(i int) error {
		key := i / 2 % keys
		if i%2 == 1 {
			key = keys - 1 - key
		}
		n := withSubmitterKey(sample(fmt.Sprint(key)), fmt.Sprint("key", key))
		if key%2 == 0 {
			n.Username = fmt.Sprint("user", key)
		}
		_, err := r[i%2].Create(ctx, n)
		return err
	})
	stored := 0
	for i, err := range errs {
		if err == nil {
			stored++
		} else if !errors.Is(err, store.ErrAlreadySubmitted) {
			t.Errorf("create %d: %v", i, err)
		}
	}
	storetest.Same(t, "acknowledged", stored, keys)
	var found []string
	for _, value := range storetest.Values(t, r[1]) {
		found = append(found, value)
	}
	slices.Sort(found)
	storetest.Same(t, "stored", len(found), keys)
	storetest.Same(t, "different keys", len(slices.Compact(found)), keys)
}

func TestReplicasShareSettingsAndIDs(t *testing.T) {
	r := replicas(t)
	held := make([]string, 40)
	storetest.NoErrors(t, "claim", storetest.Parallel(len(held), func(i int) (err error) {
		held[i], err = r[i%2].Claim(ctx, "name", fmt.Sprint(i))
		return err
	}))
	storetest.Same(t, "different answers", len(slices.Compact(slices.Sorted(slices.Values(held)))), 1)

	mustCreate(t, r[0], sample("x"))
	mustCreate(t, r[1], sample("x"))
	if err := r[0].Advance(ctx, 1000); err != nil {
		t.Fatal(err)
	}
	for _, s := range r {
		if sub := mustCreate(t, s, sample("x")); sub.ID <= 1000 {
			t.Errorf("id %d", sub.ID)
		}
	}
}

// TestLastIDWhileItAdvances: the sequence can be read while ALTER SEQUENCE replaces its file.
func TestLastIDWhileItAdvances(t *testing.T) {
	r := replicas(t)
	var done atomic.Bool
	storetest.NoErrors(t, "call", storetest.Parallel(5, func(client int) error {
		if client > 0 {
			for !done.Load() {
				if _, err := r[1].LastID(ctx); err != nil {
					return err
				}
			}
			return nil
		}
		defer done.Store(true)
		for i := range int64(300) {
			if err := r[0].Advance(ctx, 10*i); err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestReplicasKeepTheLimit has three processes fill one form.
func TestReplicasKeepTheLimit(t *testing.T) {
	url := newDatabase(t)
	r := [3]*Store{openStore(t, url), openStore(t, url), openStore(t, url)}
	const creates, limit = 200, 50
	n := sample("x")
	n.Limit = limit
	stored := 0
	for i, err := range storetest.Parallel(creates, func(i int) error { _, err := r[i%3].Create(ctx, n); return err }) {
		if err == nil {
			stored++
		} else if !errors.Is(err, store.ErrLimit) {
			t.Errorf("create %d: %v", i, err)
		}
	}
	storetest.Same(t, "acknowledged", stored, limit)
	storetest.Same(t, "stored", len(storetest.Values(t, r[0])), limit)
}
