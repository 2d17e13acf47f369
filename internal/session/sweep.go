package session

import (
	"context"
	"time"
)

const (
	// sweepInterval is short beside Lifetime, so that few sessions in the store
	// have expired.
	sweepInterval = 10 * time.Minute
	// sweepBatch bounds one statement, so that others do not wait for it.
	sweepBatch = 500
)

// Run removes expired sessions until ctx ends. Several servers may do so at
// the same time.
func (s *Sessions) Run(ctx context.Context) {
	tick := time.NewTicker(s.sweepEvery)
	defer tick.Stop()
	for {
		s.report(ctx, "remove expired sessions", s.sweep(ctx))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Sessions) sweep(ctx context.Context) error {
	for {
		removed, err := s.store.DeleteExpiredSessions(ctx, s.now(), sweepBatch)
		if err != nil || removed < sweepBatch {
			return err
		}
	}
}
