package postgres

import (
	"sync/atomic"
	"testing"

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
	last := int64(0)
	for i := range 40 {
		sub := mustCreate(t, r[i%2], sample("x"))
		if sub.ID <= last {
			t.Fatalf("id %d after %d", sub.ID, last)
		}
		last = sub.ID
	}
}

func TestReplicasShareIDs(t *testing.T) {
	r := replicas(t)
	mustCreate(t, r[0], sample("x"))
	mustCreate(t, r[1], sample("x"))
	must(t, r[0].Advance(ctx, 1000))
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

// TestReplicasKeepDefinitions: one replica removes the definitions of a form while another uses them.
func TestReplicasKeepDefinitions(t *testing.T) {
	r := replicas(t)
	storetest.CreateAndDelete(t, r[0], r[1])
}
