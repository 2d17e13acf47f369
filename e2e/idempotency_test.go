package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
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

// onlyOnce wants each of the texts to be stored exactly once.
func onlyOnce(t *testing.T, p *process, texts ...string) {
	t.Helper()
	count := map[string]int{}
	for _, text := range p.submissions(t, "note") {
		count[text]++
	}
	for _, text := range texts {
		testkit.Same(t, text, count[text], 1)
	}
	testkit.Same(t, "texts are stored, were sent", len(count), len(texts))
}

// repeaters send notes, each under a key of its own, and repeat each until it
// is acknowledged.
type repeaters struct {
	acked, replays atomic.Int64
	wg             sync.WaitGroup
	texts          []string
}

func startRepeaters(t *testing.T, count, each int, urls ...string) *repeaters {
	t.Helper()
	r := &repeaters{}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	for i := range count {
		for k := range each {
			r.texts = append(r.texts, fmt.Sprint(i, "-", k))
		}
		mine := r.texts[len(r.texts)-each:]
		r.wg.Go(func() {
			for _, text := range mine {
				r.repeat(ctx, t, text, urls)
			}
		})
	}
	return r
}

func (r *repeaters) repeat(ctx context.Context, t *testing.T, text string, urls []string) {
	for try := 0; ; try++ {
		a, err := createWithKey(ctx, urls[try%len(urls)], "key-"+text, text)
		switch {
		case err == nil && a.status == 201:
			if a.header.Get("Idempotency-Replayed") != "" {
				r.replays.Add(1)
			}
			r.acked.Add(1)
			return
		case err == nil && a.status != http.StatusServiceUnavailable:
			t.Errorf("%s: %d %s", text, a.status, a.body)
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("%s: not acknowledged: %v", text, err)
			return
		case <-time.After(20 * time.Millisecond): // as a client would wait before the next try
		}
	}
}

// more waits until so many more are acknowledged, or all.
func (r *repeaters) more(t *testing.T, n int64) {
	t.Helper()
	want := min(r.acked.Load()+n, int64(len(r.texts)))
	testkit.Eventually(t, "more are acknowledged", func() bool { return r.acked.Load() >= want })
}

// check waits for the end, and wants each note once.
func (r *repeaters) check(t *testing.T, p *process) {
	t.Helper()
	r.wg.Wait()
	t.Logf("%d of %d were repeats of what was stored", r.replays.Load(), len(r.texts))
	onlyOnce(t, p, r.texts...)
}

// A server is killed again and again under clients that repeat what is not
// acknowledged.
func TestRepeatsUnderKills(t *testing.T) {
	t.Parallel()
	engines(t, testRepeatsUnderKills)
}

func testRepeatsUnderKills(t *testing.T, s site) {
	p := newReplica(t, s, "--access-log=false")
	p.start(t)
	r := startRepeaters(t, 8, 40, "http://"+p.address)
	for range testkit.Rounds(2, 5) {
		r.more(t, 30)
		p.kill()
		p.start(t)
	}
	r.check(t, p.process)
}
