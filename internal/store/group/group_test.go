package group

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/formulary/formulary/internal/store"
)

// leave has callers wait for operations, and returns their outcomes when all
// of them are answered.
func leave(q *Queue[int], values ...int) (outcomes func() []error) {
	errs := make([]error, len(values))
	done := make(chan struct{})
	for i, value := range values {
		go func() {
			errs[i] = q.Do(value)
			done <- struct{}{}
		}()
		synctest.Wait() // so that they are in this order
	}
	return func() []error {
		for range values {
			<-done
		}
		return errs
	}
}

func answer(batch []*Op[int], outcome func(int) error) {
	for _, op := range batch {
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

func TestEachIsAnsweredByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](10)
		outcomes := leave(q, 1, 2, 3)
		if q.Len() != 3 || q.Waiting() != 3 {
			t.Errorf("%d in the queue, %d wait, want 3", q.Len(), q.Waiting())
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
		if q.Len() != 0 || q.Waiting() != 0 {
			t.Errorf("%d in the queue, %d wait, want none", q.Len(), q.Waiting())
		}
	})
}

func TestBatchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](2)
		outcomes := leave(q, 1, 2, 3, 4, 5)
		for _, want := range [][]int{{1, 2}, {3, 4}, {5}} {
			batch := q.Next(nil)
			synctest.Wait() // those for whom there was no room come in
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
		first := leave(q, 1)
		batch := q.Next(nil)
		wantValues(t, "nobody came", q.More(batch), 1)
		second := leave(q, 2, 3)
		batch = q.More(batch)
		wantValues(t, "two came", batch, 1, 2, 3)
		answer(batch, func(int) error { return nil })
		first()
		second()
	})
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](10)
		from := make(chan string, 1)
		outcomes := leave(q, 1, 2, 3)
		batch, _, came := Until(q, nil, 2, from)
		wantValues(t, "enough", batch, 1, 2)
		if came {
			t.Error("nothing came")
		}
		go func() {
			synctest.Wait() // until it is waited for
			from <- "done"
		}()
		batch, what, came := Until(q, batch, 10, from)
		wantValues(t, "until it came", batch, 1, 2, 3)
		if !came || what != "done" {
			t.Errorf("%v, %q came", came, what)
		}
		q.Close()
		go func() {
			synctest.Wait()
			from <- "done"
		}()
		if _, _, came = Until(q, batch, 10, from); !came {
			t.Error("a queue that is closed is nothing to wait for")
		}
		answer(batch, func(int) error { return nil })
		outcomes()
	})
}

func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[int](10)
		outcomes := leave(q, 1)
		q.Close()
		q.Close()
		if err := q.Do(2); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("left after the end: %v, want %v", err, store.ErrUnavailable)
		}
		batch := q.Next(nil)
		wantValues(t, "left before the end", batch, 1)
		answer(batch, func(int) error { return nil })
		if err := outcomes()[0]; err != nil {
			t.Error(err)
		}
		wantValues(t, "at the end", q.Next(batch))
	})
}
