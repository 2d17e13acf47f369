package auth

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
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

// loginSlots limits how many passwords are verified at the same time. Known users take
// one slot. Strangers also need one of a second, smaller set, and wait there: so a
// flood of guesses never stands in front of known users. Both queues are bounded in
// length and in time.
type loginSlots struct {
	all, strangers               *semaphore.Weighted
	knownWaiting, strangeWaiting atomic.Int64
}

func newLoginSlots(total int) *loginSlots {
	return &loginSlots{all: semaphore.NewWeighted(int64(total)), strangers: semaphore.NewWeighted(int64(max(1, total/2)))}
}

// hashingCores leaves half of the cores for everything else.
func hashingCores() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// acquire waits for a slot. The caller must call release once. The error is a
// *BusyError or that of ctx.
func (s *loginSlots) acquire(ctx context.Context, known bool) (release func(), err error) {
	waiting, needed := &s.strangeWaiting, []*semaphore.Weighted{s.strangers, s.all}
	if known {
		waiting, needed = &s.knownWaiting, needed[1:]
	}
	defer waiting.Add(-1)
	if waiting.Add(1) > maxWaiting {
		return nil, &BusyError{RetryAfter: maxWait}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait, &BusyError{RetryAfter: maxWait})
	defer cancel()
	for i, slots := range needed {
		if slots.Acquire(ctx, 1) != nil {
			releaseAll(needed[:i])
			return nil, context.Cause(ctx)
		}
	}
	return func() { releaseAll(needed) }, nil
}

func releaseAll(held []*semaphore.Weighted) {
	for _, slots := range held {
		slots.Release(1)
	}
}
