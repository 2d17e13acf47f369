package server

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/formulary/formulary/internal/testkit"
)

// fields returns the members of a line that are the same in each run.
func fields(line map[string]any) map[string]any {
	for _, k := range []string{"time", "level", "msg", "duration"} {
		delete(line, k)
	}
	return line
}

func TestAccessLog(t *testing.T) {
	c := newTestChain(Options{
		AccessLog:      logged,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.(Reporter).SetUser("alice")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, "12345")
		}),
	})
	r := httptest.NewRequest("POST", "/pages/1/forms?name=private", strings.NewReader("body"))
	r.Header.Set("X-Request-Id", "id-1")
	r.Header.Set("X-Forwarded-For", "198.51.100.7")
	r.Header.Set("Authorization", "Basic c2VjcmV0")
	c.serve(r)

	lines := c.log.lines(t, "request")
	if len(lines) != 1 {
		t.Fatalf("%d lines: %s", len(lines), c.log)
	}
	if _, ok := lines[0]["duration"].(float64); !ok || lines[0]["level"] != "INFO" {
		t.Errorf("line %v", lines[0])
	}
	want := map[string]any{
		"method": "POST", "path": "/pages/1/forms", "status": 201.0, "bytes": 5.0,
		"request_id": "id-1", "remote": "198.51.100.7", "user": "alice",
	}
	testkit.Diff(t, "", fields(lines[0]), want)
	for _, secret := range []string{"private", "c2VjcmV0", "body"} {
		if strings.Contains(c.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

func TestAccessLogOfAnonymousRequestsNamesNobody(t *testing.T) {
	for name, report := range map[string]func(Reporter){
		"user first": func(r Reporter) { r.SetUser("alice"); r.Anonymous() },
		"no user":    func(r Reporter) { r.Anonymous() },
		"again":      func(r Reporter) { r.Anonymous(); r.SetUser("alice"); r.Anonymous() },
		"panic":      func(r Reporter) { r.SetUser("alice"); r.Anonymous(); panic("oh") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestChain(Options{
				AccessLog: logged,
				Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { report(w.(Reporter)) }),
			})
			r := httptest.NewRequest("POST", "/x", nil)
			r.RemoteAddr = "198.51.100.7:4711"
			r.Header.Set("X-Request-Id", "alice-laptop")
			c.serve(r)

			lines := c.log.lines(t, "request")
			if len(lines) != 1 || lines[0]["anonymous"] != true {
				t.Fatalf("lines %v", lines)
			}
			for _, k := range []string{"user", "remote"} {
				if v, ok := lines[0][k]; ok {
					t.Errorf("%s is logged: %v", k, v)
				}
			}
			for _, trace := range []string{"alice", "198.51.100.7"} {
				if strings.Contains(c.log.String(), trace) {
					t.Errorf("%q is in the log: %s", trace, c.log)
				}
			}
		})
	}
}

// The last report of a handler counts: a user may be named after a call of
// Anonymous, and only the address logged after SetUser("").
func TestAccessLogUsesTheLastReport(t *testing.T) {
	for name, test := range map[string]struct {
		report func(Reporter)
		user   any
	}{
		"user":      {func(r Reporter) { r.Anonymous(); r.SetUser("alice") }, "alice"},
		"no user":   {func(r Reporter) { r.SetUser("alice"); r.SetUser("") }, nil},
		"no report": {func(Reporter) {}, nil},
		"lifted":    {func(r Reporter) { r.Anonymous(); r.SetUser("") }, nil},
	} {
		c := newTestChain(Options{
			AccessLog: logged,
			Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { test.report(w.(Reporter)) }),
		})
		r := httptest.NewRequest("POST", "/x", nil)
		r.RemoteAddr = "198.51.100.7:4711"
		r.Header.Set("X-Request-Id", "id-1")
		c.serve(r)
		line := c.log.lines(t, "request")[0]
		if line["user"] != test.user || line["remote"] != "198.51.100.7" || line["request_id"] != "id-1" || line["anonymous"] != nil {
			t.Errorf("%s: %v", name, line)
		}
	}
}

// RequestID returns the id that the access log has.
func TestRequestIDIsThatOfTheAccessLog(t *testing.T) {
	for _, foreign := range []string{"", "alice-laptop"} {
		for _, anonymous := range []bool{false, true} {
			var told string
			c := newTestChain(Options{
				AccessLog: logged,
				Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if anonymous {
						w.(Reporter).Anonymous()
					}
					told = w.(Reporter).RequestID()
				}),
			})
			r := httptest.NewRequest("POST", "/x", nil)
			r.Header.Set("X-Request-Id", foreign)
			c.serve(r)
			if logged, _ := c.log.lines(t, "request")[0]["request_id"].(string); told != logged || (told == "") != (anonymous && foreign != "") {
				t.Errorf("foreign id %q, anonymous %t: the handler gets %q, the access log has %q", foreign, anonymous, told, logged)
			}
		}
	}
}

func TestAccessLogOfOwnEndpoints(t *testing.T) {
	c := newTestChain(Options{AccessLog: logged, Metrics: NewMetrics()})
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if w := c.get(path); w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if lines := c.log.lines(t, "request"); len(lines) != 0 {
		t.Errorf("probes are logged: %v", lines)
	}
	c.ready.draining.Store(true)
	c.get("/readyz")
	wantLoggedStatus(t, c, 503)
}

func TestAccessLogLimitsWhatClientsChoose(t *testing.T) {
	c := newTestChain(Options{AccessLog: logged})
	r := httptest.NewRequest(strings.Repeat("M", 100), "/", nil)
	r.URL.Path = "/" + strings.Repeat("ü", 1000)
	c.serve(r)
	line := c.log.lines(t, "request")[0]
	path, method := line["path"].(string), line["method"].(string)
	if len(path) != 511 || !utf8.ValidString(path) || strings.ContainsRune(path, utf8.RuneError) {
		t.Errorf("path of %d bytes: %q", len(path), path)
	}
	testkit.Same(t, "method of bytes", len(method), maxLoggedMethod)
}

// Whatever a client sends, a request is one line, in which nothing acts on a terminal.
func TestAccessLogIsSafe(t *testing.T) {
	const hostile = "\x1b[31m \x7f \u009b \u202e \u2066 \xff \" \\"
	var buf bytes.Buffer
	for name, handler := range map[string]slog.Handler{
		"text": slog.NewTextHandler(LineEscaper{&buf}, nil), "json": slog.NewJSONHandler(LineEscaper{&buf}, nil),
	} {
		buf.Reset()
		c := newTestChain(Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.(Reporter).SetUser("alice" + hostile)
		})})
		c.opts.AccessLog = slog.New(handler)
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path = "/a\nlevel=ERROR msg=forged" + hostile
		c.serve(r)
		line := buf.String()
		if strings.Count(line, "\n") != 1 || strings.ContainsAny(line, "\x1b\x7f\u009b\u202e\u2066") || !utf8.ValidString(line) {
			t.Errorf("%s: %q", name, line)
		}
		if !strings.Contains(line, "alice") || !strings.Contains(line, "forged") {
			t.Errorf("%s: the line does not have the user or the path: %q", name, line)
		}
	}
}

func TestAccessLogCanBeOff(t *testing.T) {
	c := newTestChain(Options{})
	c.get("/x")
	if c.log.String() != "" {
		t.Errorf("log %s", c.log)
	}
}

func TestTruncate(t *testing.T) {
	for _, test := range []struct {
		in    string
		limit int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "abc"},
		{"aü", 2, "a"},
		{"a😀", 4, "a"},
		{"\xbf\xbf\xbf\xbf\xbf\xbf", 5, ""},
	} {
		if got := truncate(test.in, test.limit); got != test.want {
			t.Errorf("truncate(%q, %d) = %q", test.in, test.limit, got)
		}
	}
}
