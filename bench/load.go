package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The phases of a turn. Workers look at the phase before every request.
const (
	starting int32 = iota
	counting
	stopping
)

// load sends a message over a number of connections, as fast as they are answered.
type load struct {
	message
	servers []*process // among which the connections are spread
	conns   int
	workers []worker // of the connections, once they are open
	phase   atomic.Int32
}

// worker is one connection and the latencies it has seen.
type worker struct {
	client    *client
	next      func() []byte // gives the next request
	latencies []time.Duration
	err       error
}

func newLoad(m message, conns int, servers ...*process) *load {
	return &load{message: m, servers: servers, conns: conns}
}

// measure lets loads run in turns.
func measure(ctx context.Context, interval, turn time.Duration, loads ...*load) ([]sample, error) {
	var sides []runner
	for _, l := range loads {
		defer l.close()
		if err := l.open(ctx); err != nil {
			return nil, err
		}
		sides = append(sides, l.run)
	}
	return inTurns(ctx, interval, turn, sides...)
}

// measureOne measures one server by itself.
func measureOne(ctx context.Context, server *process, m message, conns int, interval time.Duration) (sample, error) {
	samples, err := measure(ctx, interval, shortTurn, newLoad(m, conns, server))
	if err != nil {
		return sample{}, err
	}
	return samples[0], nil
}

func (l *load) open(ctx context.Context) error {
	for _, server := range l.servers {
		if _, err := once(ctx, server.addr, server.hello); err != nil {
			return err
		}
	}
	for i := range l.conns {
		c, err := dial(ctx, l.servers[i%len(l.servers)].addr)
		if err != nil {
			return err
		}
		l.workers = append(l.workers, worker{client: c, next: l.writer(uint64(i))})
	}
	return nil
}

func (l *load) close() {
	for i := range l.workers {
		_ = l.workers[i].client.conn.Close()
	}
}

// run is a turn.
func (l *load) run(ctx context.Context, start, length time.Duration, t *tally) error {
	defer context.AfterFunc(ctx, l.close)()
	// One deadline for all of it: one per request would cost on every request.
	deadline := time.Now().Add(start + length + 30*time.Second)
	l.phase.Store(starting)
	var wg sync.WaitGroup
	for i := range l.workers {
		w := &l.workers[i]
		w.latencies = w.latencies[:0]
		if err := w.client.conn.SetDeadline(deadline); err != nil {
			return err
		}
		wg.Go(func() { w.err = w.work(l) })
	}
	pause(ctx, start)
	before, err := l.readClocks()
	l.phase.Store(counting)
	pause(ctx, length)
	after, errAfter := l.readClocks()
	l.phase.Store(stopping)
	wg.Wait()
	err = errors.Join(ctx.Err(), err, errAfter)
	for i := 0; err == nil && i < len(l.workers); i++ {
		err = l.workers[i].err // of those that fail alike, one is enough
	}
	if err != nil {
		return fmt.Errorf("%s on %s: %w", l.name, onConns(l.conns), err)
	}
	l.add(t, before, after)
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// clocks are wall time and processor time at one moment.
type clocks struct {
	wall        time.Time
	server, own time.Duration
}

func (l *load) readClocks() (clocks, error) {
	var all time.Duration
	for _, server := range l.servers {
		used, err := cpuTime(server.pid())
		if err != nil {
			return clocks{}, err
		}
		all += used
	}
	own, err := cpuTime(0)
	return clocks{time.Now(), all, own}, err
}

func (l *load) add(t *tally, before, after clocks) {
	t.wall += after.wall.Sub(before.wall)
	t.server += after.server - before.server
	t.own += after.own - before.own
	for i := range l.workers {
		t.done += int64(len(l.workers[i].latencies))
		t.latencies = append(t.latencies, l.workers[i].latencies...)
	}
}

// work sends one request after another until the turn ends. What was sent while
// it counts is waited for and counted, even where the answer takes longer than
// the turn: the slowest would be missing otherwise.
func (w *worker) work(l *load) error {
	for phase := starting; phase != stopping; phase = l.phase.Load() {
		request := w.next()
		start := time.Now()
		status, err := w.client.do(request)
		if err != nil {
			return err
		}
		if status != l.status {
			return fmt.Errorf("answered with status %d instead of %d: %s", status, l.status, w.client.answer)
		}
		if phase == counting {
			w.latencies = append(w.latencies, time.Since(start))
		}
	}
	return nil
}

// client is a connection with as much of HTTP as the generator needs: it is
// on the same two cores as the server, so what it saves the server gets.
type client struct {
	conn   net.Conn
	buf    []byte
	answer []byte // what of the last answer came with its header
	length int    // of the last answer's body
}

func dial(ctx context.Context, addr string) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, buf: make([]byte, 8<<10)}, nil
}

var (
	endOfHeader   = []byte("\r\n\r\n")
	contentLength = []byte("\r\nContent-Length: ")
)

// do sends a request and reads its answer to the end.
func (c *client) do(request []byte) (status int, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, err
	}
	n, end := 0, -1
	for end < 0 {
		more, err := c.conn.Read(c.buf[n:])
		if err != nil {
			return 0, fmt.Errorf("read answer: %w", err)
		}
		n += more
		end = bytes.Index(c.buf[:n], endOfHeader)
	}
	c.answer = c.buf[:n]
	header := c.buf[:end+2]
	if status, err = strconv.Atoi(string(header[len("HTTP/1.1 "):][:3])); err != nil {
		return 0, fmt.Errorf("read status: %w", err)
	}
	_, after, found := bytes.Cut(header, contentLength)
	if !found {
		return 0, fmt.Errorf("answer without a length: %s", header)
	}
	length, _, _ := bytes.Cut(after, endOfHeader[:2])
	if c.length, err = strconv.Atoi(string(length)); err != nil {
		return 0, fmt.Errorf("read length: %w", err)
	}
	return status, c.skip(end + len(endOfHeader) + c.length - n)
}

// skip reads what is left of a body behind what is kept as the answer.
func (c *client) skip(left int) error {
	room := c.buf[len(c.answer):]
	if len(room) == 0 {
		room = make([]byte, 8<<10)
	}
	for left > 0 {
		n, err := c.conn.Read(room[:min(left, len(room))])
		if err != nil {
			return fmt.Errorf("read body: %w", err)
		}
		left -= n
	}
	return nil
}

// once sends one message on a connection of its own, and returns the length of
// the answer's body.
func once(ctx context.Context, addr string, m message) (int, error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.conn.Close() }()
	if err := c.conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return 0, err
	}
	status, err := c.do(m.writer(1)())
	if err == nil && status != m.status {
		err = fmt.Errorf("%s answered with status %d: %s", m.name, status, c.answer)
	}
	return c.length, err
}

// logIn has the password hashed, once and slowly, before anything is measured.
func logIn(ctx context.Context, addr string) error {
	_, err := once(ctx, addr, logInMessage())
	return err
}

func logInMessage() message {
	return message{name: "log in", start: "GET " + formPath, rest: headers() + "\r\n", status: 200}
}
