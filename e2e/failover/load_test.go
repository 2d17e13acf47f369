//go:build release

package failover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

const submissions = "/rest/forms/1.0/page/1/form/note/submission"

// load is writers that submit texts, each text once, and remember the answers.
type load struct {
	urls   []string
	client http.Client
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu           sync.Mutex
	acknowledged map[string]int64 // the text, and the id that it was given
	refused      map[string]bool  // texts that were answered otherwise
	strange      []string         // answers that are neither 201 nor 503
	last         time.Time        // of the latest acknowledgement
	gap          time.Duration    // the longest between two of them since mark
	slowest      time.Duration    // answer since mark
}

func startLoad(t *testing.T, urls []string) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{
		urls: urls, cancel: cancel, acknowledged: map[string]int64{}, refused: map[string]bool{}, last: time.Now(),
		client: http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: writers}},
	}
	for w := range writers {
		l.done.Go(func() { l.write(ctx, w) })
	}
	t.Cleanup(l.stop)
	return l
}

func (l *load) stop() {
	l.cancel()
	l.done.Wait()
}

// write submits at a measured pace: this is no benchmark, and what it fills has
// to be read again after each kill.
func (l *load) write(ctx context.Context, writer int) {
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		text := fmt.Sprintf("writer %d, text %d", writer, n)
		began := time.Now()
		// Not ctx: what was begun is answered, so that it can be judged.
		id, status, err := l.submit(context.WithoutCancel(ctx), l.urls[writer%len(l.urls)], text)
		l.note(text, id, status, err, began)
	}
}

func (l *load) submit(ctx context.Context, url, text string) (id int64, status int, err error) {
	body := fmt.Appendf(nil, `{"fields":{"text":{"fieldId":"text","value":%q}}}`, text)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+submissions, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.SetBasicAuth("ann", "secret")
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	var stored struct{ ID int64 }
	content, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode == http.StatusCreated {
		err = json.Unmarshal(content, &stored)
	}
	return stored.ID, resp.StatusCode, err
}

func (l *load) note(text string, id int64, status int, err error, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.slowest = max(l.slowest, now.Sub(began))
	switch {
	case err == nil && status == http.StatusCreated:
		l.acknowledged[text] = id
		l.gap = max(l.gap, now.Sub(l.last))
		l.last = now
	case err != nil:
		l.strange = append(l.strange, fmt.Sprintf("%s: %v", text, err))
		l.refused[text] = true
	case err == nil && status != http.StatusServiceUnavailable:
		l.strange = append(l.strange, fmt.Sprintf("%s: status %d", text, status))
		l.refused[text] = true
	default:
		l.refused[text] = true
	}
}

// mark begins another measurement.
func (l *load) mark() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gap, l.slowest = 0, 0
}

// measured is the longest time without an acknowledgement since mark, and the
// longest that an answer took.
func (l *load) measured() (gap, slowest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gap, l.slowest
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acknowledged)
}

// runFor returns when writes succeed again, and that long after it.
func (l *load) runFor(t *testing.T, d time.Duration) {
	t.Helper()
	before := l.count()
	// Twice as many as writers: some answers of before may be on their way.
	testkit.EventuallyWithin(t, 2*time.Minute, "submissions are acknowledged again", func() bool { return l.count() > before+2*writers })
	until := time.Now().Add(d)
	testkit.EventuallyWithin(t, 2*d+time.Minute, "time passes", func() bool { return time.Now().After(until) })
}

type tally struct{ acknowledged, refused, refusedButStored, lost, doubled int }

// check reads everything, and holds it against what was answered before.
func (l *load) check(t *testing.T) (sum tally) {
	t.Helper()
	l.mu.Lock()
	acknowledged, refused := map[string]int64{}, map[string]bool{}
	for text, id := range l.acknowledged {
		acknowledged[text] = id
	}
	for text := range l.refused {
		refused[text] = true
	}
	strange := l.strange
	l.mu.Unlock()
	sum.acknowledged, sum.refused = len(acknowledged), len(refused)
	if len(strange) > 0 {
		t.Errorf("%d answers that are neither 201 nor 503, such as %s", len(strange), strange[0])
	}
	found := l.read(t)
	for text, id := range acknowledged {
		if ids := found[text]; len(ids) == 0 || ids[0] != id {
			sum.lost++
			t.Errorf("%q was acknowledged as %d and is there as %v", text, id, ids)
		}
	}
	for text, ids := range found {
		if len(ids) > 1 {
			sum.doubled++
			t.Errorf("%q is there more than once: %v", text, ids)
		}
		if refused[text] {
			sum.refusedButStored++
		}
	}
	return sum
}

// read returns the ids under which each text is stored.
func (l *load) read(t *testing.T) map[string][]int64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.urls[0]+submissions, nil)
	testkit.Must(t, err)
	req.SetBasicAuth("ann", "secret")
	resp, err := l.client.Do(req)
	testkit.Must(t, err)
	defer func() { _ = resp.Body.Close() }()
	var list []struct {
		ID     int64
		Fields map[string]struct{ Value string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("read all submissions: status %d, %v", resp.StatusCode, err)
	}
	found := map[string][]int64{}
	for _, s := range list {
		found[s.Fields["text"].Value] = append(found[s.Fields["text"].Value], s.ID)
	}
	return found
}
