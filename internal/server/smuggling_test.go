package server

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// A proxy that uses the other of two lengths takes a part of a body for the next
// request. So the connection is closed after such a request.
func TestRequestsWithAnAmbiguousEndCloseTheConnection(t *testing.T) {
	const second = "GET /second HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, first := range map[string]string{
		"length and encoding":       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"short length and encoding": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
		"1.0 with encoding":         "POST / HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
		"1.0 with both":             "POST / HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"1.0 kept alive":            "GET / HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n",
		"own endpoint":              "GET /healthz HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seconds atomic.Int64
			s := start(t, Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/second" {
					seconds.Add(1)
				}
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, "done")
			})})
			conn := dial(t, s)
			send(t, conn, first+second)
			answers := bufio.NewReader(conn)
			resp, _ := readResponse(t, answers)
			if resp.StatusCode != http.StatusOK || !resp.Close {
				t.Errorf("answered with %d, %v, close: %v", resp.StatusCode, resp.Header, resp.Close)
			}
			rest, err := io.ReadAll(answers)
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(err.Error(), "reset") {
				t.Error(err)
			}
			if len(rest) > 0 || seconds.Load() > 0 {
				t.Errorf("the second request was answered: %q", rest)
			}
		})
	}
}

// The connection stays open after a request whose end is not ambiguous.
func TestOtherRequestsKeepTheConnection(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })})
	conn := dial(t, s)
	answers := bufio.NewReader(conn)
	for _, request := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab",
		"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		send(t, conn, request)
		if resp, _ := readResponse(t, answers); resp.StatusCode != http.StatusOK || resp.Close {
			t.Errorf("%q: answered with %d, close: %v", request, resp.StatusCode, resp.Close)
		}
	}
}
