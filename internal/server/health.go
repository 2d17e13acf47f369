package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/panics"
	"github.com/formulary/formulary/internal/problem"
)

// readyTimeout is shorter than the usual timeout of probes.
const readyTimeout = 2 * time.Second

// ownEndpoints are the paths that the server answers itself.
func ownEndpoints(opts Options, ready *readiness) map[string]http.Handler {
	own := map[string]http.Handler{
		"/healthz": problem.ReadOnly(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeText(w, "ok\n") })),
		"/readyz":  problem.ReadOnly(serveReadyz(ready, opts.Logger)),
	}
	if opts.Metrics != nil {
		own["/metrics"] = problem.ReadOnly(opts.Metrics.handler(opts.Logger))
	}
	return own
}

func serveReadyz(ready *readiness, logger *slog.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := ready.ask(r.Context())
		if err == nil {
			writeText(w, "ready\n")
			return
		}
		// Probes need no credentials, so the reason goes to the log only.
		logger.Warn("not ready", "error", err, "request_id", w.Header().Get("X-Request-Id"))
		problem.Write(w, http.StatusServiceUnavailable, "The server is not ready to take requests.")
	}
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // it fails only if the client has disconnected
}

// readiness runs the readiness check. Concurrent probes share one run, since
// probes need no credentials, and checks that hang must not pile up.
type readiness struct {
	check    func(context.Context) error
	draining atomic.Bool // every answer is negative
	flight   singleflight.Group
}

func (rd *readiness) ask(ctx context.Context) error {
	if rd.draining.Load() {
		return errors.New("shutting down")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	//nolint:contextcheck // the run is shared, so it must outlive the probe that started it
	select {
	case result := <-rd.flight.DoChan("", panics.Guarded(func() (any, error) { return nil, rd.run() })):
		return result.Err
	case <-ctx.Done():
		return fmt.Errorf("wait for the readiness check: %w", ctx.Err())
	}
}

func (rd *readiness) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	return rd.check(ctx)
}
