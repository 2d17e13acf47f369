package e2e

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// createWithKey submits a note under an Idempotency-Key.
func createWithKey(ctx context.Context, url, key, text string) (response, error) {
	req, err := request(ctx, url, "POST", "/note/submission", note(text))
	if err != nil {
		return response{}, err
	}
	req.Header.Set("Idempotency-Key", key)
	return do(client, req)
}

// A server is killed again and again under clients that repeat what is not acknowledged.
func TestRepeatsUnderKills(t *testing.T) {
	engines(t, func(t *testing.T, s site) {
		l, p := newLedger(), newReplica(t, s, "--access-log=false")
		var replays atomic.Int64
		p.start(t)
		people := startSending(t, l, 8, false, func(_ context.Context, _ int, text string) (response, error) {
			for {
				r, err := createWithKey(t.Context(), "http://"+p.address, url.QueryEscape(text), text)
				if err == nil && r.status != http.StatusServiceUnavailable {
					if r.header.Get("Idempotency-Replayed") != "" {
						replays.Add(1)
					}
					return r, nil
				}
				select {
				case <-t.Context().Done():
					return r, err
				case <-time.After(20 * time.Millisecond): // as a client would wait before the next try
				}
			}
		})
		for range testkit.Rounds(3, 6) {
			l.moreAcked(t, 50)
			p.kill()
			p.start(t)
		}
		people.stop()
		t.Logf("%d were repeats of what was stored", replays.Load())
		l.check(t, p.submissions(t, "note"))
	})
}
