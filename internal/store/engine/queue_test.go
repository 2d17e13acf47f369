package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

var ctx = context.Background()

// doAll starts one caller for each value. outcomes waits for all of them.
func doAll(q *Queue[int], values ...int) (outcomes func() []error) {
	errs := make([]error, len(values))
	done := make(chan struct{})
	for i, value := range values {
		go func() {
			errs[i] = q.Do(ctx, value)
			done <- struct{}{}
		}()
		synctest.Wait() // so that they are queued in this order
	}
	return func() []error {
		for range values {
			<-done
		}
		return errs
	}
}

func answer(batch []*Op[int], outcome func(int) error) {
	for _, op := range Take(batch) {
		op.Err = outcome(op.Value)
		op.Done()
	}
}

func valuesOf(batch []*Op[int]) (values []int) {
	for _, op := range batch {
		values = append(values, op.Value)
	}
	return values
}

func wantValues(t *testing.T, what string, batch []*Op[int], want ...int) {
	t.Helper()
	if got := valuesOf(batch); !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestEachCallerGetsItsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](10)
		outcomes := doAll(q, 1, 2, 3)
		if len(q.ops) != 3 || q.Waiting() != 3 {
			t.Errorf("%d in the queue, %d wait, want 3", len(q.ops), q.Waiting())
		}
		batch := q.Next(nil)
		wantValues(t, "batch", batch, 1, 2, 3)
		odd := errors.New("odd")
		answer(batch, func(value int) error {
			if value%2 == 1 {
				return odd
			}
			return nil
		})
		if got := outcomes(); !slices.Equal(got, []error{odd, nil, odd}) {
			t.Errorf("outcomes %v", got)
		}
		if len(q.ops) != 0 || q.Waiting() != 0 {
			t.Errorf("%d in the queue, %d wait, want none", len(q.ops), q.Waiting())
		}
	})
}

func TestBatchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](2)
		outcomes := doAll(q, 1, 2, 3, 4, 5)
		for _, want := range [][]int{{1, 2}, {3, 4}, {5}} {
			batch := q.Next(nil)
			synctest.Wait() // the callers that were blocked by the full queue are queued
			batch = q.More(batch)
			wantValues(t, "batch", batch, want...)
			answer(batch, func(int) error { return nil })
		}
		outcomes()
	})
}

func TestMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](10)
		first := doAll(q, 1)
		batch := q.Next(nil)
		wantValues(t, "nobody came", q.More(batch), 1)
		second := doAll(q, 2, 3)
		batch = q.More(batch)
		wantValues(t, "two came", batch, 1, 2, 3)
		answer(batch, func(int) error { return nil })
		first()
		second()
	})
}

func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](10)
		outcomes := doAll(q, 1)
		q.Close()
		q.Close()
		testkit.ErrorIs(t, "left after the end", q.Do(ctx, 2), store.ErrUnavailable)
		batch := q.Next(nil)
		wantValues(t, "left before the end", batch, 1)
		answer(batch, func(int) error { return nil })
		if err := outcomes()[0]; err != nil {
			t.Error(err)
		}
		wantValues(t, "at the end", q.Next(batch))
	})
}

// doUntil starts a caller whose context ends when stop is called.
func doUntil(q *Queue[int], value int) (stop func(), outcome <-chan error) {
	leaving, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- q.Do(leaving, value) }()
	synctest.Wait()
	return cancel, done
}

// answered returns the outcome of a caller, which must be there without a worker.
func answered(t *testing.T, outcome <-chan error) error {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-outcome:
		return err
	default:
		t.Fatal("the caller still waits")
		return nil
	}
}

func TestCancelledWhileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](2)
		others := doAll(q, 1)
		leaveQueue, inQueue := doUntil(q, 2)
		stopSending, beforeQueue := doUntil(q, 3) // blocked: the queue is full
		stopSending()
		leaveQueue()
		for what, outcome := range map[string]<-chan error{"in the queue": inQueue, "before it": beforeQueue} {
			testkit.ErrorIs(t, what, answered(t, outcome), context.Canceled)
		}
		testkit.Same(t, "wait", q.Waiting(), 1)
		batch := Take(q.Next(nil))
		wantValues(t, "to be carried out", batch, 1)
		batch[0].Done()
		others()
	})
}

func TestCancelledAfterTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](2)
		stop, outcome := doUntil(q, 1)
		batch := Take(q.Next(nil))
		stop()
		synctest.Wait()
		select {
		case err := <-outcome:
			t.Fatalf("answered with %v before the operation was done", err)
		default:
		}
		refused := errors.New("refused")
		batch[0].Err = refused
		batch[0].Done()
		testkit.ErrorIs(t, "outcome", answered(t, outcome), refused)
	})
}

func TestCancelledBeforeDo(t *testing.T) {
	gone, cancel := context.WithCancel(ctx)
	cancel()
	q := NewQueue[int](100)
	for range 100 {
		if err := q.Do(gone, 1); !errors.Is(err, context.Canceled) {
			t.Fatalf("do: %v, want %v", err, context.Canceled)
		}
	}
	testkit.Same(t, "in the queue", len(q.ops), 0)
}

// TestCancelRace: an operation is either carried out and its caller gets its
// outcome, or it is not and the caller gets the error of its context.
func TestCancelRace(t *testing.T) {
	q := NewQueue[*atomic.Int32](8)
	go func() {
		for batch := q.Next(nil); len(batch) > 0; batch = q.Next(batch) {
			for _, op := range Take(batch) {
				op.Value.Add(1)
				op.Done()
			}
		}
	}()
	var callers sync.WaitGroup
	for range 32 {
		callers.Go(func() {
			for range 200 {
				leaving, cancel := context.WithCancel(ctx)
				go cancel()
				var done atomic.Int32
				want := int32(0)
				if q.Do(leaving, &done) == nil {
					want = 1
				}
				testkit.Same(t, "carried out times, the caller was told", done.Load(), want)
			}
		})
	}
	callers.Wait()
	q.Close()
}
