package server

import (
	"context"
	"net"
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

func listen(address string, maxConnections int) (*boundedListener, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, &ListenError{address, err}
	}
	bounded := &boundedListener{Listener: l, slots: make(chan struct{}, maxConnections), closed: make(chan struct{})}
	bounded.close = sync.OnceValue(func() error {
		close(bounded.closed)
		return l.Close()
	})
	return bounded, nil
}

// boundedListener limits the number of open connections, and sets the size of
// their send buffers. While all slots are in use, new connections wait in the
// kernel's backlog.
//
// netutil.LimitListener is no replacement: its connections have no CloseWrite.
// Without that, net/http resets the connection of a request that was refused
// before it was read to its end, and the client does not get the response.
type boundedListener struct {
	net.Listener
	slots  chan struct{} // one element per open connection
	closed chan struct{}
	close  func() error
}

// Close may be called more than once.
func (l *boundedListener) Close() error { return l.close() }

// open returns the number of open connections, once the listener is closed.
func (l *boundedListener) open() int64 { return int64(len(l.slots)) }

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
