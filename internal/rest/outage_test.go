package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/server"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/store/pgtest"
)

// newOutageEnv serves as the program does, on a PostgreSQL that may be stopped.
func newOutageEnv(t *testing.T) (*env, *pgtest.Cluster) {
	t.Helper()
	cluster := pgtest.New(t, pgtest.Options{})
	e := newEnvOn(t, enginetest.PostgresOn(cluster), house())
	srv, err := server.New(server.Options{
		Listen: "127.0.0.1:0", Handler: mount(e.api), Ready: e.api.Service.Ready, Logger: e.api.Logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- srv.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	e.url = srv.URL()
	return e, cluster
}

// ready is the status of /readyz.
func (e *env) ready(t *testing.T) int {
	t.Helper()
	resp, err := e.client.Do(e.newRequest(t, testRequest{method: http.MethodGet, path: "/readyz"}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode
}

// stored is a request for each endpoint whose answer is in the store, HEAD
// included, with the status that it has in good times. The last one deletes.
func stored(path string) (requests []testRequest, statuses []int) {
	for _, e := range endpoints {
		if strings.HasSuffix(e.path, "/form") || strings.HasSuffix(e.path, "/{formId}") {
			continue // definitions are not in the store
		}
		r := testRequest{user: "alice", method: e.method, path: Prefix + e.path}
		r.path = strings.NewReplacer("{pageId}", "1", "{formId}", "all", "{id}", path[strings.LastIndex(path, "/")+1:], "{fieldId}", "doc", "{name}", "a.txt").Replace(r.path)
		status := http.StatusOK
		switch e.method {
		case http.MethodPut:
			r.body = `{"note":"x"}`
		case http.MethodPost:
			r.body = nestedBody("name", "x")
			if strings.HasSuffix(e.path, "/submission") {
				status = http.StatusCreated
			}
		case http.MethodDelete:
			status = http.StatusNoContent
		}
		if e.method == http.MethodGet {
			head := r
			head.method = http.MethodHead
			requests, statuses = append(requests, head), append(statuses, status)
		}
		requests, statuses = append(requests, r), append(statuses, status)
	}
	return requests, statuses
}

// Who asks while the database is away must not be told that there is nothing:
// they might believe it.
func TestOutage(t *testing.T) {
	t.Parallel() // most of it is waiting
	e, cluster := newOutageEnv(t)
	created := e.expect(t, http.StatusCreated, uploadOf(allPath+"/submission", textPart("name", "Ann"), filePart("doc", "a.txt", "text")))
	requests, statuses := stored(created.header.Get("Location"))
	if len(requests) != 16 {
		t.Fatalf("%d requests, want one for each of 10 endpoints and 6 HEAD", len(requests))
	}
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		a := e.expect(t, http.StatusServiceUnavailable, r)
		if a.header.Get("Retry-After") == "" || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: headers %v", r.method, r.path, a.header)
		}
	}
	if got := e.ready(t); got != http.StatusServiceUnavailable {
		t.Errorf("/readyz is %d while the database is away", got)
	}
	e.get(t, "alice", allPath) // the definition, which is not in the database
	if err := cluster.Resume(); err != nil {
		t.Fatal(err)
	}
	if got := e.ready(t); got != http.StatusOK {
		t.Errorf("/readyz is %d when the database is back", got)
	}
	for i, r := range requests {
		e.expect(t, statuses[i], r)
	}
}

// What was sent of a list before the database went away must not pass for the whole.
func TestOutageInTheMiddleOfAList(t *testing.T) {
	t.Parallel() // most of it is waiting
	e, cluster := newOutageEnv(t)
	want := e.fill(t, 60, 20_000)
	for _, list := range []string{"/submission", "/result"} {
		e.Store.FailAtRow(func(n int) error {
			if n == len(want)/2 {
				return cluster.Stop()
			}
			return nil
		})
		resp, err := e.client.Do(e.newRequest(t, testRequest{user: "alice", method: http.MethodGet, path: allPath + list}))
		if err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if !errors.Is(err, io.ErrUnexpectedEOF) || json.Valid(body) {
			t.Errorf("%s: %v after %d bytes, valid: %t; want an unexpected EOF", list, err, len(body), json.Valid(body))
		}
		e.Store.FailAtRow(func(int) error { return nil })
		if err := cluster.Resume(); err != nil {
			t.Fatal(err)
		}
		if got := decoded(t, e.get(t, "alice", allPath+list)).([]any); len(got) != len(want) {
			t.Errorf("%s: %d when the database is back, want %d", list, len(got), len(want))
		}
	}
}
