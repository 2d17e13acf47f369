package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/testkit"
)

// While PostgreSQL does not answer, queued creates end when their clients disconnect;
// those that were sent to it do not. When it answers again, no create that was
// cancelled in the queue is stored, and none is stored twice.
func TestCreatesDoNotPileUp(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, pgtest.Options{TCP: true})
	s := newSite(t).on(cluster.Database(t))
	p := startProxied(t, s.on(withParameter(t, s.database, "lock_timeout", "1min")), "--metrics", "--database-timeout", "1m")
	p.must(t, 201, "POST", "/note/submission", note("before"))

	// Both of the statements that the server has under way at a time wait for
	// a lock. Then nothing comes from the database any more.
	unlock := lockSubmissions(t, s.database)
	const sent, waiting = 31, 200
	awaitMetric := func(name string, holds func(float64) bool) {
		t.Helper()
		testkit.Eventually(t, name, func() bool { return holds(metric(t, p.process, name)) })
	}
	first := p.createMany(t.Context(), t, "first", 1)
	awaitMetric("formulary_database_connections_used", func(n float64) bool { return n == 1 })
	others := p.createMany(t.Context(), t, "other", sent-1)
	awaitMetric("formulary_database_connections_used", func(n float64) bool { return n == 2 })
	cure := poison(t, p.proxy, `{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`)

	ctx, giveUp := context.WithCancel(t.Context())
	queued := p.createMany(ctx, t, "queued", waiting)
	const inFlight = "formulary_http_requests_in_flight" // with the request for the metrics
	awaitMetric(inFlight, func(n float64) bool { return n == sent+waiting+1 })
	giveUp()
	if acked := queued(); len(acked) > 0 {
		t.Errorf("acknowledged without the database: %q", acked)
	}
	awaitMetric(inFlight, func(n float64) bool { return n <= sent+1 })

	unlock()
	cure()
	acked := append(first(), others()...)
	awaitMetric(inFlight, func(n float64) bool { return n == 1 })
	testkit.Eventually(t, "it is ready again", func() bool { return ready(t, p.process) == http.StatusOK })
	p.must(t, 201, "POST", "/note/submission", note("after"))
	times := map[string]int{}
	for _, text := range p.submissions(t, "note") {
		if times[text]++; strings.HasPrefix(text, "queued") || times[text] > 1 {
			t.Errorf("%q is stored, %d times by now", text, times[text])
		}
	}
	for _, text := range append(acked, "before", "after") {
		if times[text] != 1 {
			t.Errorf("%q was acknowledged and is stored %d times", text, times[text])
		}
	}
}

// createMany begins so many creates at a time. When all have ended it returns
// the texts of those that were acknowledged.
func (p *process) createMany(ctx context.Context, t *testing.T, name string, count int) (acked func() []string) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var texts []string
	for i := range count {
		wg.Go(func() {
			text := fmt.Sprint(name, " ", i)
			r, err := p.call(ctx, "POST", "/note/submission", note(text))
			switch {
			case err == nil && r.status == http.StatusCreated:
				mu.Lock()
				defer mu.Unlock()
				texts = append(texts, text)
			case err == nil && r.status != http.StatusServiceUnavailable, err != nil && !errors.Is(err, context.Canceled):
				t.Errorf("create %q: status %d, %v", text, r.status, err)
			}
		})
	}
	return func() []string {
		wg.Wait()
		return texts
	}
}

// withParameter is a database's URL with one more setting of its connections.
func withParameter(t *testing.T, database, name, value string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

// lockSubmissions makes all statements on submissions wait until unlock is called.
func lockSubmissions(t *testing.T, database string) (unlock func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `BEGIN; LOCK TABLE submissions`); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if _, err := conn.Exec(t.Context(), `ROLLBACK`); err != nil {
			t.Fatal(err)
		}
	}
}
