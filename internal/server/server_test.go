package server

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

func TestListenErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	_, err = New(Options{Listen: taken.Addr().String(), Handler: http.NotFoundHandler()})
	testkit.ErrorIs(t, "an address in use", err, syscall.EADDRINUSE)
	for _, address := range []string{taken.Addr().String(), "8080", "127.0.0.1:http:1", "192.0.2.1:0"} {
		_, err := New(Options{Listen: address, Handler: http.NotFoundHandler()})
		var listenErr *net.OpError // by which package cli knows it
		if !errors.As(err, &listenErr) || listenErr.Op != "listen" || !strings.Contains(err.Error(), strconv.Quote(address)) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestExposed(t *testing.T) {
	certFile, keyFile := newPair(t, 1).write(t, t.TempDir())
	for _, test := range []struct {
		listen  string
		tls     bool
		exposed bool
	}{
		{"127.0.0.1:0", false, false},
		{"0.0.0.0:0", false, true},
		{"0.0.0.0:0", true, false},
	} {
		opts := Options{Listen: test.listen, Handler: http.NotFoundHandler()}
		if test.tls {
			opts.TLSCert, opts.TLSKey = certFile, keyFile
		}
		s := start(t, opts)
		if got := s.Exposed(); got != test.exposed {
			t.Errorf("%s, TLS %v: exposed %v", test.listen, test.tls, got)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, test := range []struct {
		address, reachable string
		loopback           bool
	}{
		{"127.0.0.1:80", "127.0.0.1:80", true},
		{"[::1]:80", "[::1]:80", true},
		{"[::ffff:127.0.0.1]:80", "127.0.0.1:80", true},
		{"[::]:80", "localhost:80", false},
		{"0.0.0.0:80", "localhost:80", false},
		{"192.0.2.1:80", "192.0.2.1:80", false},
	} {
		addr, err := net.ResolveTCPAddr("tcp", test.address)
		must(t, err)
		if addr.IP.IsLoopback() != test.loopback || reachable(addr) != test.reachable {
			t.Errorf("%s: loopback %v, reachable at %s", test.address, addr.IP.IsLoopback(), reachable(addr))
		}
	}
}

// held is a handler that signals when it has begun, and waits until it is released.
type held struct {
	begun   chan struct{}
	release chan struct{}
	ended   chan error // the request's context at the end
}

func newHeld() held {
	return held{make(chan struct{}), make(chan struct{}), make(chan error, 1)}
}

func (h held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	close(h.begun)
	select {
	case <-h.release:
		_, _ = io.WriteString(w, "finished")
	case <-r.Context().Done():
	}
	h.ended <- r.Context().Err()
}

func TestShutdownLetsRequestsFinish(t *testing.T) {
	h := newHeld()
	s, stop := startStoppable(t, Options{Handler: h, ShutdownTimeout: testkit.WaitLimit})
	conn := dial(t, s)
	send(t, conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	receive(t, h.begun)

	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	testkit.Eventually(t, "it is draining", func() bool { return s.ready.draining.Load() })
	testkit.Eventually(t, "new connections are refused", func() bool {
		c, err := net.Dial("tcp", s.Addr())
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	close(h.release)
	if _, body := readResponse(t, conn); body != "finished" {
		t.Errorf("got %q", body)
	}
	testkit.ErrorIs(t, "the request's context", receive(t, h.ended), nil)
	testkit.ErrorIs(t, "Run", receive(t, ended), nil)
}

// TestShutdownAnnouncesTheEnd: a request that arrives on an open connection
// during the shutdown is answered with "Connection: close".
func TestShutdownAnnouncesTheEnd(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") })
	s, stop := startStoppable(t, Options{Handler: h, ShutdownTimeout: testkit.WaitLimit})
	conn := dial(t, s)
	ask := func() *http.Response {
		t.Helper()
		send(t, conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		resp, body := readResponse(t, conn)
		if resp.StatusCode != http.StatusOK || body != "answer" {
			t.Errorf("got %d %q", resp.StatusCode, body)
		}
		return resp
	}
	if ask().Close {
		t.Error("closed before it ends")
	}
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	testkit.Eventually(t, "the end is announced", func() bool { return s.chain.closing.Load() })
	if !ask().Close {
		t.Error("the last answer does not say so")
	}
	testkit.ErrorIs(t, "Run", receive(t, ended), nil)
}

func TestShutdownCutsOffStragglers(t *testing.T) {
	h := newHeld() // never released
	logger, buf := newLog()
	s, stop := startStoppable(t, Options{Handler: h, Logger: logger, ShutdownTimeout: 50 * time.Millisecond})
	conn := dial(t, s)
	send(t, conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	receive(t, h.begun)
	testkit.ErrorIs(t, "Run", stop(), nil)
	// Run has waited for the handler, so this is there already.
	select {
	case err := <-h.ended:
		testkit.ErrorIs(t, "the request's context", err, context.Canceled)
	default:
		t.Error("Run returned before the handler did")
	}
	lines := buf.lines(t, "requests didn't finish in time and were cut off")
	if len(lines) != 1 || lines[0]["level"] != "WARN" || lines[0]["in_flight"] != 1.0 {
		t.Errorf("log %s", buf)
	}
}

func TestRunFailsWhenTheListenerDoes(t *testing.T) {
	logger, _ := newLog()
	s, err := New(Options{Listen: "127.0.0.1:0", Handler: http.NotFoundHandler(), Logger: logger})
	must(t, err)
	must(t, s.listener.Close())
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), s.Addr()) {
		t.Errorf("Run: %v", err)
	}
}

func TestAcceptedConnectionsHaveABoundedSendBuffer(t *testing.T) {
	l, err := listen("127.0.0.1:0", 10, nil)
	must(t, err)
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	defer client.Close()
	conn, err := l.Accept()
	must(t, err)
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	must(t, err)
	var size int
	var optErr error
	if err := raw.Control(func(fd uintptr) {
		size, optErr = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF)
	}); err != nil || optErr != nil {
		t.Fatal(err, optErr)
	}
	if size < sendBuffer || size > 2*sendBuffer { // Linux doubles it
		t.Errorf("send buffer of %d", size)
	}
}

func TestErrorLog(t *testing.T) {
	logger, buf := newLog()
	l := log.New(errorLog{logger}, "", 0)
	l.Printf("http: TLS handshake error from 1.2.3.4:5: EOF")
	l.Printf("http: Accept error: too many open files; retrying in 5ms")
	for msg, level := range map[string]string{
		"http: TLS handshake error from 1.2.3.4:5: EOF":            "DEBUG",
		"http: Accept error: too many open files; retrying in 5ms": "WARN",
	} {
		if lines := buf.lines(t, msg); len(lines) != 1 || lines[0]["level"] != level {
			t.Errorf("%s: %v", msg, lines)
		}
	}
	if strings.Contains(buf.String(), `\n`) {
		t.Errorf("newline in %s", buf)
	}
}
