package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// ledger records the outcome of creates.
type ledger struct {
	mu       sync.Mutex
	sent     int              // names the next text, so that no two are the same
	acked    map[int64]string // by id
	doubtful map[string]bool  // in doubt: answered with 503 or not at all; may be stored, once
}

func newLedger() *ledger { return &ledger{acked: map[int64]string{}, doubtful: map[string]bool{}} }

func (l *ledger) nextText() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	return fmt.Sprintf("note %d ✓", l.sent)
}

func (l *ledger) counts() (acked, doubtful int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked), len(l.doubtful)
}

// moreAcked waits until count more creates are acknowledged.
func (l *ledger) moreAcked(t *testing.T, count int) {
	t.Helper()
	before, _ := l.counts()
	testkit.Eventually(t, fmt.Sprintf("%d more are acknowledged", count), func() bool {
		now, _ := l.counts()
		return now >= before+count
	})
}

// moreDoubtful waits until count more creates have failed.
func (l *ledger) moreDoubtful(t *testing.T, count int) {
	t.Helper()
	_, before := l.counts()
	testkit.Eventually(t, fmt.Sprintf("%d more are refused", count), func() bool {
		_, now := l.counts()
		return now >= before+count
	})
}

// check compares what is stored with the recorded outcomes: everything acknowledged
// is stored, nothing is stored twice, and nothing that was not sent or was refused.
func (l *ledger) check(t *testing.T, stored map[int64]string) {
	t.Helper()
	for id, text := range l.acked {
		if stored[id] != text {
			t.Errorf("submission %d was acknowledged as %q and is %q", id, text, stored[id])
		}
	}
	times := map[string]int{}
	for id, text := range stored {
		if times[text]++; times[text] > 1 {
			t.Errorf("%q is stored more than once", text)
		}
		if l.acked[id] != text && !l.doubtful[text] {
			t.Errorf("submission %d is %q, which was not acknowledged", id, text)
		}
	}
	t.Logf("%d acknowledged, %d in doubt, %d stored", len(l.acked), len(l.doubtful), len(stored))
}

// load is a number of clients. Each creates one submission after the other.
type load struct {
	*ledger
	send     func(ctx context.Context, turn int, text string) (response, error)
	mayBreak bool // servers are killed: then a connection may break
	stopped  chan struct{}
	wg       sync.WaitGroup
}

// startLoad starts so many clients, which use the servers in turns.
func startLoad(t *testing.T, l *ledger, clients int, mayBreak bool, urls ...string) *load {
	t.Helper()
	return startSending(t, l, clients, mayBreak, func(ctx context.Context, turn int, text string) (response, error) {
		req, err := request(ctx, urls[turn%len(urls)], "POST", "/note/submission", note(text))
		if err != nil {
			return response{}, err
		}
		return do(client, req)
	})
}

func startSending(t *testing.T, l *ledger, clients int, mayBreak bool,
	send func(ctx context.Context, turn int, text string) (response, error),
) *load {
	t.Helper()
	ld := &load{ledger: l, send: send, mayBreak: mayBreak, stopped: make(chan struct{})}
	for i := range clients {
		ld.wg.Go(func() {
			for turn := i; !ld.isStopped(); turn++ {
				ld.submit(t, turn)
			}
		})
	}
	t.Cleanup(ld.stop)
	return ld
}

func (l *load) isStopped() bool {
	select {
	case <-l.stopped:
		return true
	default:
		return false
	}
}

// stop ends the load. It returns after the last answer.
func (l *load) stop() {
	if !l.isStopped() {
		close(l.stopped)
	}
	l.wg.Wait()
}

// submit creates one submission and records the outcome. Anything but success or a
// 503 with Retry-After fails the test.
func (l *load) submit(t *testing.T, turn int) {
	text := l.nextText()
	r, err := l.send(context.Background(), turn, text)
	l.mu.Lock()
	defer l.mu.Unlock()
	var s submission
	switch {
	case l.mayBreak && errors.Is(err, syscall.ECONNREFUSED): // it was not sent
	case l.mayBreak && err != nil:
		l.doubtful[text] = true
	case err != nil:
		t.Errorf("no answer: %v", err)
	case r.status == http.StatusServiceUnavailable && r.header.Get("Retry-After") != "":
		l.doubtful[text] = true
	case r.status != http.StatusCreated:
		t.Errorf("status %d, Retry-After %q: %s", r.status, r.header.Get("Retry-After"), r.body)
	default:
		if err := json.Unmarshal([]byte(r.body), &s); err != nil {
			t.Errorf("an acknowledgement that can't be read: %v: %s", err, r.body)
		}
		if before, twice := l.acked[s.ID]; twice {
			t.Errorf("id %d was given twice: %q and %q", s.ID, before, text)
		}
		l.acked[s.ID] = text
	}
}

// keep stores what watch reads.
func keep(t *testing.T, p *process) (path string) {
	t.Helper()
	var s submission
	for i := range 3 {
		body := p.must(t, 201, "POST", "/kept/submission", note(fmt.Sprint("kept ", i))).body
		must(t, json.Unmarshal([]byte(body), &s))
	}
	return fmt.Sprint("/kept/submission/", s.ID)
}

// watch reads a stored submission until the load stops. A read may fail with 503,
// but must not return an empty list or a 404.
func (l *load) watch(t *testing.T, path string, urls ...string) {
	t.Helper()
	for _, url := range urls {
		l.wg.Go(func() {
			for !l.isStopped() {
				look(t, url, "/kept/submission", 3)
				look(t, url, path, 1)
			}
		})
	}
}

func look(t *testing.T, url, path string, want int) {
	req, err := request(context.Background(), url, "GET", path, "")
	if err != nil {
		t.Error(err)
		return
	}
	r, err := do(client, req)
	var found struct {
		ID int64 `json:"id"`
	}
	var list []any
	switch {
	case err != nil:
		t.Errorf("GET %s: %v", path, err)
	case r.status == http.StatusServiceUnavailable && r.header.Get("Retry-After") != "":
	case r.status != http.StatusOK:
		t.Errorf("GET %s: status %d: %s", path, r.status, r.body)
	case want == 1:
		if err := json.Unmarshal([]byte(r.body), &found); err != nil || found.ID == 0 {
			t.Errorf("GET %s: %v: %s", path, err, r.body)
		}
	default:
		if err := json.Unmarshal([]byte(r.body), &list); err != nil || len(list) != want {
			t.Errorf("GET %s: %d instead of %d, %v: %s", path, len(list), want, err, r.body)
		}
	}
}
