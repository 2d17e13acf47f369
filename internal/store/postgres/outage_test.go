package postgres

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// ledger records the outcome of creates.
type ledger struct {
	mu           sync.Mutex
	acknowledged map[int64]string
	unknown      int
}

// write creates submissions, each with a value of its own, until stop is closed.
func (l *ledger) write(s *Store, writer int, stop <-chan struct{}) error {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		default:
		}
		value := fmt.Sprintf("%d-%d", writer, i)
		sub, err := s.Create(ctx, sample(value))
		l.mu.Lock()
		switch {
		case err == nil:
			l.acknowledged[sub.ID] = value
		case errors.Is(err, store.ErrUnavailable):
			l.unknown++
		default:
			l.mu.Unlock()
			return err
		}
		l.mu.Unlock()
	}
}

func (l *ledger) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acknowledged)
}

// check compares what is stored with the recorded outcomes.
func (l *ledger) check(t *testing.T, s *Store) {
	t.Helper()
	stored := storetest.Values(t, s)
	for id, value := range l.acknowledged {
		testkit.Same(t, id, stored[id], value)
	}
	times := map[string]int{}
	for _, value := range stored {
		if times[value]++; times[value] > 1 {
			t.Errorf("%q is stored more than once", value)
		}
	}
	if extra := len(stored) - len(l.acknowledged); extra > l.unknown {
		t.Errorf("%d are stored without an acknowledgement, but only %d outcomes were unknown", extra, l.unknown)
	}
}

// underLoad runs disturb during concurrent creates, and checks their outcomes.
func underLoad(t *testing.T, s *Store, disturb func(l *ledger)) {
	t.Helper()
	const writers = 12
	l := &ledger{acknowledged: map[int64]string{}}
	stop, done := make(chan struct{}), make(chan []error)
	go func() { done <- storetest.Parallel(writers, func(i int) error { return l.write(s, i, stop) }) }()
	disturb(l)
	close(stop)
	storetest.NoErrors(t, "create", <-done)
	l.check(t, s)
}

// more waits until count more creates were acknowledged.
func (l *ledger) more(t *testing.T, count int) {
	t.Helper()
	from := l.len()
	testkit.Eventually(t, fmt.Sprint(count, " more are acknowledged"), func() bool { return l.len() >= from+count })
}

const terminateOthers = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE datname = current_database() AND application_name = 'formulary'`

// cutAgain terminates all connections so many times, and waits before each
// until the counter done has grown by more than after.
func cutAgain(t *testing.T, url string, times, after int, done func() int) {
	t.Helper()
	for range times {
		from := done()
		testkit.Eventually(t, "work goes on", func() bool { return done() > from+after })
		exec(t, url, terminateOthers)
	}
}

func TestConnectionsAreCutUnderLoad(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	underLoad(t, s, func(l *ledger) {
		for range 15 {
			l.more(t, 20)
			exec(t, url, terminateOthers)
		}
		l.more(t, 100) // it recovers by itself
	})
}

// TestReadsAreRetriedAfterALostConnection cuts connections while many read.
func TestReadsAreRetriedAfterALostConnection(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	sub := mustCreate(t, s, sample("x"))
	stop, done := make(chan struct{}), make(chan []error)
	var reads atomic.Int64
	go func() {
		done <- storetest.Parallel(2*DefaultMaxConns, func(int) error {
			for {
				select {
				case <-stop:
					return nil
				default:
				}
				got, err := s.Get(ctx, keyOf(sub))
				if err != nil {
					return err
				}
				if string(got.Entries) != string(sub.Entries) {
					return fmt.Errorf("read %s", got.Entries)
				}
				reads.Add(1)
			}
		})
	}()
	cutAgain(t, url, 15, 200, func() int { return int(reads.Load()) })
	close(stop)
	storetest.NoErrors(t, "read", <-done)
}

// TestCrashUnderLoad: what was acknowledged survives the server's crash, and no
// id is given twice after it.
func TestCrashUnderLoad(t *testing.T) {
	cluster := pgtest.New(t, pgtest.Options{Durable: true})
	s := openStore(t, cluster.Database(t))
	underLoad(t, s, func(l *ledger) {
		for range 3 {
			l.more(t, 200)
			must(t, errors.Join(cluster.Crash(), cluster.Resume()))
			l.more(t, 50)
		}
	})
}

// TestStopped: every method returns ErrUnavailable soon while the server is
// stopped, and succeeds once it runs again.
func TestStopped(t *testing.T) {
	cluster := pgtest.New(t, pgtest.Options{})
	s := openStore(t, cluster.Database(t))
	sub := mustCreate(t, s, sample("x"))
	calls := func() map[string]error {
		_, create := s.Create(ctx, sample("y"))
		_, get := s.Get(ctx, keyOf(sub))
		_, update := s.Update(ctx, keyOf(sub), set("field", "z"))
		_, claim := s.Claim(ctx, "name", "value")
		_, count := s.Count(ctx)
		return map[string]error{
			"create": create, "get": get, "update": update, "claim": claim, "count": count, "ping": s.Ping(ctx),
			"scan": testkit.Each(s.Scan(ctx, store.Query{PageID: 1, FormID: "form"}), func(forms.Submission) error { return nil }),
			"dump": storetest.EachDumped(s.Dump(ctx), func(store.Record) error { return nil }, nil),
			"load": s.Load(ctx, []store.Record{{Submission: forms.Submission{ID: 77, PageID: 1, FormID: "form", Entries: forms.EncodeEntries(nil, nil)}}}),
		}
	}
	must(t, cluster.Stop())
	began := time.Now()
	for range 2 {
		for what, err := range calls() {
			testkit.ErrorIs(t, what, err, store.ErrUnavailable)
		}
	}
	if took := time.Since(began); took > acquireTimeout*12 {
		t.Errorf("the errors took %v", took)
	}
	must(t, cluster.Resume())
	for what, err := range calls() {
		if err != nil {
			t.Errorf("%s after the server was started again: %v", what, err)
		}
	}
}
