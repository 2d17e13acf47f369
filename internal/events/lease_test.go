package events

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// TestTwoDispatchers: no event is sent twice at the same time, nor out of order.
func TestTwoDispatchers(t *testing.T) { enginetest.Each(t, testTwoDispatchers) }

func testTwoDispatchers(t *testing.T, on enginetest.Engine) {
	formIDs, each := []string{"a", "b", "c", "d", "e", "f"}, 60
	var mu sync.Mutex
	sending, refused := map[string]bool{}, map[string]bool{}
	formOf := regexp.MustCompile(`"formId":"(.)"`)
	r := newReceiver(t, func(c call) int {
		form := formOf.FindStringSubmatch(c.Body)[1]
		mu.Lock()
		if sending[form] {
			t.Errorf("two events of form %s at the same time", form)
		}
		sending[form] = true
		refuse := strings.HasPrefix(c.ID, "A") && !refused[c.ID]
		refused[c.ID] = true
		mu.Unlock()
		defer func() {
			mu.Lock()
			sending[form] = false
			mu.Unlock()
		}()
		if refuse {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	f := open(t, on, r.hook("crm"))
	f.runs(f.dispatcher())
	f.runs(f.dispatcher())
	for range each {
		for _, form := range formIDs {
			f.creates(form, "x")
		}
	}
	f.settles("crm", 0)
	delivered := map[string][]int64{}
	seen := map[string]bool{}
	for _, c := range r.got() {
		if form := formOf.FindStringSubmatch(c.Body)[1]; !seen[c.ID] {
			seen[c.ID] = true
			delivered[form] = append(delivered[form], ids([]call{c})...)
		}
	}
	for _, form := range formIDs {
		if list := delivered[form]; len(list) != each || !slices.IsSorted(list) {
			t.Errorf("form %s: %v", form, list)
		}
	}
}

// TestTakeover: the events of a server that died are sent when its lease has run out.
func TestTakeover(t *testing.T) {
	if defaultTuning.lease > 30*time.Second-2*defaultTuning.poll {
		t.Error("a lease is too long for a takeover within 30 seconds")
	}
	r := newReceiver(t, nil)
	f := open(t, enginetest.Default(), r.hook("crm"))
	f.creates("a", "1")
	began := time.Now()
	const dead = 300 * time.Millisecond
	lease, err := f.store.LeaseQueue(t.Context(), store.Queue{Hook: "crm", PageID: 1, FormID: "a"}, dead, 10)
	if err != nil || len(lease.Events) != 1 {
		t.Fatal(lease, err)
	}
	f.runs(f.dispatcher())
	f.settles("crm", 0)
	if took := time.Since(began); took < dead {
		t.Errorf("sent after %v, within the lease", took)
	}
}

// patientStore settles a queue, however long that takes on a busy machine.
type patientStore struct{ store.Engine }

func (s patientStore) SettleQueue(ctx context.Context, l store.Lease, settled store.Settlement) error {
	return s.Engine.SettleQueue(context.WithoutCancel(ctx), l, settled)
}

// TestShutdown: what was delivered is settled, what was not is free for others.
func TestShutdown(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	r := newReceiver(t, func(call) int {
		entered <- struct{}{}
		<-release
		return http.StatusOK
	})
	t.Cleanup(func() { close(release) })
	f := open(t, enginetest.Default(), r.hook("crm"))
	for _, value := range []string{"1", "2", "3"} {
		f.creates("a", value)
	}
	next := func(wantID int64) {
		t.Helper()
		lease, err := f.store.LeaseQueue(t.Context(), store.Queue{Hook: "crm", PageID: 1, FormID: "a"}, time.Minute, 10)
		if err != nil || len(lease.Events) == 0 || lease.Events[0].Submission != wantID || lease.Attempts != 0 {
			t.Fatalf("want event %d to be due: %+v, %v", wantID, lease, err)
		}
		testkit.Must(t, f.store.SettleQueue(t.Context(), lease, store.Settlement{}))
	}
	stop := f.runs(f.dispatcher())
	<-entered
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	release <- struct{}{}
	select { // the attempt ended in time, before or after the server was told to stop
	case <-stopped:
	case <-entered:
		release <- struct{}{}
		<-stopped
	}
	next(int64(len(r.got()) + 1))

	d := f.dispatcher()
	d.Store, d.tune.grace = patientStore{f.store}, time.Second
	before := len(r.got())
	stop = f.runs(d)
	<-entered
	stop() // the attempt does not end
	next(int64(before + 1))
	if strings.Contains(f.log.String(), "not delivered") {
		t.Errorf("the end of the server is logged as a failure:\n%s", f.log)
	}
}

// TestShutdownAttempts: a restart during an attempt does not shorten the backoff.
func TestShutdownAttempts(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	r := newReceiver(t, func(call) int {
		entered <- struct{}{}
		<-release
		return http.StatusOK
	})
	t.Cleanup(func() { close(release) })
	f := open(t, enginetest.Default(), r.hook("crm"))
	f.creates("a", "1")
	queue := store.Queue{Hook: "crm", PageID: 1, FormID: "a"}
	lease, err := f.store.LeaseQueue(t.Context(), queue, time.Minute, 1)
	if err == nil {
		err = f.store.SettleQueue(t.Context(), lease, store.Settlement{Attempts: 3, Error: "answered 500"})
	}
	testkit.Must(t, err)
	d := f.dispatcher()
	d.Store, d.tune.grace = patientStore{f.store}, time.Millisecond
	stop := f.runs(d)
	<-entered
	stop()
	if lease, err = f.store.LeaseQueue(t.Context(), queue, time.Minute, 1); err != nil || lease.Attempts != 3 || len(lease.Events) != 1 {
		t.Errorf("lease %+v, %v", lease, err)
	}
}

// mailQueue is a store with a mail that is always due, and that can't be settled.
type mailQueue struct{ store.Engine }

func (mailQueue) TidyEvents(context.Context, time.Duration, int) (int, error) { return 0, nil }

func (mailQueue) DueQueues(context.Context, map[string]int64, int) ([]store.Queue, error) {
	return []store.Queue{{Hook: store.MailHook, PageID: 1, FormID: "a"}}, nil
}

func (mailQueue) LeaseQueue(_ context.Context, q store.Queue, _ time.Duration, _ int) (store.Lease, error) {
	return store.Lease{Queue: q, Events: []store.Event{{Queue: q}}}, nil
}

func (mailQueue) SettleQueue(ctx context.Context, _ store.Lease, _ store.Settlement) error {
	<-ctx.Done()
	return ctx.Err()
}

// hangingMail sends nothing until it is told to end.
type hangingMail struct{ fakeMail }

func (*hangingMail) Send(ctx context.Context, _ Mail) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestShutdownWithinTwoSeconds holds the times that are not those of tests.
func TestShutdownWithinTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newLog(io.Discard)
		listeners, err := OpenListeners("", &hangingMail{}, log)
		testkit.Must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		const sending = time.Second
		time.AfterFunc(sending, cancel)
		began := time.Now()
		NewDispatcher(DispatcherOptions{Store: mailQueue{}, Listeners: listeners, Log: log}).Run(ctx)
		testkit.Same(t, "it took", time.Since(began)-sending, 2*time.Second)
	})
}

// TestSlots: a hook has four attempts under way at most, and holds up no other.
func TestSlots(t *testing.T) {
	var most, now atomic.Int64
	release := make(chan struct{})
	slow := newReceiver(t, func(call) int {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		<-release
		return http.StatusOK
	})
	quickly := newReceiver(t, nil)
	f := open(t, enginetest.Default(), slow.hook("slow"), quickly.hook("quick"))
	for i := range 12 {
		f.creates("form"+strconv.Itoa(i), "1")
	}
	f.runs(f.dispatcher())
	f.settles("quick", 0)
	testkit.Eventually(t, "all slots are used", func() bool { return now.Load() == slotsPerHook })
	close(release)
	f.settles("slow", 0)
	testkit.Same(t, "attempts at the same time", most.Load(), slotsPerHook)
}

// slowStore takes so long to find due queues that all deliveries have ended meanwhile.
type slowStore struct {
	store.Engine
	d     *Dispatcher
	looks atomic.Int64
}

func (s *slowStore) DueQueues(ctx context.Context, after map[string]int64, limit int) ([]store.Queue, error) {
	for len(s.d.ended) < len(s.d.inFlight) {
		runtime.Gosched()
	}
	s.looks.Add(1)
	return s.Engine.DueQueues(ctx, after, limit)
}

// TestManyQueues: deliveries that end during one look at the store share the next one.
func TestManyQueues(t *testing.T) {
	f := open(t, enginetest.Default(), newReceiver(t, nil).hook("crm"))
	const queues = 40
	for i := range queues {
		f.creates("form"+strconv.Itoa(i), "1")
	}
	d := f.dispatcher()
	d.tune.poll = time.Second // the end of the test waits for it
	slow := &slowStore{Engine: f.store, d: d}
	d.Store = slow
	f.runs(d)
	f.settles("crm", 0)
	if looks := slow.looks.Load(); looks > queues {
		t.Errorf("%d looks", looks)
	}
}

// TestBusyHook: a hook with many queues of older events does not hide those of another.
func TestBusyHook(t *testing.T) {
	busy := newReceiver(t, nil)
	before := make(chan int, 1)
	other := newReceiver(t, func(call) int {
		before <- len(busy.got())
		return http.StatusOK
	})
	const queues = 60
	f := open(t, enginetest.Default(), busy.hook("busy"), other.hook("other", "  forms: [last]"))
	for i := range queues {
		f.creates("form"+strconv.Itoa(i), "1")
	}
	f.creates("last", "1")
	d := f.dispatcher()
	d.tune.poll = time.Second
	d.Store = &slowStore{Engine: f.store, d: d}
	f.runs(d)
	if n := <-before; n > queues/2 {
		t.Errorf("%d events of a hook went before the one of another", n)
	}
}

// TestLeaseEnds: an attempt begins only if it must end within the lease.
func TestLeaseEnds(t *testing.T) {
	r := newReceiver(t, nil)
	f := open(t, enginetest.Default(), r.hook("crm"))
	for range 3 {
		f.creates("a", "1")
	}
	d := f.dispatcher()
	d.tune.lease, d.tune.attempt = time.Second, time.Second
	testkit.Must(t, d.deliverLease(t.Context(), store.Queue{Hook: "crm", PageID: 1, FormID: "a"}))
	if calls := r.got(); len(calls) != 0 || f.count("crm").Queued != 3 {
		t.Errorf("calls %v", calls)
	}
	if tune := defaultTuning; tune.lease*9/10 < 2*tune.attempt {
		t.Error("there is no time for an attempt in a lease")
	}
}
