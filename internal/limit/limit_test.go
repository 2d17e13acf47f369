package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

const maxWait = 5 * time.Second

var errBusy, errOverloaded, errStuck = errors.New("busy"), errors.New("overloaded"), errors.New("stuck")

// A caller waits for a slot of its key, and no key waits for another.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Total: 3, PerKey: 2, Wait: maxWait, Pace: time.Second, Busy: errBusy, Overloaded: errOverloaded})
		acquire := func(key string, want error) func() {
			t.Helper()
			release, err := l.Acquire(t.Context(), key)
			if !errors.Is(err, want) {
				t.Fatalf("%s: %v, want %v", key, err, want)
			}
			return release
		}
		first := acquire("a", nil)
		second := acquire("a", nil)
		begun := time.Now()
		acquire("a", errBusy)
		testkit.Same(t, "it waits for its share", time.Since(begun), maxWait)
		third := acquire("b", nil)
		begun = time.Now()
		acquire("c", errOverloaded)
		testkit.Same(t, "it waits for the total", time.Since(begun), maxWait)
		time.AfterFunc(time.Second, first)
		begun = time.Now()
		first = acquire("a", nil)
		testkit.Same(t, "it waits for a slot that is released after a second", time.Since(begun), time.Second)
		for _, release := range []func(){first, second, third} {
			release()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(l.shares) != 0 || len(l.total) != 0 {
			t.Errorf("%d keys and %d slots are left", len(l.shares), len(l.total))
		}
	})
}

// A slot that is released at once stays taken for a while.
func TestLimiterPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Total: 10, PerKey: 2, Wait: maxWait, Pace: 100 * time.Millisecond})
		begun := time.Now()
		for range 10 {
			release, err := l.Acquire(t.Context(), "a")
			testkit.Must(t, err)
			release()
		}
		testkit.Same(t, "ten requests, two at a time, take", time.Since(begun), 400*time.Millisecond)
		time.Sleep(time.Minute)
	})
}

// A caller who is gone does not wait, and was not refused.
func TestLimiterCancelled(t *testing.T) {
	l := New(Options{Total: 1, PerKey: 1, Wait: maxWait, Busy: errBusy})
	release, err := l.Acquire(t.Context(), "a")
	testkit.Must(t, err)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, key := range []string{"a", "b"} { // of whom one waits for its share and one for the total
		testkit.ErrorIs(t, key, testkit.ErrorOf(l.Acquire(ctx, key)), context.Canceled)
	}
}

// A caller whose share does not move is told so: it is not to blame.
func TestLimiterStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Total: 9, PerKey: 2, Wait: maxWait, Busy: errBusy, Stuck: errStuck})
		first, _ := l.Acquire(t.Context(), "a")
		second, _ := l.Acquire(t.Context(), "a")
		testkit.ErrorIs(t, "while no slot is freed", testkit.ErrorOf(l.Acquire(t.Context(), "a")), errStuck)
		if _, err := l.TryAcquire(t.Context(), "a"); err == nil {
			t.Error("a slot is free")
		}
		for _, c := range []struct {
			what string
			want error
		}{{"a slot that was held for longer than a caller waits", errStuck}, {"a slot that was held for a second", errBusy}} {
			next := make(chan func())
			go func() {
				release, _ := l.Acquire(t.Context(), "a") // gets the slot that is freed
				next <- release
			}()
			synctest.Wait()
			time.AfterFunc(time.Second, first)
			testkit.ErrorIs(t, c.what, testkit.ErrorOf(l.Acquire(t.Context(), "a")), c.want)
			first = <-next
			if errors.Is(c.want, errStuck) { // begin again with a young one
				first()
				first, _ = l.Acquire(t.Context(), "a")
			}
		}
		second()
		testkit.ErrorIs(t, "a slot is free", testkit.ErrorOf(l.TryAcquire(t.Context(), "a")), nil)
	})
}
