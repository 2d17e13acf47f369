package engine

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/formulary/formulary/internal/store"
)

const (
	// MaxBatch bounds how many operations share a transaction, and with it how long the
	// first of them waits for the others.
	MaxBatch = 512

	// MaxBatchBytes bounds what a transaction writes: a submission may be as large as a
	// request.
	MaxBatchBytes = 4 << 20
)

// Queue batches operations of concurrent callers, so that they share the cost of
// one transaction. Callers add operations and wait for their outcome; a worker
// takes all that are queued as one batch.
type Queue[T any] struct {
	ops     chan *Op[T]
	waiting atomic.Int64
	mu      sync.RWMutex // guards closed, and sends to ops against its close
	closed  bool
}

// Op is an operation whose caller waits for it. The worker may carry it out
// once Take has returned it.
type Op[T any] struct {
	Value T
	Err   error // the outcome; to be set before Done
	done  chan struct{}
	state atomic.Int32
}

// The states of an operation. It leaves queued once, for one of the others.
const (
	queued int32 = iota
	taken
	cancelled
)

// NewQueue returns a queue whose batches hold at most so many operations.
func NewQueue[T any](maxBatch int) *Queue[T] {
	return &Queue[T]{ops: make(chan *Op[T], maxBatch)}
}

// Do queues an operation and returns its outcome. When ctx ends before the
// worker has taken the operation, Do returns ctx's error, and the operation is
// not carried out. From then on Do does not return early: the operation is
// under way, and the caller must know how it ended.
func (q *Queue[T]) Do(ctx context.Context, value T) error {
	if err := ctx.Err(); err != nil { // select would choose at random
		return err
	}
	op := &Op[T]{Value: value, done: make(chan struct{}, 1)}
	if err := q.send(ctx, op); err != nil {
		return err
	}
	defer q.waiting.Add(-1)
	select {
	case <-op.done:
	case <-ctx.Done():
		if op.state.CompareAndSwap(queued, cancelled) {
			return ctx.Err()
		}
		<-op.done
	}
	return op.Err
}

// send waits until the queue has room.
func (q *Queue[T]) send(ctx context.Context, op *Op[T]) error {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return fmt.Errorf("%w: the store is closed", store.ErrUnavailable)
	}
	select {
	case q.ops <- op: // as nearly always: this costs half of a select with two channels
	default:
		select {
		case q.ops <- op:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	q.waiting.Add(1)
	return nil
}

// Next waits for an operation and returns it with all others that are queued by
// then. It reuses batch. The result is empty when the queue is closed and empty.
//
// Next yields for as long as that brings more operations: a worker that never
// yields gets small batches, and syncs more often.
func (q *Queue[T]) Next(batch []*Op[T]) []*Op[T] {
	op, ok := <-q.ops
	if !ok {
		return nil
	}
	batch = append(batch[:0], op)
	for before := 0; len(batch) > before; {
		before = len(batch)
		runtime.Gosched()
		batch = q.More(batch)
	}
	return batch
}

// More adds the operations that are queued now to the batch.
func (q *Queue[T]) More(batch []*Op[T]) []*Op[T] {
	for len(batch) < cap(q.ops) {
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

// Take claims the operations of a batch for the worker, and returns them
// without those that were cancelled. It reuses batch.
func Take[T any](batch []*Op[T]) []*Op[T] {
	return slices.DeleteFunc(batch, func(op *Op[T]) bool { return !op.state.CompareAndSwap(queued, taken) })
}

// Done wakes the caller. The worker must not use the operation afterwards.
func (op *Op[T]) Done() { op.done <- struct{}{} }

// Waiting is how many callers wait for an answer.
func (q *Queue[T]) Waiting() int { return int(q.waiting.Load()) }

// Close refuses further operations. Operations that are queued already can still
// be taken. Close may be called again.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.ops)
	}
}
