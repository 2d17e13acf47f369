package watch

import (
	"context"
	"time"
)

// stuckAfter is how long a look may take before it counts as stuck.
const stuckAfter = 5 * time.Second

// Loop looks at files again and again.
type Loop struct {
	// Interval is the pause between two looks. Where looking takes long, the
	// pause grows to ten times that, so that looking takes a tenth of a core
	// at most, but not beyond MaxInterval.
	Interval, MaxInterval time.Duration

	// Look looks once. It is never called while an earlier call is running.
	Look func()

	// Stuck is called with true when a look takes longer than five seconds,
	// and with false when that look ends after all.
	Stuck func(stuck bool)
}

// Run looks until ctx ends. It does not wait for a look that is running then:
// a disk that does not answer must not keep the process from ending.
func (l Loop) Run(ctx context.Context) {
	timer := time.NewTimer(l.Interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		start := time.Now()
		if !l.look(ctx) {
			return
		}
		timer.Reset(min(max(l.Interval, 10*time.Since(start)), max(l.Interval, l.MaxInterval)))
	}
}

// look reports whether the look ended before ctx did.
func (l Loop) look(ctx context.Context) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Look()
	}()
	late := time.NewTimer(stuckAfter)
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	case <-late.C:
	}
	l.Stuck(true)
	select {
	case <-done:
		l.Stuck(false)
		return true
	case <-ctx.Done():
		return false
	}
}
