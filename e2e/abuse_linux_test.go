package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// A body with very many unknown fields gets an answer that names some of them, and
// does not exhaust the memory.
func TestUnknownFieldsExhaustNothing(t *testing.T) {
	t.Parallel()
	p := start(t, newSite(t))
	p.must(t, 201, "POST", "/note/submission", note("first"))
	idle := p.memory(t, "VmRSS")
	var many, long strings.Builder
	for i := range 95_000 {
		fmt.Fprintf(&many, `"%05d":[],`, i)
	}
	for i := range 4_900 {
		fmt.Fprintf(&long, `"%0200d":[],`, i)
	}
	var bodies []string
	for _, names := range []string{many.String(), long.String()} {
		bodies = append(bodies, `{"fields":{`+strings.TrimSuffix(names, ",")+`}}`)
	}
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := range 8 {
				r, err := p.call(t.Context(), "POST", "/note/submission", bodies[i%2])
				// At most 16 bodies over 64 KiB are in memory for one user.
				if err != nil || r.status != http.StatusBadRequest && r.status != http.StatusTooManyRequests || len(r.body) > 64<<10 {
					t.Errorf("status %d, %d bytes, %v", r.status, len(r.body), err)
				}
			}
		})
	}
	wg.Wait()
	p.mustHaveStayedSmall(t, idle)
}

// mustServeOthers fails the test unless another user creates submissions while an attack
// runs on some connections.
func (p *process) mustServeOthers(t *testing.T, connections int, attack func(ctx context.Context, n int)) {
	t.Helper()
	stop := attackOn(t, connections, 2*connections, attack)
	defer stop()
	p.mustCreate(t, 100)
}

// mustCreate has another user create submissions.
func (p *process) mustCreate(t *testing.T, count int) {
	t.Helper()
	for range count {
		if r, err := p.callAs(t.Context(), "ben", "secret", "POST", "/kept/submission", note("x")); err != nil || r.status != http.StatusCreated {
			t.Fatalf("create: status %d, %v", r.status, err)
		}
	}
}

// attackOn does something on many connections until stop is called. Each turn has another
// number. It returns when some turns have begun.
func attackOn(t *testing.T, connections, some int, turn func(ctx context.Context, n int)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var turns atomic.Int64
	for range connections {
		wg.Go(func() {
			for ctx.Err() == nil {
				turn(ctx, int(turns.Add(1)))
			}
		})
	}
	testkit.EventuallyWithin(t, 3*testkit.WaitLimit, "the attack is under way", func() bool { return turns.Load() >= int64(some) })
	return func() {
		cancel()
		wg.Wait()
	}
}
