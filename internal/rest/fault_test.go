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
			e.Store.FailWith(func(_ context.Context, now string) error {
				if now != op {
					return nil
				}
				return c.err
			})
			logged := len(e.Logs.String())
			a := e.expect(t, c.status, operations(path)[op])
			if strings.Contains(a.body, "secret") || strings.Contains(a.body, "SELECT") {
				t.Errorf("%s tells internals: %s", op, a.body)
			}
			if errors.Is(c.err, store.ErrInDoubt) && !strings.Contains(a.body, "Idempotency-Key") {
				t.Errorf("%s does not tell how to repeat it: %s", op, a.body)
			}
			if retry := a.header.Get("Retry-After"); (retry != "") != c.retry {
				t.Errorf("%s, %d: Retry-After %q", op, a.status, retry)
			}
			if log := e.Logs.String()[logged:]; strings.Count(log, internals) != 1 || strings.Count(log, "\n") != 1 {
				t.Errorf("%s: logged %q, want the cause, once", op, log)
			}
		}
		unchanged()
	}
}

// Whoever reports a failed request finds out why by the id that they were told.
func TestFaultsAreLoggedWithTheRequestID(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	for _, fault := range []error{store.ErrUnavailable, store.ErrFull, errors.New(internals)} {
		e.Store.FailWith(func(context.Context, string) error { return fault })
		for op, r := range operations(path) {
			logged := len(e.Logs.String())
			e.note(t, r)
			if log := e.Logs.String()[logged:]; !strings.Contains(log, `"request_id":"id-1"`) {
				t.Errorf("%s, %v: logged %s", op, fault, log)
			}
		}
	}
	e.Store.FailWith(func(context.Context, string) error { return nil })
	e.fill(t, 20, 10_000)
	e.Store.FailAtRow(func(n int) error {
		if n == 15 {
			return errors.New(internals)
		}
		return nil
	})
	logged := len(e.Logs.String())
	if _, broken := e.listSlowly(t, "alice", allPath+"/result", func() {}); !broken {
		t.Error("the list was not broken off")
	}
	testkit.Contains(t, "a list that was broken off: logged", e.Logs.String()[logged:], `"request_id":"id-1"`)
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

func TestListThatFailsBeforeAnythingWasSent(t *testing.T) {
	e := newHouse(t)
	e.fill(t, 3, 0)
	e.Store.FailAtRow(func(n int) error {
		if n == 2 {
			return store.ErrUnavailable
		}
		return nil
	})
	for _, list := range lists {
		for _, encoding := range []string{"", "gzip"} {
			e.refused(t, 503, ask("alice GET", allPath+list).with(headerOf("Accept-Encoding", encoding)))
		}
	}
	e.Store.FailWith(func(context.Context, string) error { return store.ErrUnavailable })
	for _, list := range lists { // HEAD says what GET would, so it has to ask, too
		e.refused(t, 503, ask("alice HEAD", allPath+list))
	}
}

// Once a list has begun, all that is left is to break off so that nobody takes
// what came for the whole.
func TestListThatFailsOnItsWayBreaksOff(t *testing.T) {
	e := newHouse(t)
	e.fill(t, 20, 10_000)
	e.Store.FailAtRow(func(n int) error {
		if n == 15 {
			return errors.New(internals)
		}
		return nil
	})
	for _, list := range []string{"/submission", "/result"} {
		for _, encoding := range []string{"", "gzip"} {
			req := e.newRequest(t, ask("alice GET", allPath+list).with(headerOf("Accept-Encoding", encoding)))
			resp, err := e.client.Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", list, encoding, err)
			}
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
	if got := strings.Count(e.Logs.String(), "list broken off"); got != 4 {
		t.Errorf("logged %d times, want 4:\n%s", got, e.Logs)
	}
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
