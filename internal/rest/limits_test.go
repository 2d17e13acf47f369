package rest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/limit"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
)

// five are as many users as it takes to use up a total by shares of a quarter.
var five = testsite.People{"alice": nil, "bob": nil, "carol": nil, "dave": nil, "erin": nil}

// await returns when so many slots are held.
func await(t *testing.T, slots *limit.Limiter, want int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%d slots are held", want), func() bool { return slots.Taken() == want })
}

// holdLists takes as many slots for lists as a user may have, until release is called.
func (e *env) holdLists(t *testing.T, user string) (release func()) {
	t.Helper()
	calls := make([]*request.Call, 50)
	for i := range calls {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		calls[i] = e.api.NewCall(httptest.NewRecorder(), r, auth.Identity{Name: user})
		testkit.Must(t, calls[i].HoldList())
	}
	return func() {
		for _, c := range calls {
			c.End()
		}
	}
}

// begin sends a part of a request, and leaves the connection open.
func (e *env) begin(t *testing.T, user, method, path, rest string) net.Conn {
	t.Helper()
	return e.beginAs(t, user, method, path, "application/json", rest)
}

func (e *env) beginAs(t *testing.T, user, method, path, contentType, rest string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
	testkit.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	req := e.newRequest(t, ask(user+" "+method, path))
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: %s\r\n%s",
		method, req.URL.RequestURI(), req.Header.Get("Authorization"), contentType, rest)
	testkit.Must(t, err)
	return conn
}

func closeConn(t *testing.T, conn net.Conn) {
	t.Helper()
	testkit.Must(t, conn.Close())
}

// refused sends a request that is to be refused for now.
func (e *env) refused(t *testing.T, status int, r testRequest) answer {
	t.Helper()
	a := e.expect(t, status, r)
	if a.header.Get("Retry-After") == "" {
		t.Errorf("%s %s: status %d without Retry-After", r.method, r.path, status)
	}
	return a
}

// stalledBodies are large bodies of which a part has been sent, with and
// without a length.
func (e *env) stalledBodies(t *testing.T, user string, count int) (conns []net.Conn) {
	t.Helper()
	held := e.api.Limiters.Bodies.Taken()
	for i := range count {
		rest := "Content-Length: 65537\r\n\r\n{"
		if i%2 == 0 {
			rest = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", request.LargeBody+1, strings.Repeat(" ", request.LargeBody+1))
		}
		conns = append(conns, e.begin(t, user, "POST", allPath+"/submission", rest))
	}
	await(t, e.api.Limiters.Bodies, held+count)
	return conns
}

// Bodies up to this size are as many as there are connections.
var (
	smallBody = padded(request.LargeBody)
	bigBody   = padded(request.LargeBody + 1)
)

func padded(size int) string {
	body := nestedBody("name", "Ann")
	return body + strings.Repeat(" ", size-len(body))
}

func TestLargeBodiesAtATimeAreBounded(t *testing.T) {
	e := newHouse(t)
	e.Users.Set(five)
	path := allPath + "/submission"
	conns := e.stalledBodies(t, "alice", 16)
	for _, chunked := range []bool{false, true} {
		e.refused(t, 429, testRequest{user: "alice", method: "POST", path: path, body: bigBody, chunked: chunked})
		e.expect(t, 201, testRequest{user: "alice", method: "POST", path: path, body: smallBody, chunked: chunked})
		e.expect(t, 201, testRequest{user: "bob", method: "POST", path: path, body: bigBody, chunked: chunked})
	}
	for _, user := range []string{"bob", "carol", "dave"} {
		e.stalledBodies(t, user, 16)
	}
	e.refused(t, 503, ask("erin POST", path, bigBody))
	e.expect(t, 201, ask("erin POST", path, smallBody))

	closeConn(t, conns[0])
	await(t, e.api.Limiters.Bodies, 63)
	e.expect(t, 201, ask("erin POST", path, bigBody))
	e.expect(t, 201, ask("alice POST", path, bigBody))
}

// A client that stalls is answered at once when its body is refused, and its
// connection is closed.
func TestRefusedBodyIsNotWaitedFor(t *testing.T) {
	e := newHouse(t, func(o *request.Options) { o.Limits.LargeBodiesPerUser = 1 })
	e.stalledBodies(t, "alice", 1)
	conn := e.begin(t, "alice", "POST", allPath+"/submission", "Content-Length: 65537\r\n\r\n{")
	testkit.Must(t, conn.SetReadDeadline(time.Now().Add(testkit.WaitLimit)))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	testkit.Must(t, err)
	_ = readAll(t, resp.Body)
	// Without its length, the end of the answer would come after the rest of the body.
	if resp.StatusCode != 429 || !resp.Close || resp.ContentLength < 0 {
		t.Errorf("answered with %d, length %d, close: %v", resp.StatusCode, resp.ContentLength, resp.Close)
	}
}

// A client that sends its whole body before it reads gets the refusal, too.
func TestRefusedBodyIsReadToItsEnd(t *testing.T) {
	e := newHouse(t, func(o *request.Options) { o.Limits.LargeBodiesPerUser, o.Limits.UploadsPerUser = 1, 1 })
	e.stalledBodies(t, "alice", 1)
	for _, tt := range []struct {
		name   string
		status int
		size   int
	}{
		{"no slot", 429, 1 << 20},
		{"too large", 413, 20 << 20},
	} {
		head := fmt.Sprintf("Content-Length: %d\r\n\r\n", tt.size)
		conn := e.begin(t, "alice", "POST", allPath+"/submission", head)
		testkit.Must(t, conn.SetDeadline(time.Now().Add(testkit.WaitLimit)))
		if _, err := conn.Write(bytes.Repeat([]byte(" "), tt.size)); err != nil {
			t.Fatalf("%s: the body can't be sent: %v", tt.name, err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		_ = readAll(t, resp.Body)
		if resp.StatusCode != tt.status || !resp.Close {
			t.Errorf("%s: answered with %d, close: %v", tt.name, resp.StatusCode, resp.Close)
		}
	}
}

// What was read of a body is in memory until the request is answered.
func TestLargeBodyCountsUntilItIsAnswered(t *testing.T) {
	e := newHouse(t, func(o *request.Options) { o.Limits.LargeBodiesPerUser = 1 })
	storing, store := make(chan struct{}), make(chan struct{})
	e.Store.FailWith(func(_ context.Context, operation string) error {
		if operation == "create" {
			storing <- struct{}{}
			<-store
		}
		return nil
	})
	path := allPath + "/submission"
	conn := e.begin(t, "alice", "POST", path, fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(bigBody), bigBody))
	<-storing
	e.refused(t, 429, ask("alice POST", path, bigBody))
	close(store)
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != 201 {
		t.Fatalf("%v: %v", resp, err)
	}
	await(t, e.api.Limiters.Bodies, 0)
}

// Large answers stay in memory until they are read, so they are counted, too.
func TestLargeAnswersAtATimeAreBounded(t *testing.T) {
	pages := house()
	fields := ""
	for i := range 600 {
		fields += fmt.Sprintf("  - {id: f%d, type: textfield, label: A field among many}\n", i)
	}
	pages["8-large.md"] = "```form\nform: large\nfields:\n" + fields + "```\n"
	e := newEnv(t, pages, func(o *request.Options) { o.Limits.LargeBodiesPerUser = 1 })
	large, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann", "note", strings.Repeat("x", request.LargeBody)))
	small, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	conn := e.stalledBodies(t, "alice", 1)[0]
	for _, path := range []string{large, result(large), form(8, "large"), Prefix + "/page/8/form"} {
		e.refused(t, 429, ask("alice GET", path))
		e.expect(t, 200, ask("alice HEAD", path))
		e.get(t, "bob", path)
	}
	e.get(t, "alice", small)

	change := ask("alice PUT", result(large), `{"size":"M"}`)
	e.refused(t, 429, change)
	closeConn(t, conn)
	await(t, e.api.Limiters.Bodies, 0)
	if body := e.get(t, "alice", result(large)); strings.Contains(body, `"size":"M"`) {
		t.Errorf("refused, and stored all the same: %s", clip(body))
	}
	e.expect(t, 200, change)
}
