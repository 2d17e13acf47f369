package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

func TestHealthz(t *testing.T) {
	c := newTestChain(Options{Ready: func(context.Context) error { return errors.New("down") }})
	w := c.get("/healthz")
	if w.Code != 200 || w.Body.String() != "ok\n" || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	if w := c.serve(httptest.NewRequest("HEAD", "/healthz", nil)); w.Code != 200 {
		t.Errorf("HEAD: %d", w.Code)
	}
}

func TestOwnEndpointsAreReadOnly(t *testing.T) {
	c := newTestChain(Options{Metrics: NewMetrics()})
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		w := c.serve(httptest.NewRequest("POST", path, nil))
		wantProblem(t, w, http.StatusMethodNotAllowed)
		testkit.Same(t, path+": Allow", w.Header().Get("Allow"), "GET, HEAD")
	}
}

func TestEverythingElseIsTheHandlers(t *testing.T) {
	c := newTestChain(Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	})})
	for _, path := range []string{"/", "/healthz/", "/healthzz", "/metrics"} { // no Metrics given
		if w := c.get(path); w.Code != http.StatusTeapot {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestReadyz(t *testing.T) {
	var err error
	c := newTestChain(Options{Ready: func(context.Context) error { return err }})
	if w := c.get("/readyz"); w.Code != 200 || w.Body.String() != "ready\n" {
		t.Errorf("%d %q", w.Code, w.Body)
	}

	err = errors.New("database at 10.1.2.3 is down")
	w := c.get("/readyz")
	wantProblem(t, w, http.StatusServiceUnavailable)
	if strings.Contains(w.Body.String(), "database") {
		t.Errorf("the reason is shown: %s", w.Body)
	}
	if lines := c.log.lines(t, "not ready"); len(lines) != 1 || lines[0]["error"] != err.Error() ||
		lines[0]["request_id"] != w.Header().Get("X-Request-Id") {
		t.Errorf("log %v", lines)
	}

	err = nil
	if w := c.get("/readyz"); w.Code != 200 {
		t.Errorf("recovered: %d", w.Code)
	}
	c.ready.draining.Store(true)
	wantProblem(t, c.get("/readyz"), http.StatusServiceUnavailable)
}

func TestReadyzSurvivesAPanic(t *testing.T) {
	c := newTestChain(Options{Ready: func(context.Context) error { panic("oh") }})
	wantProblem(t, c.get("/readyz"), http.StatusServiceUnavailable)
	wantProblem(t, c.get("/readyz"), http.StatusServiceUnavailable)
}

func TestReadyzWaitsTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestChain(Options{Ready: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		start := time.Now()
		wantProblem(t, c.get("/readyz"), http.StatusServiceUnavailable)
		testkit.Same(t, "took", time.Since(start), 2*time.Second)
	})
}

// A check that ignores its context must neither block the probes nor run more than
// once at a time.
func TestReadyzWithACheckThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var calls atomic.Int64
		c := newTestChain(Options{Ready: func(context.Context) error {
			calls.Add(1)
			<-hang
			return nil
		}})
		for range 3 {
			go c.get("/readyz")
		}
		wantProblem(t, c.get("/readyz"), http.StatusServiceUnavailable)
		wantProblem(t, c.get("/readyz"), http.StatusServiceUnavailable)
		testkit.Same(t, "calls", calls.Load(), 1)
		close(hang)
		synctest.Wait()
		if w := c.get("/readyz"); w.Code != 200 || calls.Load() != 2 {
			t.Errorf("afterwards: %d, %d calls", w.Code, calls.Load())
		}
	})
}
