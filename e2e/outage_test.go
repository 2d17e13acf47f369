package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/testkit"
)

// PostgreSQL is stopped, crashed or killed under load, and started again. Two servers
// lose nothing, store nothing twice, answer 503 meanwhile, and recover by themselves.
func TestDatabaseEndsUnderLoad(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*pgtest.Cluster) error{
		"stopped": (*pgtest.Cluster).Stop, "stopped at once": (*pgtest.Cluster).Crash, "killed": (*pgtest.Cluster).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := pgtest.New(t, pgtest.Options{Durable: true})
			replicas := startReplicas(t, newSite(t).on(cluster.Database(t)), 2, "--access-log=false")
			urls, path := urlsOf(replicas), keep(t, replicas[0].process)
			l := newLedger()
			people := startLoad(t, l, 6, false, urls...)
			people.watch(t, path, urls...)
			for range testkit.Rounds(1, 3) {
				l.moreAcked(t, 100)
				must(t, end(cluster))
				l.moreDoubtful(t, 6)
				testkit.Same(t, "/readyz during the outage", ready(t, replicas[0].process), http.StatusServiceUnavailable)
				resume(t, cluster)
			}
			l.moreAcked(t, 100)
			people.stop()
			for _, r := range replicas {
				l.check(t, r.submissions(t, "note"))
				testkit.Eventually(t, "it is ready again", func() bool { return ready(t, r.process) == http.StatusOK })
			}
		})
	}
}

// resume starts a cluster again. After a kill that fails until the other processes
// have noticed that the first one is gone, and ended.
func resume(t *testing.T, cluster *pgtest.Cluster) {
	t.Helper()
	var err error
	testkit.Eventually(t, "PostgreSQL is started again", func() bool {
		err = cluster.Resume()
		return err == nil
	})
}

func ready(t *testing.T, p *process) int {
	t.Helper()
	return fetch(t, p, "/readyz").status
}

// fetch reads a path that needs no credentials.
func fetch(t *testing.T, p *process, path string) response {
	t.Helper()
	r, err := p.get(context.Background(), client, path, "")
	must(t, err)
	return r
}

// A server ends after SIGTERM even when it waits for a database that does not answer.
func TestEndsBesideASilentDatabase(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, pgtest.Options{TCP: true})
	p := startProxied(t, newSite(t).on(cluster.Database(t)), "--metrics", "--database-timeout", "1m")
	p.must(t, 201, "POST", "/note/submission", note("before"))
	defer poison(t, p.proxy, `{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`)()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if r, err := p.call(context.Background(), "POST", "/note/submission", note("during")); err == nil && r.status != 503 {
			t.Errorf("answered with %d: %s", r.status, r.body)
		}
	}()
	// One of the two requests in flight is the one for the metrics. The first sweep may use a connection too.
	testkit.Eventually(t, "the request waits for the database", func() bool {
		metrics := fetch(t, p.process, "/metrics").body
		return strings.Contains(metrics, "formulary_http_requests_in_flight 2\n") &&
			!strings.Contains(metrics, "formulary_database_connections_used 0\n")
	})
	_ = p.terminate(t) // its status is not the point: a request was cut off
	<-answered
}
