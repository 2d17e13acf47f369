//go:build release

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// nginx is Debian's nginx with the configuration of deploy/.
type nginx struct {
	plain, secure string // where it listens
	certificate   certificate
}

// startNginx runs it in a directory of its own, in front of three servers.
func startNginx(t *testing.T, replicas []*replica) *nginx {
	t.Helper()
	n := &nginx{
		plain: fmt.Sprint("127.0.0.1:", freePort(t)), secure: fmt.Sprint("127.0.0.1:", freePort(t)),
		certificate: newCertificate(t, t.TempDir()),
	}
	runNginx(t, n.secure, n.configuration(t, replicas))
	testkit.Eventually(t, "nginx serves", func() bool {
		r, err := n.get(n.client(""), "/healthz")
		return err == nil && r.status == http.StatusOK
	})
	return n
}

// findNginx also looks in /usr/sbin, which is not in the PATH of plain users.
func findNginx(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no nginx: run 'make test-deps', or install it (Debian: apt-get install nginx-light)")
	return ""
}

// configuration is the file with other addresses and another certificate.
func (n *nginx) configuration(t *testing.T, replicas []*replica) string {
	t.Helper()
	content, err := os.ReadFile("../deploy/nginx/formulary.conf")
	must(t, err)
	conf := string(content)
	for _, change := range [][2]string{
		{"server 127.0.0.1:8081 ", "server " + replicas[0].address + " "},
		{"server 127.0.0.1:8082 ", "server " + replicas[1].address + " "},
		{"server 127.0.0.1:8083 ", "server " + replicas[2].address + " "},
		{"listen 80;", "listen " + n.plain + ";"},
		{"listen 443 ", "listen " + n.secure + " "},
		{"/etc/ssl/formulary/fullchain.pem", n.certificate.cert},
		{"/etc/ssl/formulary/privkey.pem", n.certificate.key},
	} {
		if strings.Count(conf, change[0]) != 1 {
			t.Fatalf("formulary.conf has %q %d times, want it once", change[0], strings.Count(conf, change[0]))
		}
		conf = strings.Replace(conf, change[0], change[1], 1)
	}
	return conf
}

const nginxURL = "https://forms.example.com"

// client returns a client with an address of this machine.
func (n *nginx) client(from string) *http.Client { return n.certificate.client(n.secure, from) }

func (n *nginx) get(c *http.Client, path string) (response, error) {
	req, err := http.NewRequestWithContext(context.Background(), "GET", nginxURL+path, http.NoBody)
	if err != nil {
		return response{}, err
	}
	return do(c, req)
}

// submitThrough sends a note by way of nginx.
func submitThrough(c *http.Client) func(context.Context, int, string) (response, error) {
	return func(ctx context.Context, _ int, text string) (response, error) {
		req, err := request(ctx, nginxURL, "POST", "/note/submission", note(text))
		if err != nil {
			return response{}, err
		}
		return do(c, req)
	}
}

func startBehindNginx(t *testing.T, args ...string) (*nginx, []*replica) {
	t.Helper()
	replicas := startReplicas(t, newSharedSite(t), 3, append(args, "--trusted-proxies", "127.0.0.1")...)
	return startNginx(t, replicas), replicas
}

// nginx with TLS in front of three servers: requests are spread, and the servers see
// the addresses of the clients.
func TestBehindNginx(t *testing.T) {
	t.Parallel()
	n, replicas := startBehindNginx(t, "--metrics")
	t.Run("spread", func(t *testing.T) { testSpread(t, n, replicas) })
	t.Run("TLS", func(t *testing.T) { testNginxTLS(t, n) })
	t.Run("client address", func(t *testing.T) { testClientAddress(t, n, replicas) })
	t.Run("sizes", func(t *testing.T) { testSizes(t, n, replicas) })
}

func testSpread(t *testing.T, n *nginx, replicas []*replica) {
	send := submitThrough(n.client("127.0.0.4"))
	for i := range 30 {
		r, err := send(t.Context(), i, fmt.Sprint("spread ", i))
		if err != nil || r.status != http.StatusCreated {
			t.Fatalf("status %d, %v: %s", r.status, err, r.body)
		}
	}
	for i, r := range replicas {
		testkit.Eventually(t, fmt.Sprintf("server %d has served its part, and knows for whom", i), func() bool {
			return strings.Count(r.output(), `"remote":"127.0.0.4"`) >= 5
		})
	}
}

func testNginxTLS(t *testing.T, n *nginx) {
	c := n.client("")
	r, err := n.get(c, "/docs")
	if err != nil || r.status != http.StatusOK || !strings.HasPrefix(r.header.Get("Strict-Transport-Security"), "max-age=") {
		t.Errorf("/docs: %d, %v, %v", r.status, err, r.header)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+n.plain+"/docs?a=b", http.NoBody)
	must(t, err)
	req.Host = "forms.example.com"
	r, err = do(unredirected, req)
	to := r.header.Get("Location")
	if err != nil || r.status != http.StatusPermanentRedirect || to != nginxURL+"/docs?a=b" {
		t.Errorf("without TLS: %d to %q, %v", r.status, to, err)
	}
	if r, err = n.get(c, "/metrics"); err != nil || r.status != http.StatusNotFound {
		t.Errorf("/metrics is public: %d, %v", r.status, err)
	}
}

// Guesses are throttled by the address of the client, not that of nginx, and not the
// one in an X-Forwarded-For of the client.
func testClientAddress(t *testing.T, n *nginx, replicas []*replica) {
	login := func(c *http.Client, password string) response {
		t.Helper()
		req, err := request(t.Context(), nginxURL, "GET", "/note", "")
		must(t, err)
		req.SetBasicAuth("ann", password)
		req.Header.Set("X-Forwarded-For", "203.0.113.9")
		r, err := do(c, req)
		must(t, err)
		return r
	}
	guesser, other := n.client("127.0.0.5"), n.client("127.0.0.6")
	for range 45 { // each server has its own throttle
		login(guesser, "wrong")
	}
	if r := login(guesser, "wrong"); r.status != http.StatusTooManyRequests {
		t.Errorf("after 45 failures: status %d", r.status)
	}
	for range 3 {
		if r := login(other, "secret"); r.status != http.StatusOK {
			t.Errorf("from another address: status %d", r.status)
		}
	}
	logged := func() (lines int) {
		for _, r := range replicas {
			lines += strings.Count(r.output(), `"remote":"127.0.0.6"`)
		}
		return lines
	}
	testkit.Eventually(t, "the last logins are in the logs", func() bool { return logged() == 3 })
	for _, r := range replicas {
		if strings.Contains(r.output(), "203.0.113.9") {
			t.Error("the X-Forwarded-For of a client is trusted")
		}
	}
}

// A list of some megabytes comes whole, and too large a body is refused.
func testSizes(t *testing.T, n *nginx, replicas []*replica) {
	c := n.client("")
	for i := range 40 {
		r, err := submitThrough(c)(t.Context(), i, strings.Repeat("a long text ", 15_000))
		if err != nil || r.status != http.StatusCreated {
			t.Fatalf("status %d, %v: %s", r.status, err, r.body)
		}
	}
	req, err := request(t.Context(), nginxURL, "GET", "/note/submission", "")
	must(t, err)
	through, err := do(c, req)
	direct := replicas[0].must(t, 200, "GET", "/note/submission", "")
	if err != nil || through.status != http.StatusOK || through.body != direct.body || len(direct.body) < 7_000_000 {
		t.Errorf("status %d, %v; %d bytes of %d", through.status, err, len(through.body), len(direct.body))
	}
	r, err := submitThrough(c)(t.Context(), 0, strings.Repeat("x", 2<<20))
	if err != nil || r.status != http.StatusRequestEntityTooLarge || r.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("too large: %d, %v: %v", r.status, err, r.header)
	}
}

// readThrough reads by way of nginx, which tries the next server where one can't be
// reached: it always succeeds.
func readThrough(t *testing.T, c *http.Client) {
	req, err := request(context.Background(), nginxURL, "GET", "/kept/submission", "")
	if err != nil {
		t.Error(err)
		return
	}
	if r, err := do(c, req); err != nil || r.status != http.StatusOK || strings.Count(r.body, `"kept `) != 3 {
		t.Errorf("who reads: %d, %v: %s", r.status, err, r.body)
	}
}

// Servers behind nginx are restarted one after the other, and one is killed: nothing
// is lost or stored twice, and reads do not fail.
func TestRollingRestartBehindNginx(t *testing.T) {
	t.Parallel()
	n, replicas := startBehindNginx(t)
	keep(t, replicas[0].process)
	l := newLedger()
	c := n.client("")
	people := startSending(t, l, 8, false, submitThrough(c))
	people.wg.Go(func() {
		for !people.isStopped() {
			readThrough(t, c)
		}
	})
	for _, r := range replicas {
		l.moreAcked(t, 100)
		if err := r.terminate(t); err != nil {
			t.Errorf("exit: %v", err)
		}
		l.moreAcked(t, 50)
		r.start(t)
		// Not before nginx has come back to this one: all three would be down for it.
		testkit.Eventually(t, "nginx comes back", func() bool { return strings.Contains(r.output(), `"status":201`) })
	}
	l.moreAcked(t, 100)
	people.stop()
	t.Logf("%d were cut off before a server had begun with them", len(l.doubtful))
	clear(l.doubtful) // nothing of it may be stored
	l.check(t, replicas[0].submissions(t, "note"))

	people = startSending(t, l, 8, false, submitThrough(c))
	l.moreAcked(t, 50)
	replicas[1].kill()
	l.moreAcked(t, 100)
	people.stop()
	l.check(t, replicas[0].submissions(t, "note"))
}
