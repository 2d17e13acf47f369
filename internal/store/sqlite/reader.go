package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
)

// readers is a fixed number of places to read at. A place opens its connection
// when it is first needed.
type readers struct {
	uri     string
	files   identity
	places  chan *reader
	count   int
	pausing sync.Mutex // held while places are gathered, so that two gatherers never share them out
}

type reader struct {
	conn  *sqlite3.Conn
	stmts *readStmts
}

func newReaders(uri string, count int) *readers {
	r := &readers{uri: uri, places: make(chan *reader, count), count: count}
	for range count {
		r.places <- &reader{}
	}
	return r
}

// with calls fn with a reader that nobody else uses meanwhile. fn must be
// short: a read that is held open keeps the WAL from starting over.
func (r *readers) with(ctx context.Context, fn func(*readStmts) error) error {
	if err := ctx.Err(); err != nil { // select would choose at random
		return err
	}
	place, err := r.take(ctx)
	if err != nil {
		return err
	}
	defer func() { r.places <- place }()
	if place.conn == nil {
		if err := place.open(ctx, r); err != nil {
			return classify(err)
		}
	}
	return withCause(place.conn, classify(fn(place.stmts)))
}

// take waits for a place. Most often one is free, and then the context is not
// asked for a channel that it would have to make first.
func (r *readers) take(ctx context.Context) (place *reader, err error) {
	var open bool
	select {
	case place, open = <-r.places:
	default:
		select {
		case place, open = <-r.places:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if !open {
		return nil, fmt.Errorf("%w: the store is closed", store.ErrUnavailable)
	}
	return place, nil
}

// connect opens a connection, unless it would be to other files than those of
// the writer.
func (r *readers) connect(ctx context.Context) (*sqlite3.Conn, error) {
	if _, err := r.files.check(sizes{}); err != nil {
		return nil, err
	}
	conn, err := openConn(ctx, r.uri)
	if err != nil {
		return nil, err
	}
	if err := keepWAL(conn); err != nil { // that is the writer's
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (p *reader) open(ctx context.Context, r *readers) error {
	conn, err := r.connect(ctx)
	if err != nil {
		return err
	}
	err = conn.Exec(`PRAGMA query_only = ON; PRAGMA cache_size = -8192`)
	if err == nil {
		p.stmts, err = prepareReads(conn)
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	p.conn = conn
	return nil
}

// pause waits until nobody reads and keeps everybody from reading until
// release is called.
func (r *readers) pause() (release func()) {
	r.pausing.Lock()
	held := make([]*reader, 0, r.count)
	for range r.count {
		held = append(held, <-r.places)
	}
	return func() {
		for _, p := range held {
			r.places <- p
		}
		r.pausing.Unlock()
	}
}

// close waits for reads under way. Nobody may read afterwards. To be called once.
func (r *readers) close() error {
	r.pausing.Lock()
	defer r.pausing.Unlock()
	var errs []error
	for range r.count {
		p := <-r.places
		if p.conn != nil {
			errs = append(errs, p.stmts.close(), p.conn.Close())
		}
	}
	close(r.places)
	return errors.Join(errs...)
}
