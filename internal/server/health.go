package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formulary/formulary/internal/problem"
)

// readyTimeout is below what probes usually wait for.
const readyTimeout = 2 * time.Second

// ownEndpoints are the paths that the server answers itself.
type ownEndpoints struct {
	healthz, readyz, metrics http.Handler // metrics may be nil
}

func newOwnEndpoints(opts Options, ready *readiness) ownEndpoints {
	own := ownEndpoints{
		healthz: readOnly(http.HandlerFunc(serveHealthz)),
		readyz:  readOnly(serveReadyz(ready, opts.Logger)),
	}
	if opts.Metrics != nil {
		own.metrics = readOnly(opts.Metrics.handler(opts.Logger))
	}
	return own
}

// find compares exact paths only, so that everything near them is the
// handler's to answer.
func (own *ownEndpoints) find(r *http.Request) http.Handler {
	switch r.URL.Path {
	case "/healthz":
		return own.healthz
	case "/readyz":
		return own.readyz
	case "/metrics":
		return own.metrics
	}
	return nil
}

func readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			problem.Write(w, http.StatusMethodNotAllowed, "This address can only be read.")
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func serveHealthz(w http.ResponseWriter, _ *http.Request) { writeText(w, "ok\n") }

func serveReadyz(ready *readiness, logger *slog.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := ready.ask(r.Context())
		if err == nil {
			writeText(w, "ready\n")
			return
		}
		// Everybody may ask, so the reason is for the log only.
		logger.LogAttrs(r.Context(), slog.LevelWarn, "not ready",
			slog.Any("error", err), slog.String("request_id", w.Header().Get("X-Request-Id")))
		problem.Write(w, http.StatusServiceUnavailable, "The server is not ready to take requests.")
	}
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // a client that is gone needs no answer
}

var errDraining = errors.New("shutting down")

// readiness asks check, once at a time however many want to know: anybody may
// ask without credentials, and one that hangs must not pile up.
type readiness struct {
	check    func(context.Context) error
	draining atomic.Bool

	mu      sync.Mutex
	current *readyCheck // nil when none is under way
}

type readyCheck struct {
	done chan struct{}
	err  error // to be read when done
}

// drain makes every answer no, also that of checks under way.
func (rd *readiness) drain() { rd.draining.Store(true) }

func (rd *readiness) ask(ctx context.Context) error {
	if rd.draining.Load() {
		return errDraining
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	check := rd.join() //nolint:contextcheck // the check is shared, so it must outlive who asked first
	select {
	case <-check.done:
	case <-ctx.Done():
		return fmt.Errorf("wait for the readiness check: %w", ctx.Err())
	}
	if rd.draining.Load() {
		return errDraining
	}
	return check.err
}

// join returns the check under way, or a new one.
func (rd *readiness) join() *readyCheck {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if rd.current == nil {
		rd.current = &readyCheck{done: make(chan struct{})}
		go rd.run(rd.current)
	}
	return rd.current
}

func (rd *readiness) run(check *readyCheck) {
	// Not the asking request's context: others wait for the answer, too.
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			check.err = fmt.Errorf("readiness check panicked: %v", v)
		}
		rd.mu.Lock()
		rd.current = nil
		rd.mu.Unlock()
		close(check.done)
	}()
	check.err = rd.check(ctx)
}
