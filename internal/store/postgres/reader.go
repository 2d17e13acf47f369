package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

const (
	// fewTrips is how many round trips are made at a time to read submissions
	// one by one. Who comes then waits for one of them to end, and makes the
	// next together with others who wait: for the database, sixteen reads in one
	// trip are less than half the work of sixteen trips.
	fewTrips = 4

	// maxTogether bounds how many share one, so that the first does not wait
	// for the last of a crowd.
	maxTogether = 64

	// readPatience is how long who waits does so before making a trip beyond
	// the few. A database that takes so long is not busy but slow, and reads
	// that wait for a disk should do it beside each other.
	readPatience = time.Millisecond
)

// reader brings together those who read one submission each.
type reader struct {
	trip      func(context.Context, []*reading) // reads all of them, and leaves each the outcome
	few, most int                               // trips at a time: as a rule, and where they are slow
	patience  time.Duration
	mu        sync.Mutex // guards what follows
	trips     int        // that are under way
	waiting   []*reading // in the order in which they came, and only while there are few trips or more
}

// reading is a submission that somebody wants.
type reading struct {
	key   store.Key
	sub   forms.Submission
	err   error
	since time.Time     // that it waits
	done  chan struct{} // closed when it has its outcome
}

// newReader leaves those who write their connections, however many read.
func newReader(s *Store, conns int) *reader {
	most := max(1, conns-workers)
	return &reader{trip: s.readAll, few: min(fewTrips, most), most: most, patience: readPatience}
}

// get reads a submission, together with others where there are many.
func (r *reader) get(ctx context.Context, key store.Key) (forms.Submission, error) {
	mine := &reading{key: key}
	if r.begin(mine) {
		return r.alone(ctx, mine)
	}
	timer := time.NewTimer(r.patience)
	defer timer.Stop()
	for patient := true; ; patient = false {
		select {
		case <-mine.done:
			return mine.sub, mine.err
		case <-ctx.Done(): // the trip may have begun, and ends without us
			r.leave(mine)
			return forms.Submission{}, unreachable(ctx, ctx.Err())
		case <-timer.C:
		}
		switch {
		case patient && r.goAhead(mine):
			return r.alone(ctx, mine)
		case !patient && r.leave(mine):
			return forms.Submission{}, classify(unreachable(ctx, errNoTrip))
		}
		timer.Reset(acquireTimeout - r.patience)
	}
}

var errNoTrip = errors.New("others read for too long")

// alone is a trip for one.
func (r *reader) alone(ctx context.Context, mine *reading) (forms.Submission, error) {
	defer r.end() //nolint:contextcheck // what follows is for others, and does not end with this request
	r.trip(ctx, []*reading{mine})
	return mine.sub, mine.err
}

// begin tells whether there may be another trip. If not, who asks is among
// those who wait.
func (r *reader) begin(mine *reading) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trips < r.few {
		r.trips++
		return true
	}
	mine.done, mine.since = make(chan struct{}), time.Now()
	r.waiting = append(r.waiting, mine)
	return false
}

// goAhead is for who has waited long enough to make a trip beyond the few. It
// is false when there are as many as there may be, or when the one that was
// waited for has begun.
func (r *reader) goAhead(mine *reading) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trips == r.most || !r.remove(mine) {
		return false
	}
	r.trips++
	return true
}

// leave is for who waits no longer. It is false when the trip has begun.
func (r *reader) leave(mine *reading) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.remove(mine)
}

func (r *reader) remove(mine *reading) bool {
	at := slices.Index(r.waiting, mine)
	if at < 0 {
		return false
	}
	r.waiting = slices.Delete(r.waiting, at, at+1)
	return true
}

// end is called after a trip. If somebody waits, there is another in its place.
func (r *reader) end() {
	if next := r.next(); len(next) > 0 {
		go r.serve(next)
	}
}

// serve makes trips for those who wait.
func (r *reader) serve(together []*reading) {
	for ; len(together) > 0; together = r.next() {
		r.protected(together)
		for _, one := range together {
			close(one.done)
		}
		clear(together) // which is part of something longer, and would keep what was read
	}
}

// protected keeps a panic from ending the process: no request is there to
// answer for it.
func (r *reader) protected(together []*reading) {
	defer func() {
		if p := recover(); p != nil {
			fail(together, fmt.Errorf("panic while reading: %v\n%s", p, debug.Stack()))
		}
	}()
	r.trip(context.Background(), together)
}

// next is who goes on the next trip: an equal share of those who wait. There is
// a trip less if nobody does, or if there are more than few and nobody has
// waited for long.
func (r *reader) next() []*reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.waiting)
	if n == 0 || r.trips > r.few && time.Since(r.waiting[0].since) < r.patience {
		r.trips--
		return nil
	}
	n = min((n+r.trips-1)/r.trips, maxTogether)
	together := r.waiting[:n:n]
	r.waiting = r.waiting[n:]
	return together
}

func fail(together []*reading, err error) {
	for _, one := range together {
		one.sub, one.err = forms.Submission{}, err
	}
}

// readAll is a trip. What the database refuses is refused to one, and those
// behind are read by another; but nobody waits for many refusals that each take
// their time.
func (s *Store) readAll(ctx context.Context, together []*reading) {
	for began := time.Now(); ; {
		read, err := s.readTogether(ctx, together)
		if err == nil {
			return
		}
		together = together[read:]
		fail(together[:1], err)
		if behind := together[1:]; len(behind) == 0 || !isRefusal(err) || time.Since(began) > acquireTimeout {
			fail(behind, fmt.Errorf("%w: it was to be read behind another, which failed: %w", store.ErrUnavailable, err))
			return
		}
		together = together[1:]
	}
}

// isRefusal tells whether the database has answered, and will answer others.
func isRefusal(err error) bool {
	var lost lostError
	return serverCode(err) != "" && !errors.As(err, &lost)
}

// readTogether sends all at once, and tells how many have their outcome. The
// error is that of the one behind them.
func (s *Store) readTogether(ctx context.Context, together []*reading) (read int, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn, _ bool) error {
		read = 0
		if len(together) == 1 {
			return together[0].take(conn.QueryRow(ctx, sqlGet, together[0].args()...))
		}
		batch := &pgx.Batch{}
		for _, one := range together {
			batch.Queue(sqlGet, one.args()...)
		}
		results := conn.SendBatch(ctx, batch)
		for _, one := range together {
			if err := one.take(results.QueryRow()); err != nil {
				_ = results.Close() // it can only say the same
				return err
			}
			read++
		}
		_ = results.Close() // all is read
		return nil
	})
	return read, err
}

func (one *reading) args() []any { return []any{one.key.PageID, one.key.FormID, one.key.ID} }

// take is the outcome, unless it can't be read at all. That it is not there is one.
func (one *reading) take(row pgx.Row) error {
	one.sub, one.err = readSubmission(row, one.key)
	if errors.Is(one.err, store.ErrNotFound) {
		return nil
	}
	return one.err
}
