package rest

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/testkit"
)

func readAll(t testing.TB, r io.ReadCloser) string {
	t.Helper()
	b, err := io.ReadAll(r)
	testkit.Must(t, err)
	_ = r.Close()
	return string(b)
}

// writes are the three requests with a body.
func writes(path string) []testRequest {
	return []testRequest{
		ask("alice POST", allPath+"/submission", nestedBody("name", "Ann")),
		ask("alice POST", path, nestedBody("name", "Ann")),
		ask("alice PUT", result(path), `{"name":"Ann"}`),
	}
}

func TestContentType(t *testing.T) {
	for _, row := range testkit.Rows(`
		Content-Type: application/json | taken
		Content-Type: application/json; charset=utf-8 | taken
		Content-Type: Application/JSON;Charset="UTF-8" | taken
		Content-Type: application/json + Content-Encoding: identity | taken
		| refused
		Content-Type: text/plain | refused
		Content-Type: application/jsonx | refused
		Content-Type: application/problem+json | refused
		Content-Type: application/json, text/plain | refused
		Content-Type: application/json; charset=latin1 | refused
		Content-Type: application/json; charset | refused
		Content-Type: application/json + Content-Encoding: gzip | refused
		Content-Type: application/json + Content-Encoding: identity, gzip | refused
		Content-Type: application/json + Content-Encoding: identity + Content-Encoding: gzip | refused
		Content-Type: application/json + Content-Type: text/plain | refused
		Content-Type: application/json + Content-Type: application/json | refused
	`) {
		if err := checkMediaType(readHeader(row[0])); (err == nil) != (row[1] == "taken") {
			t.Errorf("%v: %v", row, err)
		}
	}
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	unchanged := e.unchanged(t)
	for _, r := range writes(path) {
		r.header = headerOf("Content-Type", "text/plain")
		e.expect(t, 415, r)
	}
	unchanged()
}

func TestBodyOverTheLimit(t *testing.T) {
	const limit = 1000
	e := newHouse(t, func(o *request.Options) { o.MaxBody = limit })
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	for _, r := range writes(path) {
		fits := r
		fits.body += strings.Repeat(" ", limit-len(r.body))
		for _, fits.chunked = range []bool{false, true} {
			if a := e.do(t, fits); a.status >= 300 {
				t.Errorf("%s %s of the limit: %d %s", r.method, r.path, a.status, a.body)
			}
		}
		over := fits
		over.body += " "
		for _, over.chunked = range []bool{false, true} {
			unchanged := e.unchanged(t)
			e.expect(t, 413, over)
			unchanged()
		}
	}
}

func TestBodyLimitIsAMebibyteByDefault(t *testing.T) {
	e := newHouse(t)
	fits := nestedBody("name", "Ann", "note", strings.Repeat("x", 1<<20-len(nestedBody("name", "Ann", "note", ""))))
	path, _ := e.create(t, "alice", allPath, fits)
	if got := len(pick(t, e.get(t, "alice", path), "fields", "note", "value")); got < 1<<20-200 {
		t.Errorf("read back %d bytes", got)
	}
	// Past the network: a client that still sends when the server hangs up may
	// miss the answer.
	for _, chunked := range []bool{false, true} {
		w := httptest.NewRecorder()
		mount(e.api).ServeHTTP(w, e.newRequest(t, testRequest{
			user: "alice", method: "POST", path: allPath + "/submission", body: fits + " ", chunked: chunked,
		}))
		testkit.Same(t, chunked, w.Code, 413)
	}
}

// A body that says it is too large is refused before it is sent.
func TestBodyOverTheLimitIsNotWaitedFor(t *testing.T) {
	e := newHouse(t)
	req := e.newRequest(t, ask("alice POST", allPath+"/submission"))
	req.Body, req.ContentLength = io.NopCloser(iotest.ErrReader(errors.New("the body was read"))), request.DefaultMaxBody+1
	w := httptest.NewRecorder()
	mount(e.api).ServeHTTP(w, req)
	a := answer{w.Code, w.Header(), w.Body.String()}
	checkContract(t, req, a)
	if a.status != 413 {
		t.Errorf("status %d, want 413: %s", a.status, a.body)
	}
}
