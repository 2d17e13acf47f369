package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// TestRun: expired sessions are removed, again and again, and others stay.
func TestRun(t *testing.T) {
	f := newFixture(t)
	f.sweepEvery = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	defer running.Wait()
	defer cancel()
	for range 2 {
		id := f.signIn("amy", "secret")
		f.clock.Advance(Lifetime / 2)
		other := f.signIn("amy", "secret")
		f.clock.Advance(Lifetime / 2)
		secret, _ := parseID(id)
		testkit.Eventually(t, "the session is removed", func() bool {
			_, err := f.store.Session(t.Context(), secret.hash())
			return err != nil
		})
		f.wantRemoved(id)
		f.wantOpen(other, "amy")
	}
}

// expired is a store that has so many expired sessions, and notes what it is asked.
type expired struct {
	store.Sessions
	count  int
	limits []int
	err    error
}

func (e *expired) DeleteExpiredSessions(_ context.Context, _ time.Time, limit int) (int, error) {
	e.limits = append(e.limits, limit)
	removed := min(limit, e.count)
	e.count -= removed
	return removed, e.err
}

// TestSweepInBatches: however many sessions have expired, one statement removes a
// few of them, and the sweep removes all.
func TestSweepInBatches(t *testing.T) {
	for count, calls := range map[int]int{0: 1, 1: 1, sweepBatch: 2, 2*sweepBatch + 1: 3} {
		stored := &expired{count: count}
		err := New(Options{Store: stored, OwnerKey: ownerKey}).sweep(t.Context())
		if want := slices.Repeat([]int{sweepBatch}, calls); err != nil || stored.count != 0 || !slices.Equal(stored.limits, want) {
			t.Errorf("%d sessions: %v, %d left, limits %v, want %v", count, err, stored.count, stored.limits, want)
		}
	}
	stored := &expired{count: 10 * sweepBatch, err: store.ErrUnavailable}
	s := New(Options{Store: stored, OwnerKey: ownerKey})
	if err := s.sweep(t.Context()); !errors.Is(err, store.ErrUnavailable) || len(stored.limits) != 1 {
		t.Errorf("%v after %d calls", err, len(stored.limits))
	}
}

// TestCancelledIsNotLogged: a browser that goes away is no fault of the store.
func TestCancelledIsNotLogged(t *testing.T) {
	f := newFixture(t)
	id := f.signIn("amy", "secret")
	f.clock.Advance(time.Hour)
	for _, result := range []error{nil, auth.ErrBadCredentials} {
		ctx, cancel := context.WithCancel(t.Context())
		f.opts.Users = reverifier(func(context.Context, string, string) (auth.Identity, error) {
			cancel()
			return auth.Identity{}, result
		})
		_, _ = f.Open(ctx, id)
		cancel()
	}
	f.Run(canceled(t))
	if logs := f.logs.String(); strings.Contains(logs, "can't") {
		t.Errorf("logs: %s", logs)
	}
}

func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
