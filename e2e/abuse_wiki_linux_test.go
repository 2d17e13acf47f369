package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startSlowWiki starts a server beside a wiki that answers after 100 milliseconds.
func startSlowWiki(t *testing.T) *process {
	t.Helper()
	wiki := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-time.After(100 * time.Millisecond)
		answerAs(w, r, "")
	}))
	t.Cleanup(wiki.Close)
	return launch(t, exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--log-format", "json",
		"--data", filepath.Join(t.TempDir(), "data"),
		"--pages", "mediawiki+"+wiki.URL+"/api.php", "--users", "wiki", "--wiki-recheck", "1s"))
}

// useForm has somebody use a form for two seconds.
func (p *process) useForm(t *testing.T) {
	t.Helper()
	next := time.NewTicker(250 * time.Millisecond) // what the wiki has told counts for a second
	defer next.Stop()
	for range 8 {
		<-next.C
		r, err := p.get(t.Context(), client, "/page/1/form/note", cookieHeaderOf("Ben"))
		if err != nil || r.status != http.StatusOK {
			t.Fatalf("the page: %d, %v: %s", r.status, err, r.body)
		}
		r, err = p.callAs(t.Context(), "Ben", passwordOf("Ben"), "POST", "/note/submission", note("by Ben"))
		if err != nil || r.status != http.StatusCreated {
			t.Fatalf("a create: %d, %v: %s", r.status, err, r.body)
		}
	}
}

// Nobody shuts others out of a live wiki, and none of this takes much memory.
func TestLiveWikiUnderAttack(t *testing.T) {
	for name, attack := range map[string]func(t *testing.T, p *process) (stop func()){
		"strangers' cookies": attackWithCookies,
		"random pages":       attackWithPages,
		"long pages":         attackWithLongPages,
	} {
		t.Run(name, func(t *testing.T) {
			p := startSlowWiki(t)
			p.useForm(t)
			idle := p.memory(t, "VmRSS")
			stop := attack(t, p)
			p.useForm(t)
			stop()
			p.mustHaveStayedSmall(t, idle)
		})
	}
}

// attackWithCookies sends 150 requests a second, each with a random session cookie, and closes
// the connection without reading the answer.
func attackWithCookies(t *testing.T, p *process) (stop func()) {
	address := strings.TrimPrefix(p.url, "http://")
	ticks := time.NewTicker(time.Second / 150)
	t.Cleanup(ticks.Stop)
	return attackOn(t, 10, 450, func(ctx context.Context, _ int) {
		<-ticks.C
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return
		}
		_, _ = fmt.Fprintf(connection, "GET /page/1 HTTP/1.1\r\nHost: %s\r\nCookie: w_session=%s\r\n\r\n", address, rand.Text())
		_ = connection.Close()
	})
}

// attackWithPages asks for pages that are not there, on 400 connections.
func attackWithPages(t *testing.T, p *process) (stop func()) {
	c := newClient()
	c.Transport.(*http.Transport).MaxIdleConnsPerHost = 400
	return attackOn(t, 400, 400, func(ctx context.Context, n int) {
		r, err := p.get(ctx, c, fmt.Sprint("/page/", 100_000+n), cookieHeaderOf("Eve"))
		if err == nil && r.status != http.StatusNotFound && r.status != http.StatusTooManyRequests {
			t.Errorf("a page that is not there: %d", r.status)
		}
	})
}

// attackWithLongPages asks for many pages whose text takes much memory.
func attackWithLongPages(t *testing.T, p *process) (stop func()) {
	return attackOn(t, 8, 60+8, func(ctx context.Context, n int) {
		r, err := p.get(ctx, client, fmt.Sprint("/page/", 1000+n%60), cookieHeaderOf("Eve"))
		if err == nil && r.status != http.StatusOK {
			t.Errorf("a long page: %d", r.status)
		}
	})
}
