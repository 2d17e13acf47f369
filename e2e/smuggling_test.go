package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// A proxy may see another end of a request than the server does. What follows
// a request whose end is ambiguous is not answered, and the connection closed.
func TestAmbiguousEndOfARequest(t *testing.T) {
	t.Parallel()
	p := start(t, newSite(t))
	body := note("first")
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	const path, kind = "/note/submission", "Content-Type: application/json\r\n"
	second := head(t, "POST", path, "HTTP/1.1") + kind + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(note("smuggled")), note("smuggled"))
	for _, tt := range []struct {
		name, first string
		status      int
	}{
		{"1.1, length and encoding", head(t, "POST", path, "HTTP/1.1") + kind +
			fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%s", len(chunked)+len(second), chunked), 201},
		{"1.1, encoding and short length", head(t, "POST", path, "HTTP/1.1") + kind +
			fmt.Sprintf("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n%s", chunked), 201},
		{"1.0, encoding", head(t, "POST", path, "HTTP/1.0") + kind +
			"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n", 400}, // net/http sees no body
		{"1.0, length and encoding", head(t, "POST", path, "HTTP/1.0") + kind +
			fmt.Sprintf("Connection: keep-alive\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%s", len(body), body), 201},
	} {
		conn := p.dial(t)
		conn.send(t, tt.first+second)
		resp := conn.header(t)
		content, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != tt.status || !resp.Close {
			t.Errorf("%s: status %d, want %d; close %t; %v: %s", tt.name, resp.StatusCode, tt.status, resp.Close, err, content)
		}
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(conn.answers) // the server may reset what it does not read
		if len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v after the second request was answered with %q, want a closed connection", tt.name, err, rest)
		}
	}
	for id, text := range p.submissions(t, "note") {
		if text != "first" {
			t.Errorf("submission %d is %q", id, text)
		}
	}

	// After a request whose end is not ambiguous, the second request is answered.
	conn := p.dial(t)
	conn.send(t, second+second)
	for range 2 {
		resp := conn.header(t)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 201 || resp.Close {
			t.Errorf("status %d, close %t, %v, want 201 on an open connection", resp.StatusCode, resp.Close, err)
		}
	}
}

// A proxy may have checked the other of two Authorization headers.
func TestTwoAuthorizationHeaders(t *testing.T) {
	t.Parallel()
	p := start(t, newSite(t))
	credentials := func(user, password string) string {
		req := http.Request{Header: http.Header{}}
		req.SetBasicAuth(user, password)
		return req.Header.Get("Authorization")
	}
	right := credentials("ann", "secret")
	for _, other := range []string{right, credentials("ben", "secret"), credentials("ben", "wrong"), "Bearer x"} {
		for _, both := range [][]string{{right, other}, {other, right}} {
			req, err := request(t.Context(), p.url, "POST", "/note/submission", note("x"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Authorization"] = both
			if r, err := do(client, req); err != nil || r.status != http.StatusUnauthorized {
				t.Errorf("%q: status %d, %v, want 401", both, r.status, err)
			}
		}
	}
	if stored := p.submissions(t, "note"); len(stored) > 0 {
		t.Errorf("stored: %v", stored)
	}
}

// Control characters in a path are escaped in the log: a terminal would act on them.
func TestControlsInPathsAreEscaped(t *testing.T) {
	t.Parallel()
	p := start(t, newSite(t))
	p.must(t, 404, "GET", "/%E2%80%AE%7F%C2%9B%E2%81%A6x%0Ay", "")
	if err := p.terminate(t); err != nil {
		t.Fatal(err)
	}
	if want := `form/\u202e\u007f\u009b\u2066x\ny"`; !strings.Contains(p.output(), want) {
		t.Errorf("the log does not hold %s:\n%q", want, p.output())
	}
	if strings.ContainsAny(p.output(), "\u202e\u007f\u009b\u2066") {
		t.Errorf("the log holds controls as they are: %q", p.output())
	}
	if lines := p.accessLines(t); len(lines) != 1 || !strings.HasSuffix(lines[0].Path, "/\u202e\u007f\u009b\u2066x\ny") {
		t.Errorf("the path can't be read from the log: %+v", lines)
	}
}
