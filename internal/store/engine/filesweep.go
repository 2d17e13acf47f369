package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/formulary/formulary/internal/store"
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
			err := c.Purge(ctx)
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

// Purge implements store.Files: it marks what was dropped or is stale, and removes all that is marked.
func (c *Files) Purge(ctx context.Context) (err error) {
	defer func() { c.failing.Store(err != nil) }()
	if ids := c.running(); len(ids) > 0 {
		if _, err := c.engine.Exec(ctx, sqlTouch, touchEvery.Milliseconds(), ids); err != nil {
			return err
		}
	}
	if _, err := c.engine.Exec(ctx, sqlMarkStale, stagedFor.Milliseconds()); err != nil {
		return err
	}
	for {
		if err := c.markDropped(ctx); err != nil {
			return err
		}
		c.turn.Lock()
		more, err := c.removeSome(ctx, 0)
		c.turn.Unlock()
		if err != nil || !more {
			return err
		}
	}
}

// removeSome removes some chunks of a marked file that is not being read, if more than so many chunks are marked. It
// returns false when there is nothing to remove. The caller has the turn. Several replicas may remove the same file:
// its row stays until all of its chunks are gone.
func (c *Files) removeSome(ctx context.Context, moreThan int64) (more bool, err error) {
	var id int64
	err = QueryRow(ctx, c.engine, []any{&id}, sqlNextRemoved, moreThan, c.beingRead())
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return false, err
	}
	n, err := c.engine.Exec(ctx, sqlRemoveChunks, id, int64(removeChunks))
	if err == nil && n < removeChunks {
		_, err = c.engine.Exec(ctx, sqlRemoveFile, id)
	}
	if c.removed += n; c.removed >= freeChunks {
		c.removed = 0
		c.engine.FreeRoom(ctx)
	}
	return true, err
}

// running returns the files of uploads that have not ended, and of requests that go on: these may send further files
// for longer than a file may stay without a chunk.
func (c *Files) running() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.uploads, func(_ int64, upload context.Context) bool { return upload.Err() != nil })
	return slices.Collect(maps.Keys(c.uploads))
}

// beingRead returns the files that must not be removed yet.
func (c *Files) beingRead() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped = c.skipped || len(c.readers) > 0
	return slices.AppendSeq([]int64{}, maps.Keys(c.readers)) // not nil, which is NULL
}
