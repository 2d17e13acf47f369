package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	// short is a timeout that tests can wait for, several times over.
	short = 400 * time.Millisecond

	// lively is a timeout that a client which reads all the time does not exceed,
	// even on a busy machine: it reads a progressStep in 40 ms.
	lively = time.Second
)

// outcome is what a handler reports about its client.
type outcome struct {
	n       int
	err     error // of the read or write
	context error
	took    time.Duration
}

// download answers with size bytes and reports the outcome.
func download(size int, write func(w io.Writer, size int) (int, error)) (http.Handler, <-chan outcome) {
	outcomes := make(chan outcome, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		_, _ = io.Copy(io.Discard, r.Body)
		n, err := write(w, size)
		outcomes <- outcome{n, err, r.Context().Err(), time.Since(start)}
	}), outcomes
}

func oneWrite(w io.Writer, size int) (int, error) { return w.Write(make([]byte, size)) }

func copied(w io.Writer, size int) (int, error) {
	n, err := io.Copy(w, io.LimitReader(zeros{}, int64(size)))
	return int(n), err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// pace is how many bytes a slow client reads every 20 ms.
const pace = 64 << 10

type paced struct {
	r    io.Reader
	pace int
	tick *time.Ticker
}

func (p paced) Read(b []byte) (int, error) {
	<-p.tick.C
	return p.r.Read(b[:min(len(b), p.pace)])
}

// newPaced reads at most pace bytes every 20 ms.
func newPaced(t *testing.T, r io.Reader, pace int) io.Reader {
	tick := time.NewTicker(20 * time.Millisecond)
	t.Cleanup(tick.Stop)
	return paced{r, pace, tick}
}

func TestSlowButLiveReaderGetsEverything(t *testing.T) {
	const size = 11 << 20 // 3.5 s at that pace
	for _, test := range []struct {
		name, request string
		write         func(io.Writer, int) (int, error)
	}{
		{"GET", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", copied},
		{"POST", "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody", oneWrite},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h, outcomes := download(size, test.write)
			s := start(t, Options{Handler: h, Timeouts: Timeouts{Read: lively, Write: lively}})
			conn := dial(t, s)
			send(t, conn, test.request)
			begin := time.Now()
			resp, err := http.ReadResponse(bufio.NewReaderSize(newPaced(t, conn, pace), pace), nil)
			must(t, err)
			n, err := io.Copy(io.Discard, resp.Body)
			if n != size || err != nil {
				t.Errorf("read %d bytes: %v", n, err)
			}
			if took := time.Since(begin); took < 3*lively {
				t.Errorf("took only %v: proves nothing", took)
			}
			if o := receive(t, outcomes); o.n != size || o.err != nil || o.context != nil {
				t.Errorf("handler: %+v", o)
			}
		})
	}
}

func TestSlowButLiveHTTP2ReaderGetsEverything(t *testing.T) {
	t.Parallel()
	const size = 15 << 20 // Go's client takes 4 MiB at once
	h, outcomes := download(size, oneWrite)
	s, client := startTLS(t, Options{Handler: h, Timeouts: Timeouts{Read: lively, Write: lively}})
	resp, err := client.Get(s.URL())
	must(t, err)
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 {
		t.Fatalf("protocol %s", resp.Proto)
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, newPaced(t, resp.Body, pace), make([]byte, pace))
	if n != size || err != nil {
		t.Errorf("read %d bytes: %v", n, err)
	}
	if o := receive(t, outcomes); o.n != size || o.err != nil || o.context != nil || o.took < 3*lively {
		t.Errorf("handler: %+v", o)
	}
}

func TestSmallFlushedEventsOutliveTheTimeouts(t *testing.T) {
	t.Parallel()
	const events = 20
	s := start(t, Options{
		Timeouts: Timeouts{Read: short, Write: short},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			tick := time.NewTicker(short / 5)
			defer tick.Stop()
			for range events {
				<-tick.C
				_, _ = io.WriteString(w, "event\n")
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
			}
		}),
	})
	conn := dial(t, s)
	send(t, conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if _, body := readResponse(t, conn); body != strings.Repeat("event\n", events) {
		t.Errorf("got %d bytes", len(body))
	}
}

// work is a handler that answers after a long time, in which it says that it is
// at work.
func work(timeout time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tick := time.NewTicker(timeout / 10)
		defer tick.Stop()
		for begin := time.Now(); time.Since(begin) < 2*timeout; <-tick.C {
			w.(Reporter).Working()
		}
		_, _ = io.WriteString(w, "done")
	})
}

func TestClientOfAWorkingHandlerIsNotCutOff(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Timeouts: Timeouts{Write: 2 * lively}, Handler: work(2 * lively)})
	conn := dial(t, s)
	send(t, conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if _, body := readResponse(t, conn); body != "done" {
		t.Errorf("got %q", body)
	}
}

func TestHTTP2ClientOfAWorkingHandlerIsNotCutOff(t *testing.T) {
	t.Parallel()
	s, client := startTLS(t, Options{Timeouts: Timeouts{Write: 2 * lively}, Handler: work(2 * lively)})
	resp, err := client.Get(s.URL())
	must(t, err)
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != "done" || err != nil || resp.ProtoMajor != 2 {
		t.Errorf("got %q by %s: %v", body, resp.Proto, err)
	}
}

func TestStalledReaderIsCutOff(t *testing.T) {
	t.Parallel()
	h, outcomes := download(64<<20, oneWrite)
	s := start(t, Options{Handler: h, Timeouts: Timeouts{Write: short}})
	send(t, dial(t, s), "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	o := receive(t, outcomes)
	if !errors.Is(o.err, os.ErrDeadlineExceeded) || o.took < short/2 {
		t.Errorf("handler: %+v", o)
	}
}

func TestStalledHTTP2ReaderIsCutOff(t *testing.T) {
	t.Parallel()
	h, outcomes := download(64<<20, oneWrite)
	s, client := startTLS(t, Options{Handler: h, Timeouts: Timeouts{Write: short}})
	resp, err := client.Get(s.URL())
	must(t, err)
	defer resp.Body.Close()
	if o := receive(t, outcomes); o.err == nil || o.took < short/2 {
		t.Errorf("handler: %+v", o)
	}
}

// dribble writes text in intervals until the server closes the connection.
func dribble(ctx context.Context, conn net.Conn, text string) {
	tick := time.NewTicker(short / 10)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if _, err := io.WriteString(conn, text); err != nil {
				return
			}
		}
	}
}

// wantClosed waits until the server closes the connection.
func wantClosed(t *testing.T, conn net.Conn, atLeast time.Duration) {
	t.Helper()
	begin := time.Now()
	_, err := io.Copy(io.Discard, conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the server doesn't hang up")
	}
	if took := time.Since(begin); took < atLeast {
		t.Errorf("hung up after %v", took)
	}
}

func TestSlowHeaderIsCutOff(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Handler: http.NotFoundHandler(), Timeouts: Timeouts{ReadHeader: short}})
	conn := dial(t, s)
	send(t, conn, "GET / HTTP/1.1\r\nHost: x\r\n")
	go dribble(t.Context(), conn, "X-More: 1\r\n")
	wantClosed(t, conn, short/2)
}

func TestIdleConnectionIsClosed(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Handler: http.NotFoundHandler(), Timeouts: Timeouts{Idle: short}})
	conn := dial(t, s)
	send(t, conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	wantClosed(t, conn, short/2)
}

func TestDribblingBodyIsCutOff(t *testing.T) {
	t.Parallel()
	outcomes := make(chan outcome, 1)
	s := start(t, Options{
		Timeouts: Timeouts{Read: short},
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			begin := time.Now()
			n, err := io.Copy(io.Discard, r.Body)
			outcomes <- outcome{int(n), err, nil, time.Since(begin)}
		}),
	})
	conn := dial(t, s)
	send(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
	go dribble(t.Context(), conn, "x")
	o := receive(t, outcomes)
	if !errors.Is(o.err, os.ErrDeadlineExceeded) || o.took < short/2 {
		t.Errorf("handler: %+v", o)
	}
	wantClosed(t, conn, 0)
}

// A response must not extend the deadline of a body that was not read: net/http
// waits for the rest of the body before the next request.
func TestUnreadBodyIsNotWaitedForLonger(t *testing.T) {
	t.Parallel()
	s := start(t, Options{
		Timeouts: Timeouts{Read: short},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 4*progressStep))
		}),
	})
	conn := dial(t, s)
	send(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
	go dribble(t.Context(), conn, "x")
	wantClosed(t, conn, 0)
}

func TestLargeHeaderIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Handler: http.NotFoundHandler()})
	for size, want := range map[int]int{20 << 10: 404, 40 << 10: 431} {
		conn := dial(t, s)
		send(t, conn, fmt.Sprintf("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Big: %s\r\n\r\n", strings.Repeat("x", size)))
		if resp, _ := readResponse(t, conn); resp.StatusCode != want {
			t.Errorf("%d bytes: status %d, want %d", size, resp.StatusCode, want)
		}
	}
}

// startTLS runs a server with TLS, and returns a client that speaks HTTP/2.
func startTLS(t *testing.T, opts Options) (*Server, *http.Client) {
	t.Helper()
	pair := newPair(t, 1)
	opts.TLSCert, opts.TLSKey = pair.write(t, t.TempDir())
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pair.pool()},
		ForceAttemptHTTP2: true,
	}
	s := start(t, opts)
	t.Cleanup(transport.CloseIdleConnections)
	return s, &http.Client{Transport: transport}
}

// Without options, a client has limits all the same, and a server ends within ten seconds.
func TestLimitsByDefault(t *testing.T) {
	o := Options{}.withDefaults()
	for _, limit := range []time.Duration{o.Timeouts.ReadHeader, o.Timeouts.Read, o.Timeouts.Write, o.Timeouts.Idle} {
		if limit <= 0 || limit > 2*time.Minute {
			t.Errorf("a limit of %v", limit)
		}
	}
	if end := o.ShutdownTimeout + stragglerGrace; end > 9*time.Second { // the store is closed after it
		t.Errorf("a shutdown takes %v", end)
	}
}
