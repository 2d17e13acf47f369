package engine

import (
	"context"
	"maps"
	"slices"
	"time"
)

// StartSweeping begins to remove files that belong to no submission.
func (c *Files) StartSweeping() {
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go func() {
		defer close(c.stopped)
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for failing := false; ; {
			select {
			case <-c.wake:
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			err := c.sweep(ctx)
			if err != nil && !failing && ctx.Err() == nil {
				c.log.Warn("deleted files can't be removed now; it is tried again every minute", "error", err)
			}
			failing = err != nil
		}
	}()
}

// SweepSoon has marked files removed soon.
func (c *Files) SweepSoon() {
	select {
	case c.wake <- struct{}{}:
	default: // it will look again anyway
	}
}

// StopSweeping waits for the chunk that is being removed. The rest is removed
// after the next start. To be called once.
func (c *Files) StopSweeping() {
	c.stop()
	<-c.stopped
}

// sweep marks what is stale, and removes all that is marked.
func (c *Files) sweep(ctx context.Context) error {
	if err := c.markAbandoned(ctx); err != nil {
		return err
	}
	if ids := c.running(); len(ids) > 0 {
		if err := c.engine.Touch(ctx, ids); err != nil {
			return err
		}
	}
	if err := c.engine.MarkStale(ctx, stagedFor); err != nil {
		return err
	}
	for more := true; more; {
		err := c.inTurn(ctx, func() (err error) {
			more, err = c.engine.RemoveSome(ctx, 0, c.beingRead())
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// running returns the staged files whose request has not ended: it may send
// further files for longer than a file may stay without a chunk.
func (c *Files) running() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.staged, func(_ int64, upload context.Context) bool { return upload.Err() != nil })
	return slices.Collect(maps.Keys(c.staged))
}

// beingRead returns the files that must not be removed yet.
func (c *Files) beingRead() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped = c.skipped || len(c.readers) > 0
	return slices.Collect(maps.Keys(c.readers))
}

// markAbandoned marks what could not be marked when it was abandoned, because
// the disk was full, say.
func (c *Files) markAbandoned(ctx context.Context) error {
	c.mu.Lock()
	ids := slices.Collect(maps.Keys(c.unmarked))
	c.mu.Unlock()
	for _, id := range ids {
		if err := c.engine.MarkRemoved(ctx, id); err != nil {
			return err
		}
		c.mu.Lock()
		delete(c.unmarked, id)
		c.mu.Unlock()
	}
	return nil
}
