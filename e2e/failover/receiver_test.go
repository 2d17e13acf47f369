//go:build release

package failover

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// receiver is what a webhook of all servers calls.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	told  map[string]int64 // submissions by webhook-id
	calls int
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{told: map[string]int64{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var event struct{ Data struct{ ID int64 } }
		err := json.NewDecoder(req.Body).Decode(&event)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls++
		id := req.Header.Get("webhook-id")
		if before, again := r.told[id]; err != nil || again && before != event.Data.ID {
			t.Errorf("event %s tells of %d and %d: %v", id, before, event.Data.ID, err)
		}
		r.told[id] = event.Data.ID
	}))
	t.Cleanup(r.Close)
	return r
}

// file is the file of hooks for the servers.
func (r *receiver) file(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hooks.yaml")
	testkit.WriteFile(t, file, fmt.Sprintf("hooks: [{name: crm, url: %q, secret: %s, allowPrivate: true}]\n", r.URL, strings.Repeat("AAAA", 8)))
	return file
}

// check waits until as many events have come as submissions are stored. Each must be told
// by one event.
func (r *receiver) check(t *testing.T, stored map[string][]int64) {
	t.Helper()
	var want, got []int64
	for _, ids := range stored {
		want = append(want, ids...)
	}
	// Half a minute for a lease that was not settled, and the rest for the backlog.
	testkit.EventuallyWithin(t, 2*time.Minute, fmt.Sprint(len(want), " events have come"), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.told) >= len(want)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.told {
		got = append(got, id)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d events tell of other submissions than the %d that are stored", len(got), len(want))
	}
	t.Logf("%d events came in %d calls", len(got), r.calls)
}
