package server

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/problem"
)

// TestWhatIsNoRequestIsAProblem: no handler sees these, and the answer is what
// it is everywhere else.
func TestWhatIsNoRequestIsAProblem(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request string
		status  int
		detail  string // a part of it
	}{
		"too large a header": {
			"GET / HTTP/1.1\r\nHost: x\r\nX-Big: " + strings.Repeat("x", 40<<10) + "\r\n\r\n", 431,
			"send fewer or shorter fields, of 32 KB in all",
		},
		"no HTTP":                    {"hello\r\n\r\n", 400, "check its first line"},
		"no host":                    {"GET / HTTP/1.1\r\n\r\n", 400, "missing required Host header"},
		"another version":            {"GET / HTTP/3.1\r\nHost: x\r\n\r\n", 505, "unsupported protocol version"},
		"an unknown encoding":        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: zip\r\n\r\n", 501, "Unsupported transfer encoding"},
		"a name with a blank":        {"GET / HTTP/1.1\r\nHost: x\r\nX Y: z\r\n\r\n", 400, "invalid header name"},
		"two lengths":                {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400, "check its first line"},
		"a value with a line's feed": {"GET / HTTP/1.1\r\nHost: x\r\nX-A: a\rb\r\n\r\n", 400, ""},
	}
	logger, log := newLog()
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was handled", r.Method, r.URL) })
	s := start(t, Options{Handler: handler, Logger: logger, AccessLog: NewAccessLog(io.Discard, false)})
	ids := map[string]bool{}
	for name, tt := range tests {
		conn := dial(t, s)
		send(t, conn, tt.request)
		resp, body := readResponse(t, conn)
		var doc problem.Document
		if err := json.Unmarshal([]byte(body), &doc); err != nil {
			t.Errorf("%s: answered with %q: %v", name, body, err)
			continue
		}
		id := resp.Header.Get("X-Request-Id")
		if resp.StatusCode != tt.status || doc.Status != tt.status || doc.Title != http.StatusText(tt.status) || !strings.Contains(doc.Detail, tt.detail) ||
			resp.Header.Get("Content-Type") != problem.MediaType || !resp.Close || id == "" || ids[id] {
			t.Errorf("%s: answered with %d, %v, %+v", name, resp.StatusCode, resp.Header, doc)
		}
		ids[id] = true
	}
	lines := log.lines(t, "refused what is no request")
	if len(lines) != len(tests) {
		t.Errorf("%d lines in the log, want %d", len(lines), len(tests))
	}
	for _, line := range lines {
		if !ids[line["request_id"].(string)] || line["remote"] != "127.0.0.1" {
			t.Errorf("logged as %v", line)
		}
	}
}

// TestRefusalAfterAnswers: a connection that was answered before is refused
// in the same way.
func TestRefusalAfterAnswers(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Handler: http.NotFoundHandler()})
	conn := dial(t, s)
	answers := bufio.NewReader(conn)
	for range 2 {
		send(t, conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if resp, _ := readResponse(t, answers); resp.StatusCode != http.StatusNotFound {
			t.Errorf("answered with %d", resp.StatusCode)
		}
	}
	send(t, conn, "GET / HTTP/1.1\r\n\r\n")
	if resp, body := readResponse(t, answers); resp.Header.Get("Content-Type") != problem.MediaType {
		t.Errorf("answered with %v, %s", resp.Header, body)
	}
}

// TestAnswersAreLeftAlone: whatever a handler sends arrives as it is, be it the
// image of a refusal, in a write of its own.
func TestAnswersAreLeftAlone(t *testing.T) {
	t.Parallel()
	const image = refusalLine + "400 Bad Request" + refusalHeader + "400 Bad Request"
	body := strings.Repeat("x", 64<<10) + image
	s := start(t, Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = io.WriteString(w, strings.TrimSuffix(body, image))
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, image)
	})})
	conn := dial(t, s)
	send(t, conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp, got := readResponse(t, conn); resp.StatusCode != http.StatusOK || got != body {
		t.Errorf("answered with %d and %d bytes, want %d", resp.StatusCode, len(got), len(body))
	}
}
