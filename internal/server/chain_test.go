package server

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestSecurityHeadersAreOnEveryResponseAndMayBeOverridden(t *testing.T) {
	c := newTestChain(Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/own":
			w.Header().Set("Referrer-Policy", "same-origin")
			w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		case "/panic":
			panic("oh")
		}
	})})
	for _, path := range []string{"/", "/healthz", "/panic", "/own"} {
		want := map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
			"Server": "", "Strict-Transport-Security": "",
		}
		if path == "/own" {
			want["Referrer-Policy"], want["Cross-Origin-Resource-Policy"] = "same-origin", "cross-origin"
		}
		h := c.get(path).Header()
		for name, value := range want {
			if got := h.Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", path, name, got, value)
			}
		}
	}
	if nosniff[0] != "nosniff" || noReferrer[0] != "no-referrer" || sameOrigin[0] != "same-origin" {
		t.Error("a handler has changed the shared header values")
	}
}

// Only TLS of the server itself tells browsers to use nothing else. Behind a proxy,
// that is the proxy's to say.
func TestStrictTransportSecurity(t *testing.T) {
	proxied := newTestChain(Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Forwarded-Proto", "https")
	testkit.Same(t, "TLS of a proxy", proxied.serve(r).Header().Get("Strict-Transport-Security"), "")
	s, client := startTLS(t, Options{Handler: http.NotFoundHandler()})
	for _, path := range []string{"/", "/healthz"} {
		resp, err := client.Get(s.URL() + path)
		must(t, err)
		_ = resp.Body.Close()
		testkit.Same(t, path, resp.Header.Get("Strict-Transport-Security"), "max-age=31536000")
	}
}

func TestPanicBeforeTheHeaderIsAProblem(t *testing.T) {
	c := newTestChain(Options{
		AccessLog: logged, Metrics: NewMetrics(),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Length", "5")
			panic("index out of range, say")
		}),
	})
	r := httptest.NewRequest("GET", "/some/path?secret-query=1", nil)
	r.Header.Set("Authorization", "Basic c2VjcmV0")
	r.Header.Set("X-Request-Id", "the-id")
	w := c.serve(r)

	wantProblem(t, w, http.StatusInternalServerError)
	if h := w.Header(); h.Get("Content-Encoding") != "" || h.Get("Content-Length") == "5" || h.Get("X-Request-Id") != "the-id" {
		t.Errorf("headers of the answer that failed: %v", h)
	}
	if strings.Contains(w.Body.String(), "index") {
		t.Errorf("the panic is shown: %s", w.Body)
	}
	lines := c.log.lines(t, "panic while handling a request")
	if len(lines) != 1 {
		t.Fatalf("%d lines", len(lines))
	}
	line := lines[0]
	if line["level"] != "ERROR" || line["request_id"] != "the-id" || line["panic"] != "index out of range, say" {
		t.Errorf("line %v", line)
	}
	if stack, _ := line["stack"].(string); !strings.Contains(stack, "chain_test.go") {
		t.Errorf("stack %q", stack)
	}
	for _, secret := range []string{"secret-query", "c2VjcmV0", "Basic"} {
		if strings.Contains(c.log.String(), secret) {
			t.Errorf("%q is in the log: %s", secret, c.log)
		}
	}
	wantLoggedStatus(t, c, 500)
}

func TestPanicDuringShutdownClosesTheConnection(t *testing.T) {
	c := newTestChain(Options{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") })})
	c.closing.Store(true)
	if h := c.get("/").Header(); h.Get("Connection") != "close" {
		t.Errorf("headers of the last answer: %v", h)
	}
}

func TestPanicAfterTheHeaderAborts(t *testing.T) {
	c := newTestChain(Options{AccessLog: logged, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half a")
		panic(errors.New("oh"))
	})})
	if v := catch(func() { c.get("/") }); v != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so, too
		t.Errorf("panicked with %v", v)
	}
	testkit.Same(t, "lines about the panic", len(c.log.lines(t, "panic while handling a request")), 1)
	wantLoggedStatus(t, c, 500)
	testkit.Same(t, "in flight", c.inFlight.Load(), 0)
}

func TestAbortIsPassedOnSilently(t *testing.T) {
	c := newTestChain(Options{AccessLog: logged, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})})
	if v := catch(func() { c.get("/") }); v != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so, too
		t.Errorf("panicked with %v", v)
	}
	testkit.Same(t, "lines about the panic", len(c.log.lines(t, "panic while handling a request")), 0)
	wantLoggedStatus(t, c, 500)
}

func TestImpossibleStatusIsA500(t *testing.T) {
	c := newTestChain(Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(7)
	})})
	wantProblem(t, c.get("/"), http.StatusInternalServerError)
}

func catch(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func wantLoggedStatus(t *testing.T, c testChain, status int) {
	t.Helper()
	lines := c.log.lines(t, "request")
	if len(lines) != 1 || lines[0]["status"] != float64(status) {
		t.Errorf("access log %v, want one line with status %d", lines, status)
	}
}
