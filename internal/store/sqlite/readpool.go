package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/formulary/formulary/internal/store"
)

// readPool is a pool of read-only connections with a fixed number of slots. A
// slot opens its connection at its first use.
type readPool struct {
	uri     string
	files   identity
	slots   chan *connection // nil until the slot is used
	commits atomic.Int64     // of the writer
}

func newReadPool(uri string, count int) *readPool {
	p := &readPool{uri: uri, slots: make(chan *connection, count)}
	for range count {
		p.slots <- nil
	}
	return p
}

// with calls fn with a connection that is reserved for it meanwhile. fn must be
// short: an open read keeps SQLite from reusing the WAL from its start.
func (p *readPool) with(ctx context.Context, fn func(*connection) error) error {
	return p.use(ctx, func(c *connection) error {
		if err := c.endSnapshot(); err != nil {
			return err
		}
		return fn(c)
	})
}

// snapshotLife is how long it may take until reads see what another process has written.
const snapshotLife = time.Second

// withSnapshot is with for what the writer of this process changes, and others seldom. From the second
// read after a commit on, the connection keeps its snapshot until the next commit, or for snapshotLife: that
// saves SQLite two system calls for each read.
func (p *readPool) withSnapshot(ctx context.Context, fn func(*connection) error) error {
	return p.use(ctx, func(c *connection) (err error) {
		commits := p.commits.Load()
		switch {
		case c.commits != commits:
			err = c.endSnapshot()
		case c.GetAutocommit():
			err = c.run(sqlBeginRead)
		}
		if err != nil {
			return err
		}
		c.commits = commits
		err = fn(c)
		if err != nil || p.commits.Load() != commits {
			err = cmp.Or(err, c.endSnapshot())
		}
		return err
	})
}

// endSnapshot ends the read transaction of a connection, if there is one.
func (c *connection) endSnapshot() error {
	if c.GetAutocommit() {
		return nil
	}
	return c.run(sqlRollback)
}

// run ends snapshots now and then until ctx ends.
func (p *readPool) run(ctx context.Context) {
	tick := time.NewTicker(snapshotLife)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.commits.Add(1) // connections that are in use begin a new one
			p.endSnapshots()
		case <-ctx.Done():
			return
		}
	}
}

// endSnapshots ends those of idle connections, which would hold up a checkpoint.
func (p *readPool) endSnapshots() {
	for range cap(p.slots) {
		select {
		case c, open := <-p.slots:
			if !open {
				return
			}
			if c != nil {
				_ = c.endSnapshot()
			}
			p.slots <- c
		default:
			return
		}
	}
}

// use calls fn with a connection.
func (p *readPool) use(ctx context.Context, fn func(*connection) error) error {
	if err := ctx.Err(); err != nil { // select would choose at random
		return err
	}
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { p.slots <- c }()
	if c == nil {
		if c, err = p.connect(ctx); err != nil {
			return classify(err)
		}
	}
	return c.classify(fn(c))
}

// acquire waits for a free slot. It tries without ctx.Done first, because Done
// allocates a channel, and most often a slot is free.
func (p *readPool) acquire(ctx context.Context) (c *connection, err error) {
	var open bool
	select {
	case c, open = <-p.slots:
	default:
		select {
		case c, open = <-p.slots:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if !open {
		return nil, fmt.Errorf("%w: the store is closed", store.ErrUnavailable)
	}
	return c, nil
}

// connect opens a connection, unless it would be to other files than those of
// the writer.
func (p *readPool) connect(ctx context.Context) (*connection, error) {
	if _, err := p.files.check(0, 0); err != nil {
		return nil, err
	}
	conn, err := openConn(ctx, p.uri)
	if err != nil {
		return nil, err
	}
	err = keepWAL(conn) // only the writer may checkpoint
	if err == nil {
		err = conn.Exec(`PRAGMA query_only = ON; PRAGMA cache_size = -8192`)
	}
	return conn.orClose(err)
}

// pause waits for the reads under way, and blocks new ones until release is called. The
// writer calls it, which stops before close: two at once would wait for each other's slots.
func (p *readPool) pause() (release func()) {
	conns := make([]*connection, cap(p.slots))
	for i := range conns {
		if conns[i] = <-p.slots; conns[i] != nil {
			_ = conns[i].endSnapshot()
		}
	}
	return func() {
		for _, c := range conns {
			p.slots <- c
		}
	}
}

// close waits for the reads under way. Later reads fail. It is called once.
func (p *readPool) close() error {
	var errs []error
	for range cap(p.slots) {
		if c := <-p.slots; c != nil {
			errs = append(errs, c.Close())
		}
	}
	close(p.slots)
	return errors.Join(errs...)
}
