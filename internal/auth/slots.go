package auth

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// maxWaiting bounds each of the two queues for a slot.
	maxWaiting = 256
	// maxWait is how long an attempt waits for a slot. It is also the RetryAfter of
	// a BusyError.
	maxWait = 5 * time.Second
)

// BusyError means that too many other logins are under way. The password was not
// checked.
type BusyError struct {
	RetryAfter time.Duration // whole seconds, at least one
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("too many logins at the same time, try again in %s", e.RetryAfter)
}

// hashSlots is a semaphore around the hashing of passwords. Trusted attempts
// are always served before strangers, and strangers hold at most half of the
// slots, so that a flood of guesses does not delay the people who logged in
// before. Both queues are bounded in length and in time.
type hashSlots struct {
	total        int
	forStrangers int

	mu               sync.Mutex
	running          int
	strangersRunning int
	trusted          []*slotWaiter // first come, first served
	strangers        []*slotWaiter
}

type slotWaiter struct {
	trusted bool
	granted chan struct{} // closed under the lock of hashSlots
}

func newHashSlots(total int) *hashSlots {
	return &hashSlots{total: total, forStrangers: max(1, total/2)}
}

// hashingCores leaves half of the cores for everything else.
func hashingCores() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// acquire waits for a slot. The caller must call release once. The error is a
// *BusyError or that of ctx.
func (s *hashSlots) acquire(ctx context.Context, trusted bool) (release func(), err error) {
	w := &slotWaiter{trusted: trusted, granted: make(chan struct{})}
	if !s.enqueue(w) {
		return nil, &BusyError{RetryAfter: maxWait}
	}
	timeout := time.NewTimer(maxWait)
	defer timeout.Stop()
	select {
	case <-w.granted:
	case <-ctx.Done():
	case <-timeout.C:
		if s.dequeue(w) {
			return nil, &BusyError{RetryAfter: maxWait}
		}
	}
	// The slot may have been granted in the same moment as ctx ended.
	if err := ctx.Err(); err != nil {
		if !s.dequeue(w) {
			s.release(w)
		}
		return nil, err
	}
	return func() { s.release(w) }, nil
}

// enqueue reports whether there was room in the queue.
func (s *hashSlots) enqueue(w *slotWaiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.queueOf(w)
	if len(*queue) >= maxWaiting {
		return false
	}
	*queue = append(*queue, w)
	s.grant()
	return true
}

// dequeue takes a waiter out of its queue. It reports false if the waiter was
// granted a slot already.
func (s *hashSlots) dequeue(w *slotWaiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.queueOf(w)
	i := slices.Index(*queue, w)
	if i < 0 {
		return false
	}
	*queue = slices.Delete(*queue, i, i+1)
	return true
}

func (s *hashSlots) release(w *slotWaiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if !w.trusted {
		s.strangersRunning--
	}
	s.grant()
}

// grant hands out the free slots. s.mu is held.
func (s *hashSlots) grant() {
	for s.running < s.total {
		queue := &s.trusted
		if len(s.trusted) == 0 {
			if len(s.strangers) == 0 || s.strangersRunning >= s.forStrangers {
				return
			}
			queue = &s.strangers
			s.strangersRunning++
		}
		s.running++
		close((*queue)[0].granted)
		*queue = slices.Delete(*queue, 0, 1)
	}
}

func (s *hashSlots) queueOf(w *slotWaiter) *[]*slotWaiter {
	if w.trusted {
		return &s.trusted
	}
	return &s.strangers
}
