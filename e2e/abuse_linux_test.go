package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
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

// medianCreate is how long a create of another user takes, by the median of many.
func (p *process) medianCreate(t *testing.T) time.Duration {
	t.Helper()
	const creates = 100
	times := make([]time.Duration, creates)
	for i := range times {
		begun := time.Now()
		r, err := p.callAs(t.Context(), "ben", "secret", "POST", "/kept/submission", note("x"))
		if times[i] = time.Since(begun); err != nil || r.status != 201 {
			t.Fatalf("create: status %d, %v", r.status, err)
		}
	}
	slices.Sort(times)
	return times[creates/2]
}

// mustNotSlowOthers fails the test if creates of another user take more than five
// times as long, by the median, while an attack runs on some connections.
func (p *process) mustNotSlowOthers(t *testing.T, connections int, attack func(ctx context.Context, n int)) {
	t.Helper()
	p.mustCreateBeside(t, func() (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range connections {
			wg.Go(func() {
				for n := i; ctx.Err() == nil; n += connections {
					attack(ctx, n)
				}
			})
		}
		return func() {
			cancel()
			wg.Wait()
		}
	})
}

// mustCreateBeside compares creates before and after begin.
func (p *process) mustCreateBeside(t *testing.T, begin func() (stop func())) {
	t.Helper()
	p.medianCreate(t) // warm up
	// Other programs on the machine can spoil a round, but not five of them.
	var alone, beside time.Duration
	for range 5 {
		alone = p.medianCreate(t)
		stop := begin()
		beside = p.medianCreate(t)
		stop()
		t.Logf("a create takes %s, and %s beside the attack", alone, beside)
		if beside <= 5*alone {
			return
		}
	}
	t.Errorf("a create takes %s, and %s beside the attack: more than 5 times", alone, beside)
}
