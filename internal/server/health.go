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

	"github.com/formulary/formulary/internal/problem"
)

// readyTimeout is shorter than the usual timeout of probes.
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

// find returns the endpoint of a path, or nil if the path is the handler's.
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
	return problem.ReadOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	}))
}

func serveHealthz(w http.ResponseWriter, _ *http.Request) { writeText(w, "ok\n") }

func serveReadyz(ready *readiness, logger *slog.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := ready.ask(r.Context())
		if err == nil {
			writeText(w, "ready\n")
			return
		}
		// Probes need no credentials, so the reason goes to the log only.
		logger.LogAttrs(r.Context(), slog.LevelWarn, "not ready",
			slog.Any("error", err), slog.String("request_id", w.Header().Get("X-Request-Id")))
		problem.Write(w, http.StatusServiceUnavailable, "The server is not ready to take requests.")
	}
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // it fails only if the client has disconnected
}

var errDraining = errors.New("shutting down")

// readiness runs the readiness check. Concurrent probes share one run, since
// probes need no credentials, and checks that hang must not pile up.
type readiness struct {
	check    func(context.Context) error
	draining atomic.Bool
	flight   singleflight.Group
}

// drain makes every answer negative, also those of probes that are waiting.
func (rd *readiness) drain() { rd.draining.Store(true) }

func (rd *readiness) ask(ctx context.Context) error {
	if rd.draining.Load() {
		return errDraining
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	var err error
	//nolint:contextcheck // the run is shared, so it must outlive the probe that started it
	select {
	case result := <-rd.flight.DoChan("", func() (any, error) { return nil, rd.run() }):
		err = result.Err
	case <-ctx.Done():
		err = fmt.Errorf("wait for the readiness check: %w", ctx.Err())
	}
	if rd.draining.Load() {
		return errDraining
	}
	return err
}

func (rd *readiness) run() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil { // singleflight would end the process
			err = fmt.Errorf("readiness check panicked: %v", v)
		}
	}()
	return rd.check(ctx)
}
