package rest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

const internals = "disk /var/secret: SELECT password FROM users"

// operations is one request for each operation of the store.
func operations(path string) map[string]testRequest {
	return map[string]testRequest{
		"create": ask("alice POST", allPath+"/submission", nestedBody("name", "x")),
		"get":    ask("alice GET", path),
		"update": ask("alice PUT", result(path), `{"name":"y"}`),
		"delete": ask("alice DELETE", result(path)),
		"scan":   ask("alice GET", allPath+"/result"),
	}
}

// Whoever reports a failed request finds out why by the id that they were told.
func TestFaultsOfTheStore(t *testing.T) {
	all := []string{"create", "get", "update", "delete", "scan"}
	cases := []struct {
		err        error
		operations []string
		status     int
		retry      bool
	}{
		{fmt.Errorf("%w: %s", store.ErrFull, internals), []string{"create", "update", "delete"}, 507, true},
		{fmt.Errorf("%w: %s", store.ErrUnavailable, internals), all, 503, true},
		{fmt.Errorf("%w: %s", store.ErrInDoubt, internals), []string{"create"}, 503, true},
		{errors.New(internals), all, 500, false},
		// Not the request's context that ended, so nobody foresaw it.
		{fmt.Errorf("%s: %w", internals, context.DeadlineExceeded), all, 500, false},
	}
	for _, c := range cases {
		e := newHouse(t)
		path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
		unchanged := e.unchanged(t)
		for _, op := range c.operations {
			e.fails(c.err, op)
			logged := len(e.Logs.String())
			r := operations(path)[op]
			n := e.note(t, r)
			checkContract(t, e.newRequest(t, r), answer{n.Code, n.Header(), n.Body.String()})
			testkit.Same(t, op, n.Code, c.status)
			if body := n.Body.String(); strings.Contains(body, "secret") || strings.Contains(body, "SELECT") {
				t.Errorf("%s tells internals: %s", op, body)
			}
			if errors.Is(c.err, store.ErrInDoubt) {
				testkit.Contains(t, "how to repeat it", n.Body.String(), "Idempotency-Key")
			}
			if retry := n.Header().Get("Retry-After"); (retry != "") != c.retry {
				t.Errorf("%s, %d: Retry-After %q", op, n.Code, retry)
			}
			log := e.Logs.String()[logged:]
			testkit.Contains(t, op, log, `"request_id":"id-1"`)
			if strings.Count(log, internals) != 1 || strings.Count(log, "\n") != 1 {
				t.Errorf("%s: logged %q, want the cause, once", op, log)
			}
		}
		unchanged()
	}
}

// A caller who is gone is no fault of anybody, and nothing to log.
func TestRequestThatIsGivenUp(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	for op, r := range operations(path) {
		entered := make(chan struct{})
		e.Store.FailWith(func(ctx context.Context, _ string) error {
			close(entered)
			<-ctx.Done()
			return ctx.Err()
		})
		ctx, giveUp := context.WithCancel(t.Context())
		rec, done := httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(done)
			mount(e.api).ServeHTTP(rec, e.newRequest(t, r).WithContext(ctx))
		}()
		<-entered
		giveUp()
		<-done
		if retry := rec.Header().Get("Retry-After"); rec.Code != 503 || retry == "" {
			t.Errorf("%s: status %d, want 503; Retry-After %q", op, rec.Code, retry)
		}
	}
	testkit.Same(t, "logged", e.Logs.String(), "")
}

// failsAtRow has scans fail after so many rows.
func (e *env) failsAtRow(row int, fault error) {
	e.Store.FailAtRow(func(n int) error {
		if n == row {
			return fault
		}
		return nil
	})
}

func TestListThatFailsBeforeAnythingWasSent(t *testing.T) {
	e := newHouse(t)
	e.fill(t, 3, 0)
	e.failsAtRow(2, store.ErrUnavailable)
	for _, list := range lists {
		for _, encoding := range []string{"", "gzip"} {
			e.refused(t, 503, ask("alice GET", allPath+list).with(headerOf("Accept-Encoding", encoding)))
		}
	}
	e.fails(store.ErrUnavailable, "scan")
	for _, list := range lists { // HEAD says what GET would, so it has to ask, too
		e.refused(t, 503, ask("alice HEAD", allPath+list))
	}
}

// Once a list has begun, all that is left is to break off so that nobody takes
// what came for the whole.
func TestListThatFailsOnItsWayBreaksOff(t *testing.T) {
	e := newHouse(t)
	e.fill(t, 20, 10_000)
	e.failsAtRow(15, errors.New(internals))
	for _, list := range lists {
		for _, encoding := range []string{"", "gzip"} {
			req := e.newRequest(t, ask("alice GET", allPath+list).with(headerOf("Accept-Encoding", encoding)))
			resp, err := e.client.Do(req)
			testkit.Must(t, err)
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s %s: %v after %d bytes, want an unexpected EOF", list, encoding, err, len(body))
			}
			if encoding == "gzip" {
				body = unpacked(t, body)
			}
			if json.Valid(body) {
				t.Errorf("%s %s: what came is valid JSON: %s", list, encoding, clip(string(body)))
			}
		}
	}
	testkit.Same(t, "logged", strings.Count(e.Logs.String(), "list broken off"), 4)
	_, broken := e.listSlowly(t, "alice", allPath+"/result", func() {})
	testkit.Same(t, "broken off", broken, true)
	testkit.Contains(t, "log", e.Logs.String(), `"request_id":"id-1"`)
}

// unpacked is as much as can be had of a gzip that was cut short.
func unpacked(t *testing.T, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil // cut within the header
	}
	body, _ := io.ReadAll(r)
	return body
}
