package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
)

// sendBuffer bounds what the kernel takes off our hands per connection. Left
// alone it grows to megabytes, and as a blocked write returns only when a good
// part of it is free again, a slow reader would look like one that stopped: the
// write deadline would cut off a download that is alive. With this size, writes
// return at the latest when the client has taken some 190 KiB (measured; 300 KiB
// with twice the size, no less with half), so at the default timeout 2 KB/s is
// fast enough. It still allows 10 Mbit/s at a distance of 100 ms, and slows down
// nothing nearby.
const sendBuffer = 128 << 10

func listen(address string, maxConnections int) (*boundedListener, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, listenError(address, err)
	}
	bounded := &boundedListener{Listener: l, slots: make(chan struct{}, maxConnections), closed: make(chan struct{})}
	bounded.close = sync.OnceValue(func() error {
		close(bounded.closed)
		return l.Close()
	})
	return bounded, nil
}

// listenError says what to do about the failures people really meet.
func listenError(address string, err error) error {
	advice := "--listen wants host:port, such as 127.0.0.1:8080"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		advice = "another process listens there: stop it, or choose another address with --listen"
	case errors.Is(err, syscall.EACCES):
		advice = "ports below 1024 are privileged: choose another with --listen, or grant CAP_NET_BIND_SERVICE"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		advice = "this machine has no such address: choose another with --listen"
	}
	return fmt.Errorf("listen on %q: %w (%s)", address, err, advice)
}

// boundedListener bounds the number of open connections, and gives each of
// them the bounded send buffer. While all slots are in use, new connections
// wait in the kernel's backlog.
type boundedListener struct {
	net.Listener
	slots  chan struct{} // one element per open connection
	closed chan struct{}
	close  func() error
}

// Close may be called again, as http.Server does.
func (l *boundedListener) Close() error { return l.close() }

// release frees the slot of a connection that was closed.
func (l *boundedListener) release() { <-l.slots }

// Accept waits for a slot, then for a connection.
func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		l.release()
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		// It fails only on a connection that is gone already, which the first
		// read will find out.
		_ = tcp.SetWriteBuffer(sendBuffer)
	}
	return conn, nil
}

// isLoopback judges the bound address instead of what was asked for, because
// that is where a name such as localhost has led to.
func isLoopback(addr net.Addr) bool {
	ap, err := netip.ParseAddrPort(addr.String())
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// reachable is addr with "every interface" replaced by a host one can connect to.
func reachable(addr net.Addr) string {
	ap, err := netip.ParseAddrPort(addr.String())
	if err == nil && ap.Addr().IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(int(ap.Port())))
	}
	return addr.String()
}
