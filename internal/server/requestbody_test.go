package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// upload is a handler that reads the body, answers with 408 if it did not
// arrive in time, and reports the outcome.
func upload() (http.Handler, <-chan outcome) {
	outcomes := make(chan outcome, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		n, err := io.Copy(io.Discard, r.Body)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			w.WriteHeader(http.StatusRequestTimeout)
		}
		_, _ = io.WriteString(w, "answer")
		outcomes <- outcome{int(n), err, r.Context().Err(), time.Since(start)}
	}), outcomes
}

// A body that arrives slowly but steadily may take longer than both timeouts.
func TestSlowButSteadyBodyArrives(t *testing.T) {
	for _, protocol := range []int{1, 2} {
		const size = 120 * readStep                // 2.4 s
		for _, length := range []int64{size, -1} { // -1 is chunked
			t.Run(fmt.Sprintf("HTTP/%d, length %d", protocol, length), func(t *testing.T) {
				t.Parallel()
				h, outcomes := upload()
				s, client := startUpload(t, protocol, Options{Handler: h, Timeouts: Timeouts{Read: lively, Write: lively}})
				req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL(), newPaced(t, io.LimitReader(zeros{}, size), readStep))
				must(t, err)
				req.ContentLength = length
				resp, err := client.Do(req)
				must(t, err)
				defer resp.Body.Close()
				answer, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != http.StatusOK || string(answer) != "answer" || resp.ProtoMajor != protocol {
					t.Errorf("answered with %s %d %q, %v", resp.Proto, resp.StatusCode, answer, err)
				}
				if o := receive(t, outcomes); o.n != size || o.err != nil || o.context != nil || o.took < 2*lively {
					t.Errorf("handler: %+v", o)
				}
			})
		}
	}
}

// startUpload starts a server, and returns a client of HTTP/1.1 or HTTP/2.
func startUpload(t *testing.T, protocol int, opts Options) (*Server, *http.Client) {
	t.Helper()
	if protocol == 2 {
		return startTLS(t, opts)
	}
	transport := &http.Transport{}
	s := start(t, opts)
	t.Cleanup(transport.CloseIdleConnections)
	return s, &http.Client{Transport: transport}
}

// A body that stops is cut off a read timeout after its last progress, and the
// client gets a 408.
func TestStalledBodyIsCutOff(t *testing.T) {
	for _, protocol := range []int{1, 2} {
		for _, size := range []int64{smallBody / 2, 4 * readStep} { // what arrives, and as much again that does not
			t.Run(fmt.Sprintf("HTTP/%d, %d bytes", protocol, size), func(t *testing.T) {
				t.Parallel()
				h, outcomes := upload()
				s, client := startUpload(t, protocol, Options{Handler: h, Timeouts: Timeouts{Read: short}})
				rest, stop := io.Pipe() // nothing is ever written to it
				req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL(), io.MultiReader(io.LimitReader(zeros{}, size), rest))
				must(t, err)
				req.ContentLength = 2 * size
				resp, err := client.Do(req)
				_ = stop.Close() // or the client would wait for it in resp.Body.Close
				must(t, err)
				defer resp.Body.Close()
				if resp.StatusCode != http.StatusRequestTimeout || resp.ProtoMajor != protocol {
					t.Errorf("answered with %s %d", resp.Proto, resp.StatusCode)
				}
				if o := receive(t, outcomes); int64(o.n) != size || !errors.Is(o.err, os.ErrDeadlineExceeded) || o.took < short/2 {
					t.Errorf("handler: %+v", o)
				}
			})
		}
	}
}

// The deadline of a body does not outlast it: a handler may take longer than
// the read timeout, and its request is not canceled.
func TestBodyDeadlineEndsWithTheBody(t *testing.T) {
	t.Parallel()
	canceled := make(chan error, 1)
	s := start(t, Options{
		Timeouts: Timeouts{Read: short},
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-r.Context().Done():
			case <-time.After(2 * short):
			}
			canceled <- r.Context().Err()
		}),
	})
	for _, framing := range []string{
		"Content-Length: 4\r\n\r\nxxxx",
		fmt.Sprintf("Content-Length: %d\r\n\r\n%s", 2*readStep, strings.Repeat("x", 2*readStep)),
		fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", 2*readStep, strings.Repeat("x", 2*readStep)),
	} {
		conn := dial(t, s)
		send(t, conn, "POST / HTTP/1.1\r\nHost: x\r\n"+framing)
		if resp, _ := readResponse(t, conn); resp.StatusCode != http.StatusOK {
			t.Errorf("answered with %d", resp.StatusCode)
		}
		testkit.ErrorIs(t, "the request's context", receive(t, canceled), nil)
	}
}

// The time that a handler takes between two reads, such as to store a part of
// the body, does not count as the client's.
func TestBusyHandlerDoesNotCutOffTheBody(t *testing.T) {
	t.Parallel()
	outcomes := make(chan error, 1)
	s := start(t, Options{
		Timeouts: Timeouts{Read: short},
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.ReadFull(r.Body, make([]byte, 10))
			<-time.After(2 * short)
			if err == nil {
				_, err = io.Copy(io.Discard, r.Body)
			}
			outcomes <- err
		}),
	})
	conn := dial(t, s)
	send(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("x", 100_000)) // more than net/http reads ahead
	testkit.ErrorIs(t, "read the body", receive(t, outcomes), nil)
}

// A client that waits for "100 Continue" is answered at once by a handler that
// does not read the body.
func TestUnwantedBodyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Handler: http.NotFoundHandler()})
	conn := dial(t, s)
	begin := time.Now()
	send(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("after %v: %v", time.Since(begin), err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound || !resp.Close {
		t.Errorf("answered with %d, close: %v", resp.StatusCode, resp.Close)
	}
}

// deadlines records how often each deadline moved.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.read = append(d.read, t)
	return nil
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.write = append(d.write, t)
	return nil
}

// What arrives does not move the end that a handler sets.
func TestHandlerBoundsTheTimeForABody(t *testing.T) {
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	rec := &recorder{w: w, write: time.Minute}
	end := time.Now().Add(time.Second)
	must(t, http.NewResponseController(rec).SetReadDeadline(end))
	r := withDeadlines(httptest.NewRequest("POST", "/", io.LimitReader(zeros{}, 2*readStep)), rec, time.Minute)
	must(t, testkit.ErrorOf(io.Copy(io.Discard, r.Body)))
	if len(w.read) < 2 || slices.ContainsFunc(w.read, func(at time.Time) bool { return !at.Equal(end) }) {
		t.Errorf("read deadlines %v, want all to be %v", w.read, end)
	}
}

func TestBodyMovesTheDeadlinesByStep(t *testing.T) {
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	rec := &recorder{w: w, write: time.Minute}
	const size = 3*readStep + 1
	original := httptest.NewRequest("POST", "/", iotest.HalfReader(io.LimitReader(zeros{}, size)))
	r := withDeadlines(original, rec, time.Second)
	if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r.Body, make([]byte, readStep/4)); n != size || err != nil {
		t.Errorf("read %d bytes: %v", n, err)
	}
	if len(w.read) != 3 || len(w.write) != 3 || w.write[2].Sub(w.read[2]) != time.Minute {
		t.Errorf("read deadlines %v, write deadlines %v", w.read, w.write)
	}
	if _, changed := original.Body.(*requestBody); changed {
		t.Error("net/http's own request was changed")
	}
	if r := httptest.NewRequest("GET", "/", nil); withDeadlines(r, rec, time.Second) != r {
		t.Error("a request without a body was copied")
	}
}
