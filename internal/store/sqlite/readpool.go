package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
)

// readPool is a pool of read-only connections with a fixed number of slots. A
// slot opens its connection at its first use.
type readPool struct {
	uri     string
	files   identity
	slots   chan *readConn
	count   int
	pausing sync.Mutex // held by pause and close while they collect all slots: two of them at once would deadlock
}

// readConn is one slot of the pool. conn is nil until the slot is used.
type readConn struct {
	conn  *sqlite3.Conn
	stmts *readStmts
}

func newReadPool(uri string, count int) *readPool {
	p := &readPool{uri: uri, slots: make(chan *readConn, count), count: count}
	for range count {
		p.slots <- &readConn{}
	}
	return p
}

// with calls fn with a connection that is reserved for it meanwhile. fn must be
// short: an open read keeps SQLite from reusing the WAL from its start.
func (p *readPool) with(ctx context.Context, fn func(*readStmts) error) error {
	if err := ctx.Err(); err != nil { // select would choose at random
		return err
	}
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { p.slots <- c }()
	if c.conn == nil {
		if err := c.open(ctx, p); err != nil {
			return classify(err)
		}
	}
	return withCause(c.conn, classify(fn(c.stmts)))
}

// acquire waits for a free slot. It tries without ctx.Done first, because Done
// allocates a channel, and most often a slot is free.
func (p *readPool) acquire(ctx context.Context) (c *readConn, err error) {
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
func (p *readPool) connect(ctx context.Context) (*sqlite3.Conn, error) {
	if _, err := p.files.check(0, 0); err != nil {
		return nil, err
	}
	conn, err := openConn(ctx, p.uri)
	if err != nil {
		return nil, err
	}
	if err := keepWAL(conn); err != nil { // only the writer may checkpoint
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (c *readConn) open(ctx context.Context, p *readPool) error {
	conn, err := p.connect(ctx)
	if err != nil {
		return err
	}
	err = conn.Exec(`PRAGMA query_only = ON; PRAGMA cache_size = -8192`)
	if err == nil {
		c.stmts, err = prepareReads(conn)
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	c.conn = conn
	return nil
}

// pause waits for the reads under way, and blocks new ones until release is
// called.
func (p *readPool) pause() (release func()) {
	p.pausing.Lock()
	conns := make([]*readConn, 0, p.count)
	for range p.count {
		conns = append(conns, <-p.slots)
	}
	return func() {
		for _, c := range conns {
			p.slots <- c
		}
		p.pausing.Unlock()
	}
}

// close waits for the reads under way. Later reads fail. It is called once.
func (p *readPool) close() error {
	p.pausing.Lock()
	defer p.pausing.Unlock()
	var errs []error
	for range p.count {
		c := <-p.slots
		if c.conn != nil {
			errs = append(errs, c.stmts.close(), c.conn.Close())
		}
	}
	close(p.slots)
	return errors.Join(errs...)
}
