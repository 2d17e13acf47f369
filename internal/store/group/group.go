// Package group brings operations of many callers together, so that they
// share the cost of one transaction, and answers each of them by itself.
package group

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/formulary/formulary/internal/store"
)

// Queue is where callers leave operations and wait for their outcome, and
// where a worker takes them from, as many as there are.
type Queue[T any] struct {
	ops     chan *Op[T]
	max     int
	pool    sync.Pool
	waiting atomic.Int64
	mu      sync.RWMutex // guards closed, and sends to ops against its close
	closed  bool
}

// Op is an operation that somebody waits for.
type Op[T any] struct {
	Value T
	Err   error // the outcome; to be set before Done
	done  chan struct{}
}

// NewQueue returns a queue whose batches hold at most so many operations: the
// first in a batch must not wait for the last of a flood.
func NewQueue[T any](maxBatch int) *Queue[T] {
	q := &Queue[T]{ops: make(chan *Op[T], maxBatch), max: maxBatch}
	q.pool.New = func() any { return &Op[T]{done: make(chan struct{}, 1)} }
	return q
}

// Do leaves an operation and returns its outcome. It does not return early:
// the operation may be under way, and the caller must know how it ended.
func (q *Queue[T]) Do(value T) error {
	op := q.pool.Get().(*Op[T])
	op.Value, op.Err = value, nil
	q.mu.RLock()
	if q.closed {
		q.mu.RUnlock()
		return fmt.Errorf("%w: the store is closed", store.ErrUnavailable)
	}
	q.ops <- op
	q.waiting.Add(1)
	q.mu.RUnlock()
	<-op.done
	q.waiting.Add(-1)
	err := op.Err
	var none T
	op.Value = none
	q.pool.Put(op)
	return err
}

// Next waits for an operation and returns it with all that are ready by then,
// in batch's room; none when the queue is closed and empty.
//
// It lets those who are ready to leave an operation do so first, as long as
// there are any. That is no waiting: with nobody there it returns at once. But
// a worker that never sleeps would take few at a time, and pay for a
// transaction each time.
func (q *Queue[T]) Next(batch []*Op[T]) []*Op[T] {
	op, ok := <-q.ops
	if !ok {
		return nil
	}
	batch = append(batch[:0], op)
	for {
		before := len(batch)
		runtime.Gosched()
		batch = q.More(batch)
		if len(batch) == before || len(batch) == q.max {
			return batch
		}
	}
}

// More adds to the batch what is there by now.
func (q *Queue[T]) More(batch []*Op[T]) []*Op[T] {
	for len(batch) < q.max {
		select {
		case op, ok := <-q.ops:
			if !ok {
				return batch
			}
			batch = append(batch, op)
		default:
			return batch
		}
	}
	return batch
}

// Until adds to the batch until it holds enough, or until something comes from
// the channel, which it returns.
func Until[T, S any](q *Queue[T], batch []*Op[T], enough int, from <-chan S) (_ []*Op[T], what S, came bool) {
	ops := q.ops
	for len(batch) < min(enough, q.max) {
		select {
		case op, ok := <-ops:
			if !ok {
				ops = nil // closed: nobody will come
				continue
			}
			batch = append(batch, op)
		case what = <-from:
			return batch, what, true
		}
	}
	return batch, what, false
}

// Done answers the caller. The operation is not the worker's any more.
func (op *Op[T]) Done() { op.done <- struct{}{} }

// Len is how many operations wait to be taken. Tests wait for it.
func (q *Queue[T]) Len() int { return len(q.ops) }

// Waiting is how many callers wait for an answer.
func (q *Queue[T]) Waiting() int { return int(q.waiting.Load()) }

// Close refuses further operations. What was left before is still to be taken.
// It may be called again.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.ops)
	}
}
