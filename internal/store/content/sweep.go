package content

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Start begins to remove contents that belong to no submission. Close ends it.
func (c *Contents) Start() {
	go func() {
		defer close(c.stopped)
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for failing := false; ; {
			select {
			case <-c.wake:
			case <-tick.C:
			case <-c.closing:
				return
			}
			err := c.sweep(context.Background())
			if err != nil && !failing {
				c.log.Warn("the contents of deleted files can't be removed now; it is tried again every minute", "error", err)
			}
			failing = err != nil
		}
	}()
}

// Wake has marked contents removed soon.
func (c *Contents) Wake() {
	select {
	case c.wake <- struct{}{}:
	default: // it will look again anyway
	}
}

// Close waits for the chunk that is being removed. The rest is removed after
// the next start. To be called once.
func (c *Contents) Close() {
	close(c.closing)
	<-c.stopped
}

// sweep marks what is stale, and removes all that is marked.
func (c *Contents) sweep(ctx context.Context) error {
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
	for more := true; more && !c.isClosing(); {
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

// running returns the staged contents whose upload has not ended: a request may
// send further files for longer than a content may stay without a chunk.
func (c *Contents) running() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.staged, func(_ int64, upload context.Context) bool { return upload.Err() != nil })
	return slices.Collect(maps.Keys(c.staged))
}

// beingRead returns the contents that must not be removed yet.
func (c *Contents) beingRead() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped = c.skipped || len(c.readers) > 0
	return slices.Collect(maps.Keys(c.readers))
}

func (c *Contents) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// markAbandoned marks what could not be marked when it was abandoned, because
// the disk was full, say.
func (c *Contents) markAbandoned(ctx context.Context) error {
	c.mu.Lock()
	ids := slices.Collect(maps.Keys(c.unmarked))
	c.mu.Unlock()
	for _, id := range ids {
		if err := c.engine.MarkLoose(ctx, id); err != nil {
			return err
		}
		c.mu.Lock()
		delete(c.unmarked, id)
		c.mu.Unlock()
	}
	return nil
}
