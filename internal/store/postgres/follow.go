package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/panics"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// A transaction takes numbers of a sequence before it commits: a reader may see number 8 before 7 is stored. So before
// it takes numbers, it locks, shared, a key that holds the last number taken until then. What lies up to the lowest
// locked key, and was taken before a look at the keys, is settled: its transactions have ended.

// sequenceKeys are the high bits of the keys of a sequence.
func sequenceKeys(sequence string) string {
	return `('` + sequence + `'::regclass::oid::bigint & 8388607)`
}

// announce returns the statement that comes before a transaction takes numbers of a sequence, below 2^40.
func announce(sequence string) string {
	return `SELECT pg_advisory_xact_lock_shared(` + sequenceKeys(sequence) + ` << 40 | ` + lastNumber(sequence) + `)`
}

// lastNumber waits for sqlLockSequence, unlike a SELECT from the sequence.
func lastNumber(sequence string) string {
	return `COALESCE(pg_sequence_last_value('` + sequence + `'), 0)`
}

// settledUpTo returns the statement that follows one that has read the last number, $1.
func settledUpTo(sequence string) string {
	return `SELECT LEAST($1, min(key & 1099511627775)) FROM (
			SELECT classid::bigint << 32 | objid::bigint AS key FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS keys
		WHERE key >> 40 = ` + sequenceKeys(sequence)
}

const (
	// readEvery bounds how often a server looks what is settled.
	readEvery = time.Second
	// maxFollowWait bounds how long a list waits for a look.
	maxFollowWait = 1500 * time.Millisecond
)

// settled is what a server knows to be settled of a sequence.
type settled struct {
	read func(context.Context) (int64, error)
	upTo atomic.Int64

	turn  sync.Mutex // held by the look that is under way
	mu    sync.Mutex
	next  *look // has not begun
	begun time.Time
}

type look struct {
	done chan struct{}
	err  error // to be read when done
}

// wait waits for a look that begins after the call, but not for long.
func (s *settled) wait(ctx context.Context) error {
	s.mu.Lock()
	l := s.next
	if l == nil {
		l = &look{done: make(chan struct{})}
		s.next = l
		time.AfterFunc(time.Until(s.begun.Add(readEvery)), func() { s.look(l) }) //nolint:contextcheck // others wait, too
	}
	s.mu.Unlock()
	select {
	case <-l.done:
		return l.err
	case <-time.After(maxFollowWait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *settled) look(l *look) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	s.next, s.begun = nil, time.Now()
	s.mu.Unlock()
	l.err = panics.ToError(func() error {
		upTo, err := s.read(context.Background())
		if err == nil {
			s.upTo.Store(upTo)
		}
		return err
	})
	close(l.done)
}

// readSettled reads which submission ids are settled. A standby does not know the keys.
func (s *Store) readSettled(ctx context.Context) (upTo int64, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if err := checkPrimary(ctx, conn); err != nil {
			return err
		}
		if err := conn.QueryRow(ctx, sqlLastID).Scan(&upTo); err != nil {
			return fmt.Errorf("read the last id: %w", err)
		}
		return engine.Wrap(conn.QueryRow(ctx, sqlSettledID, upTo).Scan(&upTo), "look which ids are settled")
	})
	return upTo, err
}

// follower reads the parts of one list up to what is settled.
type follower struct {
	*Store
	upTo   int64 // was known before a part is read
	waited bool
	cut    bool // the list ends before submissions that are not settled
}

// follow is Scan with Settled.
func (s *Store) follow(ctx context.Context, q store.Query, visit func(forms.Submission) error) error {
	f := &follower{Store: s, upTo: s.settled.upTo.Load()}
	err := engine.ListReader(f.readPart).Scan(ctx, q, visit)
	if err == nil && f.cut {
		err = store.ErrUnsettled
	}
	return err
}

func (f *follower) readPart(ctx context.Context, c *engine.Rows, q store.Query) error {
	for {
		if err := f.Store.readPart(ctx, c, q); err != nil {
			return err
		}
		if f.cut = c.Cut(f.upTo); !f.cut || f.waited {
			return nil
		}
		f.waited = true
		if err := f.settled.wait(ctx); err != nil {
			return err
		}
		f.upTo = f.settled.upTo.Load()
	}
}
