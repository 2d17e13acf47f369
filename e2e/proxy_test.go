package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/testkit"
)

// proxied is a server with a proxy of its own between it and PostgreSQL.
type proxied struct {
	*replica
	proxy *toxiproxy.Proxy
}

func startProxied(t *testing.T, s site, args ...string) proxied {
	t.Helper()
	proxy, database := proxyTo(t, s.database)
	s.database = database
	return proxied{startReplicas(t, s, 1, args...)[0], proxy}
}

// proxyTo puts a proxy in front of a database.
func proxyTo(t *testing.T, database string) (proxy *toxiproxy.Proxy, through string) {
	t.Helper()
	u, err := url.Parse(database)
	must(t, err)
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.New(io.Discard))
	proxy = toxiproxy.NewProxy(server, "postgres", fmt.Sprint("127.0.0.1:", freePort(t)), u.Host)
	startProxy(t, proxy)
	t.Cleanup(proxy.Stop)
	u.Host = proxy.Listen
	return proxy, u.String()
}

// startProxy lets a proxy accept connections. Tests of another process may look
// whether its port is free just then.
func startProxy(t *testing.T, proxy *toxiproxy.Proxy) {
	t.Helper()
	testkit.Eventually(t, "the port is free", func() bool {
		err := proxy.Start()
		if err != nil && !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// poison adds a toxic, and returns what takes it away again.
func poison(t *testing.T, proxy *toxiproxy.Proxy, toxic string) (cure func()) {
	t.Helper()
	added, err := proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
	if err != nil {
		t.Fatalf("%s: %v", toxic, err)
	}
	return func() {
		t.Helper()
		must(t, proxy.Toxics.RemoveToxic(context.Background(), added.Name))
	}
}

// trouble is something that happens to the connections of a server.
type trouble func(t *testing.T, p proxied, l *ledger)

// Faults of the connection between a server and its database.
var troubles = map[string]trouble{
	"cut": func(t *testing.T, p proxied, l *ledger) {
		for range 8 {
			l.moreAcked(t, 20)
			p.proxy.Stop()
			startProxy(t, p.proxy)
		}
	},
	"cut and gone for a while": func(t *testing.T, p proxied, l *ledger) {
		for range 3 {
			l.moreAcked(t, 20)
			p.proxy.Stop()
			l.moreDoubtful(t, 4)
			startProxy(t, p.proxy)
		}
	},
	// Each connection breaks off in the middle of an answer, now and then after a commit.
	"cut in an answer": func(t *testing.T, p proxied, l *ledger) {
		defer poison(t, p.proxy, `{"type":"limit_data","stream":"downstream","attributes":{"bytes":4000}}`)()
		l.moreAcked(t, 100)
	},
	"cut in a question": func(t *testing.T, p proxied, l *ledger) {
		defer poison(t, p.proxy, `{"type":"limit_data","stream":"upstream","attributes":{"bytes":6000}}`)()
		l.moreAcked(t, 100)
	},
	"reset": func(t *testing.T, p proxied, l *ledger) {
		for _, stream := range []string{"upstream", "downstream"} {
			cure := poison(t, p.proxy, `{"type":"reset_peer","stream":"`+stream+`","attributes":{"timeout":0}}`)
			l.moreDoubtful(t, 4)
			cure()
			l.moreAcked(t, 20)
		}
	},
	"slow": func(t *testing.T, p proxied, l *ledger) {
		defer poison(t, p.proxy, `{"type":"latency","stream":"downstream","attributes":{"latency":150,"jitter":100}}`)()
		l.moreAcked(t, 20)
	},
	// The connection stays open, but no data passes: a statement is executed and its
	// answer is lost, or the statement itself is lost.
	"answers vanish": func(t *testing.T, p proxied, l *ledger) {
		defer poison(t, p.proxy, `{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`)()
		l.moreDoubtful(t, 4)
		testkit.Same(t, "/readyz without an answer from the database", ready(t, p.process), http.StatusServiceUnavailable)
	},
	"questions vanish": func(t *testing.T, p proxied, l *ledger) {
		defer poison(t, p.proxy, `{"type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)()
		l.moreDoubtful(t, 4)
	},
}

// Whatever happens to the connections of a server under load, nothing is lost or
// stored twice, requests fail with 503 at worst, and the server recovers by itself.
func TestConnectionsInTrouble(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, pgtest.Options{TCP: true})
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t).on(cluster.Database(t))
			p := startProxied(t, s, "--access-log=false", "--database-timeout", "1s")
			path := keep(t, p.process)
			l := newLedger()
			people := startLoad(t, l, 4, false, p.url)
			people.watch(t, path, p.url)
			l.moreAcked(t, 20)
			trouble(t, p, l)
			l.moreAcked(t, 50) // it recovers by itself
			testkit.Eventually(t, "it is ready again", func() bool { return ready(t, p.process) == http.StatusOK })
			people.stop()
			l.check(t, p.submissions(t, "note"))
			assertNoPassword(t, s, p.output())
		})
	}
}
