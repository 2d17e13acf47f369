package engine

import (
	"context"
	"encoding/json"
	"time"
)

// Events are the methods of store.Events that all engines have in common, and the statements for them. Those that
// are about some hooks take their names as a JSON array.
type Events struct {
	Exec func(ctx context.Context, sql string, args ...any) (changed int64, err error)

	RetryFailed, Discard string // a thousand events at a time, so that others don't wait for long
	RetryDelayed         string
	AdoptEvents          string // adds queues that events lack
	RemoveFailed         string // that failed more milliseconds ago, at most so many
}

// RetryEvents implements store.Events.
func (e Events) RetryEvents(ctx context.Context, hooks []string) (failed int64, err error) {
	return e.change(ctx, e.RetryFailed, hooks)
}

// DiscardEvents implements store.Events. Queues that are due are found to be empty.
func (e Events) DiscardEvents(ctx context.Context, hooks []string) (discarded int64, err error) {
	return e.change(ctx, e.Discard, hooks)
}

// change runs a statement until it changes nothing, and makes the queues due.
func (e Events) change(ctx context.Context, sql string, hooks []string) (changed int64, err error) {
	names, err := json.Marshal(hooks)
	for n := int64(1); n > 0 && err == nil; changed += n {
		n, err = e.Exec(ctx, sql, string(names))
	}
	if err == nil {
		_, err = e.Exec(ctx, e.AdoptEvents)
	}
	if err == nil {
		_, err = e.Exec(ctx, e.RetryDelayed, string(names))
	}
	return changed, Wrap(err, "retry or discard events")
}

// TidyEvents implements store.Events.
func (e Events) TidyEvents(ctx context.Context, age time.Duration, limit int) (removed int, err error) {
	n, err := e.Exec(ctx, e.RemoveFailed, age.Milliseconds(), int64(limit))
	if err == nil {
		_, err = e.Exec(ctx, e.AdoptEvents)
	}
	return int(n), Wrap(err, "tidy events")
}
