package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// turns creates submissions with events of a hook, on pages and forms, and returns their queues.
func (b *bench) turns(t *testing.T, hook string, places ...store.Key) (queues []store.Queue) {
	t.Helper()
	for _, at := range places {
		n := sample(at.FormID, "amy", "x")
		n.PageID, n.Events = at.PageID, []store.Event{event(hook, "m")}
		b.create(t, n)
		queues = append(queues, store.Queue{Hook: hook, PageID: at.PageID, FormID: at.FormID})
		for began := time.Now(); time.Since(began) < 2*time.Millisecond; { // which is the unit of the order
		}
	}
	return queues
}

func testDueQueues(t *testing.T, b *bench) {
	q := b.turns(t, "crm", store.Key{PageID: 2, FormID: "z"}, store.Key{PageID: 2, FormID: "a"}, store.Key{PageID: 2, FormID: "m"},
		store.Key{PageID: 2, FormID: "z"}, store.Key{PageID: 1, FormID: "b"}, store.Key{PageID: 3, FormID: "c"}, store.Key{PageID: 3, FormID: "d"})
	z, a, m, one, three, last := q[0], q[1], q[2], q[4], q[5], q[6]
	other := b.turns(t, "log", store.Key{PageID: 9, FormID: "z"}, store.Key{PageID: 9, FormID: "y"})
	Same(t, "in turns", b.due(t, "crm"), []store.Queue{one, z, three, a, last, m})
	Same(t, "another hook", b.due(t, "log", "none"), other)
	Same(t, "no hook", b.due(t), []store.Queue(nil))
	for after, want := range map[int64][]store.Queue{
		0: {one, z}, 1: {z, three}, 2: {three, one}, 3: {one, z}, 7: {one, z},
	} {
		found, err := b.DueQueues(ctx, map[string]int64{"crm": after, "log": 0}, 2)
		if err != nil {
			t.Fatal(err)
		}
		crm := slices.DeleteFunc(found, func(q store.Queue) bool { return q.Hook != "crm" })
		Same(t, fmt.Sprint("two after page ", after), crm, want)
	}
	both, err := b.DueQueues(ctx, map[string]int64{"crm": 0, "log": 0}, 1)
	if err != nil || len(both) != 2 {
		t.Errorf("one of each hook: %v, %v", both, err)
	}
}

// Queues that are empty are found once more at most.
func testEmptyQueues(t *testing.T, b *bench) {
	b.tell(t, "form", "x", "crm")
	l := b.lease(t, crm, lease, 10)
	b.settle(t, l, store.Settlement{Delivered: ids(l.Events)})
	Same(t, "due when all is delivered", b.due(t, "crm"), []store.Queue(nil))
	b.tell(t, "form", "y", "crm")
	l = b.lease(t, crm, lease, 10)
	b.settle(t, l, store.Settlement{Delivered: ids(l.Events), Delay: time.Millisecond})
	for len(b.due(t, "crm")) == 0 { // a millisecond
	}
	Same(t, "a lease of an empty queue", b.lease(t, crm, lease, 10), store.Lease{})
	Same(t, "due after that", b.due(t, "crm"), []store.Queue(nil))
	b.tell(t, "form", "z", "crm")
	Same(t, "a further event", messages(b.lease(t, crm, lease, 10).Events), []string{"crm z"})
}

func testSubmitterQueues(t *testing.T, b *bench) {
	mail := event(store.MailHook, "m")
	mail.Recipient = " my mail"
	want := []store.Queue{}
	for range 2 {
		n := sample("form", "amy", "x")
		n.Events = []store.Event{mail}
		r := b.create(t, n)
		_, err := b.Update(ctx, store.Key{PageID: 1, FormID: "form", ID: r.ID}, func(old forms.Submission) (store.Change, error) {
			entries, err := old.Entries.Decode()
			return store.Change{Entries: entries, Events: []store.Event{mail}}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, store.Queue{Hook: store.MailHook, Recipient: fmt.Sprint(r.ID, " my mail"), PageID: 1, FormID: "form"})
	}
	stored := b.events(t)
	Same(t, "events", len(stored), 4)
	for i, e := range stored {
		Same(t, "queue", e.Queue, want[i/2])
	}
	for _, q := range want {
		Same(t, "events of one", len(b.lease(t, q, lease, 10).Events), 2)
	}
}

func testReserve(t *testing.T, b *bench) {
	b.tell(t, "form", "x", "crm")
	b.lease(t, crm, lease, 10)
	reserve := func(recipient string, d time.Duration) store.Lease {
		t.Helper()
		l, err := b.ReserveQueue(ctx, crm, recipient, d)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	var won [8]store.Lease
	var reserving sync.WaitGroup
	for i := range won {
		reserving.Go(func() { won[i], _ = b.ReserveQueue(ctx, crm, "a 0", lease) })
	}
	reserving.Wait()
	got := slices.DeleteFunc(won[:], func(l store.Lease) bool { return l.Token == 0 })
	Same(t, "how many reserve it", len(got), 1)
	Same(t, "another recipient", reserve("a 1", lease).Recipient, "a 1")
	b.settle(t, got[0], store.Settlement{})
	again := reserve("a 0", lease)
	Same(t, "once it is settled", again.Queue, store.Queue{Hook: "crm", Recipient: "a 0", PageID: 1, FormID: "form"})
	b.settle(t, again, store.Settlement{Delay: time.Hour})
	Same(t, "while it is delayed", reserve("a 0", lease), store.Lease{})
	first := reserve("b", time.Millisecond)
	for len(b.due(t, "crm")) == 0 { // a millisecond
	}
	if reserve("b", time.Millisecond).Token <= first.Token {
		t.Error("it is not reserved after the lease has run out")
	}
	for len(b.due(t, "crm")) == 0 {
	}
	Same(t, "a lease of an empty one", b.lease(t, first.Queue, lease, 10), store.Lease{})
	Same(t, "due after that", b.due(t, "crm"), []store.Queue(nil))
}

// What is delivered is removed at once, and all of it is found although queues are
// emptied all the time.
func testEventsOfBusyQueues(t *testing.T, b *bench) {
	const writers, each = 4, 60
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for j := range each {
				n := sample(fmt.Sprint("form", j%2), "amy", "x")
				n.Events = []store.Event{event("crm", fmt.Sprint(i, " ", j))}
				if _, err := b.Create(ctx, n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	found := map[string]int{}
	for began := time.Now(); len(found) < writers*each && time.Since(began) < time.Minute; {
		for _, q := range b.due(t, "crm") {
			l := b.lease(t, q, lease, 3)
			for _, e := range l.Events {
				found[e.Message]++
			}
			if len(l.Events) > 0 {
				if err := b.RemoveDelivered(ctx, q, ids(l.Events[:1])); err != nil {
					t.Fatal(err)
				}
				b.settle(t, l, store.Settlement{Delivered: ids(l.Events[1:])})
			}
		}
	}
	writing.Wait()
	for message, times := range found {
		if times > 1 {
			t.Errorf("%s was found %d times", message, times)
		}
	}
	Same(t, "found", len(found), writers*each)
	Same(t, "left", b.events(t), []store.Event(nil))
}

func testDiscard(t *testing.T, b *bench) {
	b.tell(t, "form", "x", "crm", "log")
	b.tell(t, "form", "y", "crm", "log")
	l := b.lease(t, crm, lease, 1)
	b.settle(t, l, store.Settlement{Failed: ids(l.Events), Delay: time.Hour, Attempts: 1, Error: "answered 500"})
	discarded, err := b.DiscardEvents(ctx, []string{"crm"})
	if discarded != 2 || err != nil {
		t.Errorf("discarded %d, %v", discarded, err)
	}
	Same(t, "left", messages(b.events(t)), []string{"log x", "log y"})
	Same(t, "lease", b.lease(t, crm, lease, 1), store.Lease{})
	b.tell(t, "form", "z", "crm")
	l = b.lease(t, crm, lease, 1)
	Same(t, "a later event", messages(l.Events), []string{"crm z"})
	Same(t, "attempts", l.Attempts, 0)
}

func testRemoveFailed(t *testing.T, b *bench) {
	for i := range 4 {
		b.tell(t, "form", fmt.Sprint(i), "crm")
	}
	l := b.lease(t, crm, lease, 10)
	b.settle(t, l, store.Settlement{Failed: ids(l.Events[:3]), Error: "answered 500"})
	for _, step := range []struct {
		age        time.Duration
		want, left int
	}{{time.Hour, 0, 4}, {-time.Hour, 2, 2}, {-time.Hour, 1, 1}, {-time.Hour, 0, 1}} {
		removed, err := b.TidyEvents(ctx, step.age, 2)
		if removed != step.want || err != nil || len(b.events(t)) != step.left {
			t.Errorf("%+v: removed %d, %v, left %d", step, removed, err, len(b.events(t)))
		}
	}
	Same(t, "left", messages(b.events(t)), []string{"crm 3"})
}
