package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/problem"
	"github.com/formulary/formulary/internal/testkit"
)

// logBuffer collects JSON log lines, from any goroutine.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// lines returns the lines with the message, decoded.
func (b *logBuffer) lines(t *testing.T, msg string) []map[string]any {
	t.Helper()
	var found []map[string]any
	for line := range bytes.Lines([]byte(b.String())) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		if m["msg"] == msg {
			found = append(found, m)
		}
	}
	return found
}

func newLog() (*slog.Logger, *logBuffer) {
	b := &logBuffer{}
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug})), b
}

// testChain is the middleware without a network; its log is complete as soon
// as serve returns.
type testChain struct {
	*chain
	ready *readiness
	log   *logBuffer
}

// logged makes newTestChain log requests.
var logged = slog.New(slog.DiscardHandler)

func newTestChain(opts Options) testChain {
	logger, buf := newLog()
	opts.Logger = logger
	if opts.AccessLog != nil {
		opts.AccessLog = logger
	}
	if opts.Handler == nil {
		opts.Handler = http.NotFoundHandler()
	}
	if opts.Ready == nil {
		opts.Ready = func(context.Context) error { return nil }
	}
	opts = opts.withDefaults()
	ready := &readiness{check: opts.Ready}
	return testChain{newChain(opts, ready), ready, buf}
}

func (c testChain) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

func (c testChain) get(path string) *httptest.ResponseRecorder {
	return c.serve(httptest.NewRequest("GET", path, nil))
}

// start runs a server until the test ends.
func start(t *testing.T, opts Options) *Server {
	t.Helper()
	s, stop := startStoppable(t, opts)
	t.Cleanup(func() {
		testkit.ErrorIs(t, "Run", stop(), nil)
	})
	return s
}

func startStoppable(t *testing.T, opts Options) (s *Server, stop func() error) {
	t.Helper()
	if opts.Listen == "" {
		opts.Listen = "127.0.0.1:0"
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.ShutdownTimeout == 0 {
		opts.ShutdownTimeout = 200 * time.Millisecond
	}
	s, err := New(opts)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return s, sync.OnceValue(func() error {
		cancel()
		return receive(t, ended)
	})
}

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(testkit.WaitLimit):
		t.Fatal("waited in vain")
		panic("unreachable")
	}
}

// dial opens a connection that fails instead of hanging.
func dial(t *testing.T, s *Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(testkit.WaitLimit)))
	return conn
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	must(t, testkit.ErrorOf(io.WriteString(conn, text)))
}

func readResponse(t *testing.T, conn io.Reader) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp, string(body)
}

func wantProblem(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	testkit.Same(t, "status", w.Code, status)
	testkit.Same(t, "Content-Type", w.Header().Get("Content-Type"), "application/problem+json")
	var p problem.Document
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	if p.Type != "about:blank" || p.Status != status || p.Title != http.StatusText(status) || p.Detail == "" {
		t.Errorf("problem %+v", p)
	}
}

// Reporter are the methods of the ResponseWriter that a handler gets.
type Reporter interface {
	SetUser(name string)
	Anonymous()
	RequestID() string
	Working()
}
