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
		if err := w.client.check(&l.message, status); err != nil {
			return err
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
	answer []byte // the last one
	length int    // of its body, with which it ends
}

func dial(ctx context.Context, addr string) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, answer: make([]byte, 0, 8<<10)}, nil
}

var (
	endOfHeader   = []byte("\r\n\r\n")
	endOfLine     = endOfHeader[:2]
	contentLength = []byte("\r\nContent-Length: ")
	inChunks      = []byte("\r\nTransfer-Encoding: chunked\r\n")
)

// do sends a request and reads its answer to the end.
func (c *client) do(request []byte) (status int, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, err
	}
	c.answer = c.answer[:0]
	end := -1
	for end < 0 {
		if err := c.readTo(len(c.answer) + 1); err != nil {
			return 0, err
		}
		end = bytes.Index(c.answer, endOfHeader)
	}
	header, body := c.answer[:end+len(endOfLine)], end+len(endOfHeader)
	if status, err = strconv.Atoi(string(header[len("HTTP/1.1 "):][:3])); err != nil {
		return 0, fmt.Errorf("read status: %w", err)
	}
	_, after, found := bytes.Cut(header, contentLength)
	if !found {
		if !bytes.Contains(header, inChunks) {
			return 0, fmt.Errorf("answer without a length: %s", header)
		}
		return status, c.readChunks(body)
	}
	length, _, _ := bytes.Cut(after, endOfLine)
	if c.length, err = strconv.Atoi(string(length)); err != nil {
		return 0, fmt.Errorf("read length: %w", err)
	}
	return status, c.readTo(body + c.length)
}

// readTo reads on until so many bytes of the answer are there, or more.
func (c *client) readTo(size int) error {
	for len(c.answer) < size {
		c.answer = slices.Grow(c.answer, size-len(c.answer))
		n, err := c.conn.Read(c.answer[len(c.answer):cap(c.answer)])
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		c.answer = c.answer[:len(c.answer)+n]
	}
	return nil
}

// readChunks reads a body whose length was not known in advance, and removes
// the lines between its chunks.
func (c *client) readChunks(body int) error {
	for end, next := body, body; ; {
		line := bytes.Index(c.answer[next:], endOfLine)
		if line < 0 {
			if err := c.readTo(len(c.answer) + 1); err != nil {
				return err
			}
			continue
		}
		size, err := strconv.ParseUint(string(c.answer[next:next+line]), 16, 31)
		if err != nil {
			return fmt.Errorf("read the size of a chunk: %w", err)
		}
		begin := next + line + len(endOfLine)
		next = begin + int(size) + len(endOfLine)
		if err := c.readTo(next); err != nil {
			return err
		}
		end += copy(c.answer[end:], c.answer[begin:next-len(endOfLine)])
		if size == 0 {
			c.answer, c.length = c.answer[:end], end-body
			return nil
		}
	}
}

// check makes sure that the last answer is what a message asks for.
func (c *client) check(m *message, status int) error {
	if status != m.status {
		return fmt.Errorf("answered with status %d instead of %d: %s", status, m.status, c.answer)
	}
	if !bytes.Contains(c.answer[len(c.answer)-c.length:], m.contains) {
		return fmt.Errorf("answered without %q: %s", m.contains, c.answer)
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
	if err == nil {
		err = c.check(&m, status)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", m.name, err)
	}
	return c.length, nil
}

// logIn has the password hashed, once and slowly, before anything is measured.
func logIn(ctx context.Context, addr string) error {
	_, err := once(ctx, addr, logInMessage())
	return err
}

func logInMessage() message {
	return message{name: "log in", start: "GET " + formPath, rest: headers() + "\r\n", status: 200}
}
