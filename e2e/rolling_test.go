package e2e

import (
	"context"
	"errors"
	"net/http/httptrace"
	"sync/atomic"
	"testing"
)

// Servers are restarted one after the other under load, as for an update. A client
// that tries the next server where one can't be reached, as a proxy does, has no
// failures; and a server answers every request that it has begun.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	replicas := startReplicas(t, newSharedSite(t), 3, "--access-log=false")
	l := newLedger()
	people := startSending(t, l, 8, true, following(urlsOf(replicas)))
	for range 2 {
		for _, r := range replicas {
			l.moreAcked(t, 100)
			if err := r.terminate(t); err != nil {
				t.Errorf("exit: %v", err)
			}
			l.moreAcked(t, 50)
			r.start(t)
		}
	}
	l.moreAcked(t, 100)
	people.stop()
	t.Logf("%d were cut off before a server had begun with them", len(l.doubtful))
	l.doubtful = nil // nothing of it may be stored
	l.check(t, replicas[0].submissions(t, "note"))
}

// following sends to one server after the other, as long as nothing was sent.
func following(urls []string) func(context.Context, int, string) (response, error) {
	return func(ctx context.Context, turn int, text string) (response, error) {
		var all error
		for i := range urls {
			var sent atomic.Bool
			trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
			req, err := request(httptrace.WithClientTrace(ctx, trace), urls[(turn+i)%len(urls)], "POST", "/note/submission", note(text))
			if err != nil {
				return response{}, err
			}
			r, err := do(client, req)
			if err == nil || sent.Load() {
				return r, err
			}
			all = errors.Join(all, err)
		}
		return response{}, all
	}
}
