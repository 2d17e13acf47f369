package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// load sends a message over a number of connections, as fast as they are answered.
type load struct {
	message
	server  *process
	workers []worker
}

// worker is one connection and the latencies it has seen.
type worker struct {
	client    *client
	next      func() []byte // gives the next request
	latencies []time.Duration
}

// openLoad opens the connections. The first request of each server may be slow: it is made here.
func openLoad(ctx context.Context, m message, conns int, server *process) (*load, error) {
	l := &load{message: m, server: server}
	err := once(ctx, server.addr, server.hello)
	for i := 0; i < conns && err == nil; i++ {
		w := worker{next: m.writer(uint64(i))}
		if w.client, err = dial(ctx, server.addr); err == nil {
			l.workers = append(l.workers, w)
		}
	}
	if err != nil {
		l.close()
	}
	return l, err
}

func (l *load) close() {
	for i := range l.workers {
		_ = l.workers[i].client.conn.Close()
	}
}

// run is a turn. A request that was sent during the length is counted even if its answer comes later: the
// slowest would be missing otherwise.
func (l *load) run(ctx context.Context, start, length time.Duration, t *tally) error {
	defer context.AfterFunc(ctx, l.close)()
	begin := time.Now().Add(start)
	end := begin.Add(length)
	var group errgroup.Group
	for i := range l.workers {
		w := &l.workers[i]
		w.latencies = w.latencies[:0]
		// One deadline for the whole turn: one per request would cost on every request.
		if err := w.client.conn.SetDeadline(end.Add(30 * time.Second)); err != nil {
			return err
		}
		group.Go(func() error { return w.work(&l.message, begin, end) })
	}
	pause(ctx, start)
	begun, before := time.Now(), l.server.cpuTime()
	pause(ctx, time.Until(end))
	t.wall += time.Since(begun)
	t.cpu += l.server.cpuTime() - before
	if err := errors.Join(group.Wait(), ctx.Err()); err != nil {
		return fmt.Errorf("%s: %s on %d connections: %w", l.server.log, l.name, len(l.workers), err)
	}
	for i := range l.workers {
		t.done += int64(len(l.workers[i].latencies))
		t.latencies = append(t.latencies, l.workers[i].latencies...)
	}
	return nil
}

// work sends one request after another until the end.
func (w *worker) work(m *message, begin, end time.Time) error {
	for start := time.Now(); start.Before(end); start = time.Now() {
		if err := w.client.do(m, w.next()); err != nil {
			return err
		}
		if !start.Before(begin) {
			w.latencies = append(w.latencies, time.Since(start))
		}
	}
	return nil
}

// sendAll sends a message so many times, on many connections.
func sendAll(ctx context.Context, server *process, m message, times int64) error {
	l, err := openLoad(ctx, m, manyConns, server)
	if err != nil {
		return err
	}
	defer l.close()
	defer context.AfterFunc(ctx, l.close)()
	var sent atomic.Int64
	var group errgroup.Group
	for _, w := range l.workers {
		group.Go(func() (err error) {
			for err == nil && sent.Add(1) <= times {
				err = w.client.do(&l.message, w.next())
			}
			return err
		})
	}
	return errors.Join(group.Wait(), ctx.Err())
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
