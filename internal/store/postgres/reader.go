package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

const (
	// maxTrips is how many round trips are made at a time to read submissions
	// one by one. Who comes then waits for one of them to end, and makes the
	// next together with all who wait: sixteen reads in one trip are less than
	// half the work of sixteen trips, for the database and for this process.
	maxTrips = 4

	// maxTogether bounds how many share one, so that the first does not wait
	// for the last of a crowd.
	maxTogether = 64
)

// reader brings together those who read one submission each.
type reader struct {
	trip    func(context.Context, []*reading) // reads all of them, and leaves each the outcome
	mu      sync.Mutex                        // guards what follows
	trips   int                               // that are under way
	waiting []*reading                        // only while there can't be another trip
}

// reading is a submission that somebody wants.
type reading struct {
	key  store.Key
	sub  forms.Submission
	err  error
	done chan struct{} // closed when it has its outcome; nil for who is alone
}

// get reads a submission, together with others where there are many.
func (r *reader) get(ctx context.Context, key store.Key) (forms.Submission, error) {
	mine := &reading{key: key}
	if r.begin(mine) {
		defer r.end() //nolint:contextcheck // the next trip is for others, and does not end with this request
		r.trip(ctx, []*reading{mine})
		return mine.sub, mine.err
	}
	return r.share(ctx, mine)
}

// begin tells whether there may be another trip. If not, who asks is among
// those who wait.
func (r *reader) begin(mine *reading) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trips < maxTrips {
		r.trips++
		return true
	}
	mine.done = make(chan struct{})
	r.waiting = append(r.waiting, mine)
	return false
}

// end is called after a trip. If somebody waits, there is another in its place.
func (r *reader) end() {
	if next := r.next(); len(next) > 0 {
		go r.serve(next)
	}
}

// serve makes trips until nobody waits.
func (r *reader) serve(together []*reading) {
	for ; len(together) > 0; together = r.next() {
		r.trip(context.Background(), together)
		for _, one := range together {
			close(one.done)
		}
	}
}

// next is who goes on the next trip. If nobody waits, there is one less.
func (r *reader) next() []*reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.waiting), maxTogether)
	if n == 0 {
		r.trips--
		r.waiting = nil // and with it those who were there
		return nil
	}
	together := r.waiting[:n:n]
	r.waiting = r.waiting[n:]
	return together
}

// share waits for a trip with others: no longer than for a connection, and then
// until it ends.
func (r *reader) share(ctx context.Context, mine *reading) (forms.Submission, error) {
	bounded, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	select {
	case <-mine.done:
	case <-bounded.Done():
		if r.leave(mine) {
			return forms.Submission{}, classify(unreachable(ctx, bounded.Err()))
		}
		<-mine.done
	}
	return mine.sub, mine.err
}

// leave is for who waits no longer. It is false when the trip has begun.
func (r *reader) leave(mine *reading) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.Index(r.waiting, mine)
	if at < 0 {
		return false
	}
	r.waiting = slices.Delete(r.waiting, at, at+1)
	return true
}

// readAll is a trip.
func (s *Store) readAll(ctx context.Context, together []*reading) {
	if len(together) > 1 && s.readBatch(ctx, together) {
		return
	}
	for _, one := range together {
		one.sub, one.err = s.readOne(ctx, one.key)
	}
}

func (s *Store) readOne(ctx context.Context, key store.Key) (sub forms.Submission, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn, _ bool) (err error) {
		sub, err = readSubmission(conn.QueryRow(ctx, sqlGet, key.PageID, key.FormID, key.ID), key)
		return err
	})
	return sub, err
}

// readBatch sends all at once. It is false when the database has refused one of
// them, and with it those behind: they have to be told apart.
func (s *Store) readBatch(ctx context.Context, together []*reading) bool {
	err := s.do(ctx, func(ctx context.Context, conn *pgx.Conn, _ bool) error {
		batch := &pgx.Batch{}
		for _, one := range together {
			batch.Queue(sqlGet, one.key.PageID, one.key.FormID, one.key.ID)
		}
		results := conn.SendBatch(ctx, batch)
		for _, one := range together {
			one.sub, one.err = readSubmission(results.QueryRow(), one.key)
			if one.err != nil && !errors.Is(one.err, store.ErrNotFound) {
				return errors.Join(one.err, results.Close())
			}
		}
		return results.Close()
	})
	if err == nil {
		return true
	}
	if !errors.Is(err, store.ErrUnavailable) {
		return false
	}
	for _, one := range together {
		one.sub, one.err = forms.Submission{}, err
	}
	return true
}
