package engine

import (
	"context"
	"fmt"

	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/store"
)

// Pinger implements Ping of store.Store.
type Pinger struct {
	Check func(context.Context) error // asks the database
	calls singleflight.Group
}

// Ping implements store.Store. It returns when ctx ends. Concurrent callers
// share one call, so that calls don't pile up behind an engine that is stuck.
func (p *Pinger) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // the select below would choose at random
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	//nolint:contextcheck // it is shared, so it must outlive the first caller
	done := p.calls.DoChan("", func() (any, error) {
		return nil, p.Check(context.Background())
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrUnavailable, ctx.Err())
	}
}
