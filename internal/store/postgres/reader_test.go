package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

func (r *reader) state() (trips, waiting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trips, len(r.waiting)
}

func (r *reader) waits() int {
	_, waiting := r.state()
	return waiting
}

func (r *reader) rests() bool {
	trips, waiting := r.state()
	return trips == 0 && waiting == 0
}

// holdReads keeps every read waiting until release is called.
func holdReads(t *testing.T, url string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{`BEGIN`, `LOCK TABLE submissions IN ACCESS EXCLUSIVE MODE`} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

// outcome is what a reader was told.
type outcome struct {
	sub forms.Submission
	err error
}

// readTogether reads all keys while as many trips are under way as there may
// be, so that they go together.
func readTogether(t *testing.T, s *Store, url string, busy store.Key, keys ...store.Key) []outcome {
	t.Helper()
	release := holdReads(t, url)
	var wg sync.WaitGroup
	for range maxTrips {
		wg.Go(func() {
			if _, err := s.Get(ctx, busy); err != nil {
				t.Errorf("keep a trip under way: %v", err)
			}
		})
	}
	waiting(t, url, maxTrips)
	outcomes := make([]outcome, len(keys))
	for i, key := range keys {
		wg.Go(func() { outcomes[i].sub, outcomes[i].err = s.Get(ctx, key) })
		until(t, "it waits", func() bool { return s.reader.waits() == i+1 })
	}
	release()
	wg.Wait()
	return outcomes
}

func TestReadsShareTrips(t *testing.T) {
	url := database(t)
	s := openStore(t, url)
	var keys []store.Key
	var want []string
	for i := range maxTogether + 20 {
		value := fmt.Sprint(i)
		key := keyOf(mustCreate(t, s, sample(value)))
		switch i {
		case 10:
			key.ID, value = 1<<50, ""
		case 20:
			key, value = keys[3], want[3] // twice in one trip
		case 30:
			key.FormID, value = "another", ""
		}
		keys, want = append(keys, key), append(want, value)
	}
	trips := s.pool.Stat().AcquireCount()
	outcomes := readTogether(t, s, url, keys[0], keys...)
	storetest.Same(t, "trips", s.pool.Stat().AcquireCount()-trips, int64(maxTrips+2))
	for i, got := range outcomes {
		if want[i] == "" {
			if !errors.Is(got.err, store.ErrNotFound) {
				t.Errorf("read %d: %v, want %v", i, got.err, store.ErrNotFound)
			}
			continue
		}
		if got.err != nil {
			t.Errorf("read %d: %v", i, got.err)
			continue
		}
		entries, err := got.sub.Entries.Decode()
		if err != nil || got.sub.ID != keys[i].ID || got.sub.Username != "amy" || len(entries) != 1 || entries[0].Value != want[i] {
			t.Errorf("read %d is %+v, want %q: %v", i, got.sub, want[i], err)
		}
	}
	until(t, "no trip is left", s.reader.rests)
}

// TestReadThatIsRefusedFailsAlone: what the database refuses to look for takes
// nobody along.
func TestReadThatIsRefusedFailsAlone(t *testing.T) {
	url := database(t)
	s := openStore(t, url)
	key := keyOf(mustCreate(t, s, sample("x")))
	bad := key
	bad.FormID = "nul \x00"
	for i, got := range readTogether(t, s, url, key, key, bad, key) {
		if i == 1 && (got.err == nil || errors.Is(got.err, store.ErrUnavailable) || errors.Is(got.err, store.ErrNotFound)) ||
			i != 1 && got.err != nil {
			t.Errorf("read %d: %v", i, got.err)
		}
	}
}

// TestReadsAreCut: whose connection is lost under way is read again.
func TestReadsAreCut(t *testing.T) {
	url := database(t)
	s := openStore(t, url)
	sub := mustCreate(t, s, sample("x"))
	stop, done := make(chan struct{}), make(chan []error)
	var mu sync.Mutex
	reads := 0
	go func() {
		done <- storetest.Parallel(8*maxTrips, func(int) error {
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
				mu.Lock()
				reads++
				mu.Unlock()
			}
		})
	}()
	for range 15 {
		mu.Lock()
		from := reads
		mu.Unlock()
		until(t, "reads go on", func() bool {
			time.Sleep(time.Millisecond) // leave the processor to the readers
			mu.Lock()
			defer mu.Unlock()
			return reads > from+200
		})
		exec(t, url, terminateOthers)
	}
	close(stop)
	storetest.NoErrors(t, "read", <-done)
}

// TestReadsWaitForABoundedTime: who waits for a trip that does not end gives up
// as if there were no connection to be had, or with the request; who is on one
// is told how it ended.
func TestReadsWaitForABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		r := &reader{trip: func(_ context.Context, together []*reading) {
			<-end
			for _, one := range together {
				one.sub.ID = one.key.ID
			}
		}}
		get := func(ctx context.Context, id int64) <-chan outcome {
			told := make(chan outcome, 1)
			go func() {
				sub, err := r.get(ctx, store.Key{ID: id})
				told <- outcome{sub, err}
			}()
			synctest.Wait()
			return told
		}
		var under []<-chan outcome
		for i := range maxTrips {
			under = append(under, get(ctx, int64(i)))
		}
		gone, cancel := context.WithCancel(ctx)
		leaves, stays := get(gone, 10), get(ctx, 11)
		cancel()
		if got := <-leaves; !errors.Is(got.err, context.Canceled) || errors.Is(got.err, store.ErrUnavailable) {
			t.Errorf("who left: %v", got.err)
		}
		began := time.Now()
		if got := <-stays; !errors.Is(got.err, store.ErrUnavailable) {
			t.Errorf("who waited in vain: %v", got.err)
		}
		storetest.Same(t, "waited", time.Since(began), acquireTimeout)
		storetest.Same(t, "wait still", r.waits(), 0)

		// Now one ends, and the next trip takes longer than anybody would wait for it.
		late := get(gone, 20) // who comes when the request has ended is not read at all
		if got := <-late; !errors.Is(got.err, context.Canceled) {
			t.Errorf("who came too late: %v", got.err)
		}
		on := get(ctx, 21)
		end <- struct{}{}
		synctest.Wait()
		time.Sleep(2 * acquireTimeout)
		close(end)
		if got := <-on; got.err != nil || got.sub.ID != 21 {
			t.Errorf("who was on a trip: %d, %v", got.sub.ID, got.err)
		}
		for i, told := range under {
			if got := <-told; got.err != nil || got.sub.ID != int64(i) {
				t.Errorf("trip %d: %d, %v", i, got.sub.ID, got.err)
			}
		}
		synctest.Wait()
		storetest.Same(t, "at rest", r.rests(), true)
	})
}
