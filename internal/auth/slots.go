package auth

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// maxWaiting bounds each of the two queues for a slot.
	maxWaiting = 256
	// maxWait is how long an attempt waits for a slot. It is also the RetryAfter of
	// errBusy.
	maxWait = 5 * time.Second
)

var errBusy = &ThrottledError{RetryAfter: maxWait, Busy: true}

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
// errBusy or that of ctx.
func (s *loginSlots) acquire(ctx context.Context, known bool) (release func(), err error) {
	waiting, needed := &s.strangeWaiting, []*semaphore.Weighted{s.strangers, s.all}
	if known {
		waiting, needed = &s.knownWaiting, needed[1:]
	}
	defer waiting.Add(-1)
	if waiting.Add(1) > maxWaiting {
		return nil, errBusy
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait, errBusy)
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
