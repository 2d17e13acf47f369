package postgres

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// followed returns the ids of a list that goes on after one.
func followed(s *Store, after int64, limit int) (ids []int64, err error) {
	q := store.Query{PageID: 1, FormID: "form", After: after, Limit: limit, Settled: true}
	err = testkit.Each(s.Scan(ctx, q), func(sub forms.Submission) error { ids = append(ids, sub.ID); return nil })
	return ids, err
}

// TestFollowerWaitsForAnOpenTransaction: a program that follows a list does not pass over a submission that another
// server is storing. Nobody else waits for it.
func TestFollowerWaitsForAnOpenTransaction(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	first := mustCreate(t, s, sample("first")).ID
	if ids, err := followed(s, 0, 0); err != nil || !slices.Equal(ids, []int64{first}) {
		t.Errorf("with nothing open: %v, %v", ids, err)
	}
	other, err := pgx.Connect(ctx, url)
	must(t, err)
	defer other.Close(ctx)
	must(t, testkit.ErrorOf(other.Exec(ctx, `BEGIN`)))
	must(t, testkit.ErrorOf(other.Exec(ctx, sqlAnnounceIDs)))
	var open int64
	must(t, other.QueryRow(ctx, sqlTakeIDs, 1).Scan(&open))
	last := mustCreate(t, s, sample("last")).ID
	storetest.Same(t, "what other lists show", len(storetest.Values(t, s)), 2)
	for _, server := range []*Store{s, openStore(t, url)} { // one knows what was settled, and one knows nothing
		if ids, err := followed(server, 0, 3); !errors.Is(err, store.ErrUnsettled) || !slices.Equal(ids, []int64{first}) {
			t.Errorf("beside an open transaction: %v, %v", ids, err)
		}
	}
	must(t, testkit.ErrorOf(other.Exec(ctx, `INSERT INTO submissions VALUES (1, 'form', $1, '', 0, NULL, '{}')`, open)))
	must(t, testkit.ErrorOf(other.Exec(ctx, `COMMIT`)))
	if ids, err := followed(s, 0, 2); err != nil || !slices.Equal(ids, []int64{first, open}) {
		t.Errorf("two after its end: %v, %v", ids, err)
	}
	if ids, err := followed(s, first, 0); err != nil || !slices.Equal(ids, []int64{open, last}) {
		t.Errorf("after its end: %v, %v", ids, err)
	}
}

// TestFollowersLoseNothing: all that many writers of two servers store is found by programs that follow the list. They
// look more often than a server does.
func TestFollowersLoseNothing(t *testing.T) {
	url := newDatabase(t)
	servers := []*Store{openStore(t, url), openStore(t, url)}
	const writers, followers, each = 16, 2, 200
	found := make([][]int64, followers)
	var ended atomic.Int32
	limited := sample("limited")
	limited.Limit = store.MaxLimit
	storetest.NoErrors(t, "write or follow", storetest.Parallel(writers+followers, func(i int) error {
		s := servers[i%len(servers)]
		if i >= writers {
			return follow(s, &found[i-writers], func() bool { return ended.Load() == writers })
		}
		defer ended.Add(1)
		for n := range each {
			if err := creating(s, []store.New{sample("plain"), limited}[n%2])(); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, ids := range found {
		storetest.Same(t, "found", len(ids), writers*each)
	}
}

// follow reads a list again and again, until it has read all of it after the writers have ended.
func follow(s *Store, found *[]int64, ended func() bool) error {
	q := store.Query{PageID: 1, FormID: "form"}
	for last := false; !last; {
		last = ended()
		upTo, err := s.readSettled(ctx)
		if err == nil {
			err = testkit.Each(s.Scan(ctx, q), func(sub forms.Submission) error {
				if sub.ID <= upTo {
					*found = append(*found, sub.ID)
				}
				return nil
			})
		}
		if err != nil {
			return err
		}
		q.After = max(q.After, upTo) // a look may tell less than one before
	}
	return nil
}

// TestLooksAreRare: at most one a second, which begins after all that wait for it. A list that waits for one that hangs
// goes on.
func TestLooksAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks, begun := 0, time.Time{}
		s := &settled{turn: make(chan struct{}, 1), read: func(context.Context) (int64, error) {
			looks, begun = looks+1, time.Now()
			return int64(looks), nil
		}}
		from := time.Now()
		for range 50 {
			storetest.NoErrors(t, "wait", storetest.Parallel(10, func(int) error { return s.wait(t.Context()) }))
			time.Sleep(50 * time.Millisecond)
			asked := time.Now()
			must(t, s.wait(t.Context()))
			if begun.Before(asked) || time.Since(asked) > readEvery {
				t.Errorf("asked at %v, a look at %v, an answer after %v", asked, begun, time.Since(asked))
			}
		}
		if most := int(time.Since(from)/readEvery) + 1; looks > most || s.upTo.Load() != int64(looks) {
			t.Errorf("%d looks instead of %d, %d settled", looks, most, s.upTo.Load())
		}
		s.read = func(context.Context) (int64, error) { time.Sleep(time.Hour); return 0, store.ErrUnavailable }
		hangs := make(chan error)
		go func() { hangs <- s.wait(t.Context()) }()
		synctest.Wait()
		from = time.Now()
		must(t, s.wait(t.Context()))
		storetest.Same(t, "waited", time.Since(from), maxFollowWait)
		testkit.ErrorIs(t, "the list that looked", <-hangs, store.ErrUnavailable)
	})
}
