package server

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
)

// sendBuffer limits how much the kernel buffers for each connection. By default
// the buffer grows to megabytes. A blocked write returns only when a good part
// of the buffer is free again, so that the write deadline would cut off a client
// that reads slowly but steadily. With this size, a write returns at the latest
// after the client has read about 190 KiB (measured; 300 KiB with twice the
// size, no less with half), so that 2 KB/s are enough for the default timeout.
// It still allows 10 Mbit/s at a round trip time of 100 ms.
const sendBuffer = 128 << 10

// minShare is how many connections an address may have in any case: people behind one
// gateway share its address.
const minShare = 100

func listen(address string, maxConnections int, proxies trustedProxies) (*boundedListener, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	bounded := &boundedListener{
		Listener: l, slots: make(chan struct{}, maxConnections), closed: make(chan struct{}),
		proxies: proxies, share: max(maxConnections/10, minShare), clients: map[netip.Prefix]int{},
	}
	bounded.close = sync.OnceValue(func() error {
		close(bounded.closed)
		return l.Close()
	})
	return bounded, nil
}

// boundedListener limits the number of open connections, and sets the size of
// their send buffers. While all slots are in use, new connections wait in the
// kernel's backlog. A client that has its share of them is disconnected instead, so
// that it can't keep all others out.
//
// netutil.LimitListener is no replacement: its connections have no CloseWrite.
// Without that, net/http resets the connection of a request that was refused
// before it was read to its end, and the client does not get the response.
type boundedListener struct {
	net.Listener
	slots   chan struct{} // one element per open connection
	closed  chan struct{}
	close   func() error
	proxies trustedProxies // which have no share

	share   int // connections of a client
	mu      sync.Mutex
	clients map[netip.Prefix]int // their open connections: of an IPv4 address, or of an IPv6 /64
}

// Close may be called more than once.
func (l *boundedListener) Close() error { return l.close() }

// open returns the number of open connections, once the listener is closed.
func (l *boundedListener) open() int64 { return int64(len(l.slots)) }

// release frees the slot of a connection that was closed.
func (l *boundedListener) release(conn net.Conn) {
	l.count(conn, -1)
	<-l.slots
}

// count adds n to the connections of a client, and reports whether they are within its share.
func (l *boundedListener) count(conn net.Conn, n int) bool {
	addr := plain(conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr())
	if l.proxies.contains(addr) {
		return true
	}
	client, _ := addr.Prefix(min(addr.BitLen(), 64))
	l.mu.Lock()
	defer l.mu.Unlock()
	n += l.clients[client]
	switch {
	case n > l.share:
		return false
	case n == 0:
		delete(l.clients, client)
	default:
		l.clients[client] = n
	}
	return true
}

// Accept waits for a slot, then for a connection.
func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	for err == nil && !l.count(conn, 1) {
		_ = conn.Close()
		conn, err = l.Listener.Accept()
	}
	if err != nil {
		<-l.slots
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		// It fails only if the client has disconnected. The first read reports that.
		_ = tcp.SetWriteBuffer(sendBuffer)
	}
	return conn, nil
}

// boundAddr is the address listened on, in which a name such as localhost has been resolved.
func (l *boundedListener) boundAddr() *net.TCPAddr { return l.Addr().(*net.TCPAddr) }

// reachable returns addr, with localhost in place of "all interfaces".
func reachable(addr *net.TCPAddr) string {
	if addr.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(addr.Port))
	}
	return addr.String()
}
