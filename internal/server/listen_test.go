package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

const getRoot = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// Beyond the limit, connections wait until others are closed.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, Options{MaxConnections: 2, Handler: http.NotFoundHandler()})
	first, second := dial(t, s), dial(t, s)
	for _, conn := range []io.ReadWriter{first, second} {
		_, _ = io.WriteString(conn, getRoot)
		if resp, _ := readResponse(t, conn); resp.StatusCode != http.StatusNotFound {
			t.Fatalf("answered with %d", resp.StatusCode)
		}
	}
	third := dial(t, s)
	send(t, third, getRoot)
	must(t, third.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	if n, err := third.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("a third connection was answered: %d bytes, %v", n, err)
	}
	testkit.Same(t, "connections are open", s.listener.open(), 2)
	must(t, first.Close())
	must(t, third.SetReadDeadline(time.Now().Add(testkit.WaitLimit)))
	if resp, _ := readResponse(t, third); resp.StatusCode != http.StatusNotFound {
		t.Errorf("answered with %d", resp.StatusCode)
	}
}

// A client can't take all connections: those beyond its share are closed at once, and other
// clients go on. Trusted proxies carry the requests of many clients.
func TestConnectionsOfOneAddressAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, Options{
		MaxConnections: 300, Handler: http.NotFoundHandler(), TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.3/32")},
	})
	open := func(from string) net.Conn {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.Dial("tcp", s.Addr())
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	answered := func(conn net.Conn) bool {
		_, _ = io.WriteString(conn, getRoot) // it may be closed
		_, err := http.ReadResponse(bufio.NewReader(conn), nil)
		return err == nil
	}
	first := open("127.0.0.1")
	for range minShare - 1 {
		open("127.0.0.1")
	}
	if answered(open("127.0.0.1")) || !answered(first) || !answered(open("127.0.0.2")) {
		t.Error("a connection beyond the share is open, or another one is not")
	}
	for range minShare {
		open("127.0.0.3")
	}
	if !answered(open("127.0.0.3")) {
		t.Error("a trusted proxy has a share")
	}
	_ = first.Close()
	testkit.Eventually(t, "a closed connection leaves its place to another", func() bool { return answered(open("127.0.0.1")) })
}

// connFrom is a connection from an address.
type connFrom struct {
	net.Conn
	addr string
}

func (c connFrom) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.addr))
}

// The share of a client is a tenth. All addresses of an IPv6 network of 64 bits are one client.
func TestShareOfAClient(t *testing.T) {
	t.Parallel()
	l, err := listen("127.0.0.1:0", 2000, nil)
	must(t, err)
	defer func() { _ = l.Close() }()
	for i := range 200 {
		if addr := fmt.Sprintf("[2001:db8::%x:1]:1", i); !l.count(connFrom{addr: addr}, 1) {
			t.Fatalf("connection %d is refused", i)
		}
	}
	if l.count(connFrom{addr: "[2001:db8::ffff]:1"}, 1) || !l.count(connFrom{addr: "[2001:db8:0:1::1]:1"}, 1) {
		t.Error("the network has more than its share, or the next one has none")
	}
}

// The shutdown works while all connections are in use.
func TestShutdownWhileNoConnectionIsFree(t *testing.T) {
	t.Parallel()
	s, stop := startStoppable(t, Options{MaxConnections: 1, Handler: http.NotFoundHandler()})
	conn := dial(t, s)
	send(t, conn, getRoot)
	readResponse(t, conn)
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// An HTTP/2 connection carries many requests, so these are bounded, too. Probes are
// answered beyond the limit.
func TestRequestsInFlightAreBounded(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	c := newTestChain(Options{MaxConnections: 2, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	})})
	done := make(chan struct{})
	for range 2 {
		go func() {
			c.get("/")
			done <- struct{}{}
		}()
		receive(t, entered)
	}
	w := c.get("/")
	wantProblem(t, w, http.StatusServiceUnavailable)
	if w.Header().Get("Retry-After") == "" {
		t.Errorf("headers %v", w.Header())
	}
	if w := c.get("/healthz"); w.Code != http.StatusOK {
		t.Errorf("/healthz: %d", w.Code)
	}
	close(leave)
	receive(t, done)
	receive(t, done)
	go func() { <-entered }()
	if w := c.get("/"); w.Code != http.StatusOK {
		t.Errorf("afterwards: %d", w.Code)
	}
}

// The settings in the first frame of the server limit what a client may send.
func TestHTTP2ConnectionsHoldLittle(t *testing.T) {
	t.Parallel()
	pair := newPair(t, 1)
	cert, key := pair.write(t, t.TempDir())
	s := start(t, Options{Handler: http.NotFoundHandler(), TLSCert: cert, TLSKey: key})
	dialer := tls.Dialer{Config: &tls.Config{NextProtos: []string{"h2"}, RootCAs: pair.pool()}}
	conn, err := dialer.DialContext(context.Background(), "tcp", s.Addr())
	must(t, err)
	defer conn.Close()
	send(t, conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+"\x00\x00\x00\x04\x00\x00\x00\x00\x00") // and empty settings
	in := bufio.NewReader(conn)
	header := make([]byte, 9)
	must(t, testkit.ErrorOf(io.ReadFull(in, header)))
	settings := make([]byte, binary.BigEndian.Uint32(append([]byte{0}, header[:3]...)))
	if _, err := io.ReadFull(in, settings); err != nil || header[3] != 4 {
		t.Fatalf("first frame %v: %v", header, err)
	}
	got := map[uint16]uint32{}
	for ; len(settings) >= 6; settings = settings[6:] {
		got[binary.BigEndian.Uint16(settings)] = binary.BigEndian.Uint32(settings[2:])
	}
	const maxConcurrentStreams, initialWindowSize, maxFrameSize = 3, 4, 5
	if got[maxConcurrentStreams] != 100 || got[initialWindowSize] != 64<<10 || got[maxFrameSize] != 16<<10 {
		t.Errorf("settings %v", got)
	}
}
