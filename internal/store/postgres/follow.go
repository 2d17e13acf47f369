package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// A transaction takes numbers of a sequence before it commits: a reader may see number 8 before 7 is stored. So before
// it takes numbers, it locks, shared, a key that holds the last number taken until then. What lies up to the lowest
// locked key, and was taken before a look at the keys, is settled: its transactions have ended.

const (
	// sequenceKeys are the high bits of the keys of the sequence.
	sequenceKeys = `('submission_ids'::regclass::oid::bigint & 8388607)`
	// lastNumber waits for sqlLockSequence, unlike a SELECT from the sequence.
	lastNumber = `COALESCE(pg_sequence_last_value('submission_ids'), 0)`

	// sqlAnnounceIDs comes before a transaction takes numbers of the sequence, below 2^40.
	sqlAnnounceIDs = `SELECT pg_advisory_xact_lock_shared(` + sequenceKeys + ` << 40 | ` + lastNumber + `)`
	sqlLastID      = `SELECT ` + lastNumber
	// sqlSettledID finds the last settled number. $1 is the last number, read before.
	sqlSettledID = `SELECT LEAST($1, min(key & 1099511627775)) FROM (
			SELECT classid::bigint << 32 | objid::bigint AS key FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS keys
		WHERE key >> 40 = ` + sequenceKeys
)

const (
	// readEvery bounds how often a server looks what is settled.
	readEvery = time.Second
	// maxFollowWait bounds how long a list waits for a look.
	maxFollowWait = 1500 * time.Millisecond
)

// settled is what a server knows to be settled of a sequence.
type settled struct {
	read  func(context.Context) (int64, error)
	upTo  atomic.Int64
	turn  chan struct{} // has room for the list that looks
	begun time.Time     // the last look
}

// wait returns after a look that began after the call, or when it has waited maxFollowWait for its turn.
func (s *settled) wait(ctx context.Context) error {
	asked := time.Now()
	short, cancel := context.WithTimeout(ctx, maxFollowWait)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-short.Done():
		return ctx.Err()
	}
	if s.begun.After(asked) { // for the list before
		return nil
	}
	select {
	case <-time.After(time.Until(s.begun.Add(readEvery))):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.begun = time.Now()
	upTo, err := s.read(ctx)
	if err == nil {
		s.upTo.Store(upTo)
	}
	return err
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

// follow is Scan with Settled. A scan has all rows that were settled before it begins, so another scan follows a look.
func (s *Store) follow(ctx context.Context, from store.Query) store.Submissions {
	return engine.Sequence(func(yield func(forms.Submission) bool) error {
		q := from
		for waited := false; ; waited = true {
			upTo, unsettled := s.settled.upTo.Load(), false
			for sub, err := range engine.ListReader(s.readPart).Scan(ctx, q) {
				if unsettled = sub.ID > upTo; unsettled {
					break
				}
				if err != nil || !yield(sub) {
					return err
				}
				q.After, q.Limit = sub.ID, max(q.Limit-1, 0) // it ends by itself before a Limit is 0
			}
			switch {
			case !unsettled:
				return nil
			case waited:
				return store.ErrUnsettled
			}
			if err := s.settled.wait(ctx); err != nil {
				return err
			}
		}
	})
}
