package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

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

// outcome is what a reader was told.
type outcome struct {
	sub forms.Submission
	err error
}

// fakeTrips are trips that a test ends one by one, within a bubble of synctest.
type fakeTrips struct {
	*reader
	sizes []int
	ends  chan struct{} // a trip ends with each that is sent, all when it is closed
}

// newFakeTrips has as many under way as there may be as a rule.
func newFakeTrips() *fakeTrips {
	f := &fakeTrips{ends: make(chan struct{})}
	f.reader = newReader(nil, 16)
	f.trip = func(_ context.Context, together []*reading) {
		f.mu.Lock()
		f.sizes = append(f.sizes, len(together))
		f.mu.Unlock()
		<-f.ends
		for _, one := range together {
			one.sub.ID = one.key.ID
		}
	}
	for i := range f.few {
		f.read(ctx, int64(i))
	}
	return f
}

func (f *fakeTrips) read(ctx context.Context, id int64) <-chan outcome {
	told := make(chan outcome, 1)
	go func() {
		sub, err := f.get(ctx, store.Key{ID: id})
		told <- outcome{sub, err}
	}()
	synctest.Wait()
	return told
}

func (f *fakeTrips) endOne() {
	f.ends <- struct{}{}
	synctest.Wait()
}

// endAll lets all trips end, and those that follow.
func (f *fakeTrips) endAll(t *testing.T) {
	t.Helper()
	close(f.ends)
	synctest.Wait()
	storetest.Same(t, "at rest", f.rests(), true)
}

// TestReadsAreSharedOut: who waits is spread evenly over the trips.
func TestReadsAreSharedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeTrips()
		var told []<-chan outcome
		for i := range 41 {
			told = append(told, f.read(ctx, int64(100+i)))
		}
		f.endOne()
		f.endOne()
		storetest.Same(t, "sizes", fmt.Sprint(f.sizes), "[1 1 1 1 11 8]")
		storetest.Same(t, "wait", f.waits(), 22)
		f.endAll(t)
		for i, told := range told {
			if got := <-told; got.err != nil || got.sub.ID != int64(100+i) {
				t.Errorf("read %d: %d, %v", 100+i, got.sub.ID, got.err)
			}
		}
	})
}

func TestTripIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeTrips()
		for i := range (f.few + 1) * maxTogether {
			f.read(ctx, int64(i))
		}
		f.endOne()
		storetest.Same(t, "together", f.sizes[len(f.sizes)-1], maxTogether)
		f.endAll(t)
	})
}

// TestSlowReadsAreMadeBesideEachOther: where trips take long, there are more of
// them, but for the connections of those who write; and few again when they are
// quick.
func TestSlowReadsAreMadeBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeTrips()
		for i := range 40 {
			f.read(ctx, int64(100+i))
		}
		time.Sleep(readPatience)
		synctest.Wait()
		trips, waiting := f.state()
		more := f.most - f.few
		storetest.Same(t, "trips", trips, 16-workers)
		storetest.Same(t, "wait", waiting, 40-more)
		// One after the other ends, and those who have waited for long are read.
		for waiting > 0 {
			f.endOne()
			trips, waiting = f.state()
			storetest.Same(t, "trips", trips, f.most)
		}
		// Who comes now has not waited, so there are few trips again.
		for i := range 20 {
			f.read(ctx, int64(200+i))
		}
		for range more {
			f.endOne()
		}
		trips, waiting = f.state()
		storetest.Same(t, "trips", trips, fewTrips)
		storetest.Same(t, "wait", waiting, 20)
		f.endAll(t)
	})
}

// TestReadsWaitForABoundedTime: who waits for a trip gives up when there would
// have been no connection either, or with the request, and that even under way.
func TestReadsWaitForABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeTrips()
		f.most = f.few
		gone, cancel := context.WithCancel(ctx)
		leaves, stays := f.read(gone, 10), f.read(ctx, 11)
		cancel()
		if got := <-leaves; !errors.Is(got.err, context.Canceled) || errors.Is(got.err, store.ErrUnavailable) {
			t.Errorf("who left: %v", got.err)
		}
		began := time.Now()
		if got := <-stays; !errors.Is(got.err, store.ErrUnavailable) {
			t.Errorf("who waited in vain: %v", got.err)
		}
		storetest.Same(t, "waited", time.Since(began), acquireTimeout)
		storetest.Same(t, "wait still", f.waits(), 0)

		soon, cancel := context.WithCancel(ctx)
		leaves, stays = f.read(soon, 20), f.read(ctx, 21)
		for f.waits() > 0 {
			f.endOne()
		}
		time.Sleep(2 * acquireTimeout) // on a trip that takes so long
		cancel()
		if got := <-leaves; !errors.Is(got.err, context.Canceled) {
			t.Errorf("who left under way: %v", got.err)
		}
		f.endAll(t)
		if got := <-stays; got.err != nil || got.sub.ID != 21 {
			t.Errorf("who stayed: %d, %v", got.sub.ID, got.err)
		}
	})
}

// TestPanicOnATrip is told to those who were on it.
func TestPanicOnATrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeTrips()
		whole := f.trip
		f.trip = func(ctx context.Context, together []*reading) {
			whole(ctx, together)
			if slices.ContainsFunc(together, func(one *reading) bool { return one.key.ID == 13 }) {
				panic("unlucky")
			}
		}
		unlucky, others := f.read(ctx, 13), f.read(ctx, 14)
		f.endOne()
		f.endOne()
		f.endAll(t)
		if got := <-unlucky; got.err == nil || !strings.Contains(got.err.Error(), "unlucky") || got.sub.ID != 0 {
			t.Errorf("who was on the trip: %d, %v", got.sub.ID, got.err)
		}
		if got := <-others; got.err != nil {
			t.Errorf("who was on another: %v", got.err)
		}
	})
}

// readAtOnce reads all keys in one trip.
func readAtOnce(s *Store, keys ...store.Key) []outcome {
	together := make([]*reading, len(keys))
	for i, key := range keys {
		together[i] = &reading{key: key}
	}
	s.readAll(ctx, together)
	outcomes := make([]outcome, len(keys))
	for i, one := range together {
		outcomes[i] = outcome{one.sub, one.err}
	}
	return outcomes
}

func TestTripBringsEverybodyTheirOwn(t *testing.T) {
	s := openStore(t, database(t))
	var keys []store.Key
	var want []string
	for i := range maxTogether {
		value := fmt.Sprint(i)
		key := keyOf(mustCreate(t, s, sample(value)))
		switch i {
		case 10:
			key.ID, value = 1<<50, ""
		case 20:
			key, value = keys[3], want[3] // twice
		case 30:
			key.FormID, value = "another", ""
		}
		keys, want = append(keys, key), append(want, value)
	}
	acquired := s.pool.Stat().AcquireCount()
	outcomes := readAtOnce(s, keys...)
	storetest.Same(t, "connections taken", s.pool.Stat().AcquireCount()-acquired, int64(1))
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
}

// TestReadThatIsRefusedFailsAlone: neither what the database can't look for nor
// what it can't read takes anybody along.
func TestReadThatIsRefusedFailsAlone(t *testing.T) {
	url := database(t)
	s := openStore(t, url)
	var keys []store.Key
	for i := range 8 {
		keys = append(keys, keyOf(mustCreate(t, s, sample(fmt.Sprint(i)))))
	}
	exec(t, url, `CREATE FUNCTION damaged() RETURNS text LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'could not read block' USING ERRCODE = '58030'; END $$`)
	exec(t, url, `ALTER TABLE submissions RENAME TO stored`)
	exec(t, url, fmt.Sprintf(`CREATE VIEW submissions AS SELECT page_id, form_id, id, username, created, once,
		CASE WHEN id IN (%d, %d) THEN damaged() ELSE fields END AS fields FROM stored`, keys[2].ID, keys[3].ID))
	keys[5].FormID = "nul \x00"
	for i, got := range readAtOnce(s, keys...) {
		switch i {
		case 2, 3:
			if !errors.Is(got.err, store.ErrUnavailable) {
				t.Errorf("read %d: %v, want %v", i, got.err, store.ErrUnavailable)
			}
		case 5:
			if got.err == nil || errors.Is(got.err, store.ErrUnavailable) || errors.Is(got.err, store.ErrNotFound) {
				t.Errorf("read %d: %v", i, got.err)
			}
		default:
			if got.err != nil || got.sub.ID != keys[i].ID {
				t.Errorf("read %d: %d, %v", i, got.sub.ID, got.err)
			}
		}
	}
}

// TestRefusalsThatTakeLong: a trip does not go on with those behind for ever.
func TestRefusalsThatTakeLong(t *testing.T) {
	url := database(t)
	s := openStore(t, url)
	key := keyOf(mustCreate(t, s, sample("x")))
	defer lockTable(t, url, "ACCESS EXCLUSIVE")() // which a read waits for
	began := time.Now()
	for i, got := range readAtOnce(s, key, key, key, key) {
		if !errors.Is(got.err, store.ErrUnavailable) {
			t.Errorf("read %d: %v, want %v", i, got.err, store.ErrUnavailable)
		}
	}
	if took := time.Since(began); took > 3*acquireTimeout {
		t.Errorf("it took %v", took)
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
		done <- storetest.Parallel(8*fewTrips, func(int) error {
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
	cutAgain(t, url, 15, 200, func() int {
		mu.Lock()
		defer mu.Unlock()
		return reads
	})
	close(stop)
	storetest.NoErrors(t, "read", <-done)
	until(t, "no trip is left", s.reader.rests)
}

// TestWhatWasReadIsNotKept: those who still wait do not keep alive what others
// have read.
func TestWhatWasReadIsNotKept(t *testing.T) {
	r := newReader(nil, 16)
	r.trip = func(context.Context, []*reading) {}
	r.trips, r.patience = r.few, time.Hour
	var all []weak.Pointer[reading]
	for range 9 {
		one := &reading{}
		if r.begin(one) {
			t.Fatal("there was to be no further trip")
		}
		all = append(all, weak.Make(one))
	}
	first := r.next()
	read := len(first)
	r.trips++ // one beyond the few, which ends when it is done
	r.serve(first)
	runtime.GC()
	for i, one := range all {
		if kept := one.Value() != nil; kept != (i >= read) {
			t.Errorf("reading %d of %d: kept is %v", i, read, kept)
		}
	}
	storetest.Same(t, "wait", r.waits(), len(all)-read)
}
