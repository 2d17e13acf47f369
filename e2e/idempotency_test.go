package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
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

// sendUnread submits a note, and returns a connection on which the answer is
// never read, once the note is stored.
func sendUnread(t *testing.T, p *process, key, text string) net.Conn {
	t.Helper()
	req, err := request(t.Context(), p.url, "POST", "/note/submission", note(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", key)
	conn, err := net.Dial("tcp", req.URL.Host)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(conn)
	if err := req.Write(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, text+" is stored", func() bool {
		r, err := p.call(t.Context(), "GET", "/note/submission", "")
		return err == nil && strings.Contains(r.body, `"`+text+`"`)
	})
	return conn
}

// retry sends a note again, whose first answer was lost, and wants it to be
// stored once.
func retry(t *testing.T, p *process, key, text string) {
	t.Helper()
	r, err := createWithKey(t.Context(), p.url, key, text)
	if err != nil {
		t.Fatal(err)
	}
	if r.status != 201 || r.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s again: %d %v %s", text, r.status, r.header, r.body)
	}
	onlyOnce(t, p, text)
}

// onlyOnce wants each of the texts to be stored exactly once.
func onlyOnce(t *testing.T, p *process, texts ...string) {
	t.Helper()
	count := map[string]int{}
	for _, text := range p.submissions(t, "note") {
		count[text]++
	}
	for _, text := range texts {
		if count[text] != 1 {
			t.Errorf("%q is stored %d times", text, count[text])
		}
	}
	if len(count) != len(texts) {
		t.Errorf("%d texts are stored, %d were sent", len(count), len(texts))
	}
}

// The client's connection is cut after the commit and before it has read the
// answer.
func TestRepeatAfterTheConnectionIsCut(t *testing.T) {
	t.Parallel()
	engines(t, testRepeatAfterTheConnectionIsCut)
}

func testRepeatAfterTheConnectionIsCut(t *testing.T, s site) {
	p := start(t, s)
	conn := sendUnread(t, p, "key", "cut")
	if err := conn.(*net.TCPConn).SetLinger(0); err != nil { // a reset, not an end
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	retry(t, p, "key", "cut")
	if strings.Contains(p.output(), `"key"`) {
		t.Errorf("the log holds the key:\n%s", p.output())
	}
}

// The process is killed there, and the server that is started again recognises
// the repeat.
func TestRepeatAfterTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	engines(t, testRepeatAfterTheProcessIsKilled)
}

func testRepeatAfterTheProcessIsKilled(t *testing.T, s site) {
	p := newReplica(t, s, "--access-log=false")
	p.start(t)
	conn := sendUnread(t, p.process, "key", "killed")
	p.kill()
	_ = conn.Close()
	p.start(t)
	retry(t, p.process, "key", "killed")
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

// Two servers get the same key at the same moment.
func TestRepeatsOnTwoServersAtOnce(t *testing.T) {
	t.Parallel()
	replicas := startReplicas(t, newSharedSite(t), 2, "--access-log=false")
	urls := urlsOf(replicas)
	const rounds, callers = 20, 6
	var texts []string
	for round := range rounds {
		text := fmt.Sprint("round ", round)
		texts = append(texts, text)
		answers, errs := make([]response, callers), make([]error, callers)
		var ready, done sync.WaitGroup
		ready.Add(callers)
		for i := range callers {
			done.Go(func() {
				ready.Done()
				ready.Wait()
				answers[i], errs[i] = createWithKey(t.Context(), urls[i%2], strings.ReplaceAll(text, " ", "-"), text)
			})
		}
		done.Wait()
		firsts := 0
		for i, a := range answers {
			if errs[i] != nil || a.status != 201 || a.body != answers[0].body {
				t.Errorf("%s: %d %s %v, want 201 %s", text, a.status, a.body, errs[i], answers[0].body)
			}
			if a.header.Get("Idempotency-Replayed") == "" {
				firsts++
			}
		}
		if firsts != 1 {
			t.Errorf("%s: %d of the answers are no replay", text, firsts)
		}
	}
	onlyOnce(t, replicas[0].process, texts...)
}
