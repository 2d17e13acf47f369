package request

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A caller waits for a slot of its key, and no key waits for another.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(3, 2, maxWait, time.Second, "busy", "overloaded")
		acquire := func(key string, want error) func() {
			t.Helper()
			release, err := l.acquire(t.Context(), key)
			if !errors.Is(err, want) {
				t.Fatalf("%s: %v, want %v", key, err, want)
			}
			return release
		}
		first := acquire("a", nil)
		second := acquire("a", nil)
		begun := time.Now()
		acquire("a", l.busy)
		if waited := time.Since(begun); waited != maxWait {
			t.Errorf("it waits %s for its share", waited)
		}
		third := acquire("b", nil)
		begun = time.Now()
		acquire("c", l.overloaded)
		if waited := time.Since(begun); waited != maxWait {
			t.Errorf("it waits %s for the total", waited)
		}
		time.AfterFunc(time.Second, first)
		begun = time.Now()
		first = acquire("a", nil)
		if waited := time.Since(begun); waited != time.Second {
			t.Errorf("it waits %s for a slot that is released after a second", waited)
		}
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
		l := newLimiter(10, 2, maxWait, 100*time.Millisecond, "busy", "overloaded")
		begun := time.Now()
		for range 10 {
			release, err := l.acquire(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			release()
		}
		if took := time.Since(begun); took != 400*time.Millisecond {
			t.Errorf("ten requests, two at a time, take %s", took)
		}
		time.Sleep(time.Minute)
	})
}

// A caller who is gone does not wait.
func TestLimiterCancelled(t *testing.T) {
	l := newLimiter(1, 1, maxWait, 0, "busy", "overloaded")
	release, err := l.acquire(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.acquire(ctx, "a"); !errors.Is(err, l.busy) {
		t.Errorf("it gets %v", err)
	}
}
