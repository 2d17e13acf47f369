package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// sample is what one interval of load came to.
type sample struct {
	perSecond float64
	p50, p99  time.Duration
	cpu       time.Duration // of the server, per request
	ownCPU    time.Duration // of the generator, per request
}

// The phases of a load. Workers look at the phase after every answer.
const (
	warming int32 = iota
	counting
	stopping
)

// load sends a message over a number of connections, as fast as they are answered.
type load struct {
	message
	servers []*process
	conns   int
	phase   atomic.Int32
	workers []worker
}

// worker is one connection and the latencies it has seen.
type worker struct {
	client    *client
	latencies []time.Duration
	err       error
}

// measure loads a server: a warm-up, then an interval that counts.
func measure(ctx context.Context, server *process, m message, conns int, interval time.Duration) (sample, error) {
	return measureAll(ctx, []*process{server}, m, conns, interval)
}

// measureAll spreads the connections over several servers.
func measureAll(ctx context.Context, servers []*process, m message, conns int, interval time.Duration) (sample, error) {
	for _, server := range servers {
		if _, err := once(ctx, server.addr, server.hello); err != nil {
			return sample{}, err
		}
	}
	l := &load{message: m, servers: servers, conns: conns, workers: make([]worker, conns)}
	defer l.close()
	for i := range l.workers {
		c, err := dial(ctx, servers[i%len(servers)].addr)
		if err != nil {
			return sample{}, err
		}
		// One deadline for all of it: one per request would cost on every request.
		if err := c.conn.SetDeadline(time.Now().Add(warmUp + interval + 30*time.Second)); err != nil {
			return sample{}, err
		}
		l.workers[i] = worker{client: c, latencies: make([]time.Duration, 0, 1<<14)}
	}
	defer context.AfterFunc(ctx, l.close)()
	return l.run(ctx, interval)
}

func (l *load) close() {
	for i := range l.workers {
		if c := l.workers[i].client; c != nil {
			_ = c.conn.Close()
		}
	}
}

func (l *load) run(ctx context.Context, interval time.Duration) (sample, error) {
	var wg sync.WaitGroup
	for i := range l.workers {
		w := &l.workers[i]
		next := l.writer(uint64(i))
		wg.Go(func() { w.err = w.work(l, next) })
	}
	pause(ctx, warmUp)
	before, err := l.readClocks()
	l.phase.Store(counting)
	pause(ctx, interval)
	after, errAfter := l.readClocks()
	l.phase.Store(stopping)
	wg.Wait()
	err = errors.Join(ctx.Err(), err, errAfter)
	for i := 0; err == nil && i < len(l.workers); i++ {
		err = l.workers[i].err // of those that fail alike, one is enough
	}
	if err != nil {
		return sample{}, fmt.Errorf("%s on %d connections: %w", l.name, l.conns, err)
	}
	return l.sum(before, after), nil
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

func (l *load) sum(before, after clocks) sample {
	var all []time.Duration
	for i := range l.workers {
		all = append(all, l.workers[i].latencies...)
	}
	if len(all) == 0 {
		return sample{}
	}
	slices.Sort(all)
	n := time.Duration(len(all))
	return sample{
		perSecond: float64(len(all)) / after.wall.Sub(before.wall).Seconds(),
		p50:       all[len(all)/2],
		p99:       all[len(all)*99/100],
		cpu:       (after.server - before.server) / n,
		ownCPU:    (after.own - before.own) / n,
	}
}

// work sends one request after another until the load stops.
func (w *worker) work(l *load, next func() []byte) error {
	for {
		request := next()
		start := time.Now()
		status, err := w.client.do(request)
		if err != nil {
			return err
		}
		if status != l.status {
			return fmt.Errorf("answered with status %d instead of %d: %s", status, l.status, w.client.answer)
		}
		switch l.phase.Load() {
		case counting:
			w.latencies = append(w.latencies, time.Since(start))
		case stopping:
			return nil
		}
	}
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
