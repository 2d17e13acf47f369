package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var eventTests = []test{
	{"every change is stored with its events", testEventOfEachChange},
	{"a change that fails has no events", testNoEventWithoutChange},
	{"events of concurrent creates", testConcurrentEvents},
	{"a lease has the first events of a queue", testLease},
	{"queues are separate", testQueuesAreSeparate},
	{"one of several gets a lease", testOneLease},
	{"a lease runs out", testLeaseRunsOut},
	{"an attempt that failed delays the queue", testDelay},
	{"what is given up is kept, and the next is first", testGiveUp},
	{"retried is due again", testRetry},
	{"a lease is not broken by a retry", testRetryOfLease},
	{"failed events are removed when they are old", testRemoveFailed},
	{"empty queues are not due", testEmptyQueues},
	{"each submission has a queue for whoever sent it", testSubmitterQueues},
	{"a queue without events is reserved by one at a time", testReserve},
	{"events of queues that are emptied all the time", testEventsOfBusyQueues},
	{"all events of a hook are discarded", testDiscard},
	{"counts", testEventCounts},
	{"pages take turns, and hooks are chosen", testDueQueues},
	{"events survive a restart", testEventsSurviveRestart},
	{"events are dumped, loaded and cleared", testArchivedEvents},
	{"a dump of events is from the snapshot of the submissions", testEventSnapshot},
}

const lease = 20 * time.Second

// crm is the queue of form "form" for one webhook.
var crm = store.Queue{Hook: "crm", PageID: 1, FormID: "form"}

// event is one for a hook, as Create takes it.
func event(hook, message string) store.Event {
	return store.Event{Queue: store.Queue{Hook: hook}, Type: store.SubmissionCreated, Created: created, Message: message}
}

// tell creates a submission with an event for each hook, whose message is the hook's
// name and the value.
func (b *bench) tell(t *testing.T, formID, value string, hooks ...string) record {
	t.Helper()
	n := sample(formID, "amy", value)
	for _, hook := range hooks {
		n.Events = append(n.Events, event(hook, hook+" "+value))
	}
	return b.create(t, n)
}

func (b *bench) lease(t *testing.T, q store.Queue, d time.Duration, limit int) store.Lease {
	t.Helper()
	l, err := b.LeaseQueue(ctx, q, d, limit)
	if err != nil {
		t.Fatalf("lease %+v: %v", q, err)
	}
	return l
}

func (b *bench) settle(t *testing.T, l store.Lease, s store.Settlement) {
	t.Helper()
	if err := b.SettleQueue(ctx, l, s); err != nil {
		t.Fatalf("settle %+v: %v", l.Queue, err)
	}
}

// due is the queues that are due of these hooks.
func (b *bench) due(t *testing.T, hooks ...string) []store.Queue {
	t.Helper()
	after := map[string]int64{}
	for _, hook := range hooks {
		after[hook] = 0
	}
	queues, err := b.DueQueues(ctx, after, 100)
	if err != nil {
		t.Fatalf("due queues: %v", err)
	}
	return append([]store.Queue(nil), queues...)
}

// events is all that is stored of events, in the order of their ids, which are not shown.
func (b *bench) events(t *testing.T) (all []store.Event) {
	t.Helper()
	last := int64(0)
	err := EachDumped(b.Dump(ctx), func(store.Record) error { return nil }, func(e store.Event) error {
		if e.ID <= last {
			t.Errorf("event %d after %d", e.ID, last)
		}
		last, e.ID = e.ID, 0
		all = append(all, e)
		return nil
	})
	if err != nil {
		t.Fatalf("dump: %v", err)
	}
	return all
}

func messages(events []store.Event) (all []string) {
	for _, e := range events {
		all = append(all, e.Message)
	}
	return all
}

func ids(events []store.Event) (all []int64) {
	for _, e := range events {
		all = append(all, e.ID)
	}
	return all
}

func (b *bench) counts(t *testing.T) []store.EventCount {
	t.Helper()
	counts, err := b.EventCounts(ctx)
	if err != nil {
		t.Fatalf("event counts: %v", err)
	}
	return append([]store.EventCount(nil), counts...)
}

// eventCalls are one of each method.
func (b *bench) eventCalls(ctx context.Context) map[string]error {
	_, due := b.DueQueues(ctx, map[string]int64{"crm": 0}, 1)
	_, leased := b.LeaseQueue(ctx, crm, lease, 1)
	_, reserved := b.ReserveQueue(ctx, crm, "slot", lease)
	_, counts := b.EventCounts(ctx)
	_, retry := b.RetryEvents(ctx, []string{"crm"})
	_, discard := b.DiscardEvents(ctx, []string{"crm"})
	_, tidy := b.TidyEvents(ctx, 0, 1)
	return map[string]error{
		"due queues": due, "lease queue": leased, "reserve queue": reserved, "settle queue": b.SettleQueue(ctx, store.Lease{Queue: crm}, store.Settlement{}),
		"event counts": counts, "retry events": retry, "discard events": discard,
		"tidy events": tidy, "remove delivered": b.RemoveDelivered(ctx, crm, []int64{1}),
		"load events": b.LoadEvents(ctx, []store.Event{{Queue: crm, Type: store.SubmissionCreated, Message: "late"}}),
	}
}

func testEventOfEachChange(t *testing.T, b *bench) {
	mail := store.Event{
		Queue: store.Queue{Hook: store.MailHook, Recipient: "hr@example.org"}, Type: store.SubmissionCreated,
		Created: created, Message: "m2", Title: "Ünïcode \"title\"", Language: "de", Anonymous: true,
	}
	n := sample("form", "amy", "x")
	n.Events = []store.Event{event("crm", "m1"), mail}
	r := b.create(t, n)
	keyed := sample("form", "bob", "y")
	keyed.SubmitterKey, keyed.Key, keyed.Events = "bob", "k", []store.Event{event("crm", "m3")}
	second := b.create(t, keyed)
	limited := sample("form", "cat", "z")
	limited.Limit, limited.Events = 10, []store.Event{event("crm", "m4")}
	third := b.create(t, limited)

	updated, deleted := event("crm", "m5"), event("crm", "m6")
	updated.Type, deleted.Type = store.SubmissionUpdated, store.SubmissionDeleted
	merge := func(sub forms.Submission) (store.Change, error) {
		change, err := set(t, "f0", "changed")(sub)
		change.Events = []store.Event{updated}
		return change, err
	}
	if _, err := b.Update(ctx, r.key(), merge); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(ctx, r.key(), nil, deleted); err != nil {
		t.Fatal(err)
	}
	want := []store.Event{event("crm", "m1"), mail, event("crm", "m3"), event("crm", "m4"), updated, deleted}
	for i, id := range []int64{r.ID, r.ID, second.ID, third.ID, r.ID, r.ID} {
		want[i].PageID, want[i].FormID, want[i].Submission = 1, "form", id
	}
	Same(t, "events", b.events(t), want)
}

func testNoEventWithoutChange(t *testing.T, b *bench) {
	once := withSubmitterKey(sample("form", "amy", "x"), "amy")
	once.Key = "key"
	r := b.create(t, once)
	once.Events = []store.Event{event("crm", "m")}
	refuse := errors.New("no")
	full := sample("form", "bob", "x")
	full.Limit, full.Events = 1, once.Events
	withFile := sample("form", "bob", "x")
	withFile.Files, withFile.Events = []forms.StoredFile{{ID: 77, FieldID: "f0", Name: "a"}}, once.Events
	again := once
	again.Key = "other"
	for what, n := range map[string]store.New{"key used": once, "already submitted": again, "limit": full, "no file": withFile} {
		if _, err := b.Create(ctx, n); err == nil {
			t.Errorf("%s: created", what)
		}
	}
	_, err := b.Update(ctx, r.key(), func(forms.Submission) (store.Change, error) {
		return store.Change{Events: once.Events}, refuse
	})
	_, noFile := b.Update(ctx, r.key(), func(forms.Submission) (store.Change, error) {
		return store.Change{Files: withFile.Files, Events: once.Events}, nil
	})
	check := func(forms.Submission) error { return refuse }
	for what, err := range map[string]error{
		"update": err, "update without the file": noFile, "delete": b.Delete(ctx, r.key(), check, once.Events...),
		"delete of none": b.Delete(ctx, store.Key{PageID: 1, FormID: "form", ID: 99}, nil, once.Events...),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	Same(t, "events", b.events(t), []store.Event(nil))
}

// Some of the creates are refused. Every one that is stored has its event, in the order
// of the submissions' ids unless they were stored at the same time.
func testConcurrentEvents(t *testing.T, b *bench) {
	const count = 200
	created := make([]int64, count)
	errs := Parallel(count, func(i int) error {
		n := sample("form", fmt.Sprint("user", i%100), "x")
		n.Events = []store.Event{event("crm", fmt.Sprint("m", i))}
		if i%2 == 0 {
			n.SubmitterKey = n.Username
		}
		sub, err := b.Create(ctx, n)
		created[i] = sub.ID
		return err
	})
	want := map[string]int64{}
	for i, err := range errs {
		switch {
		case err == nil:
			want[fmt.Sprint("m", i)] = created[i]
		case !errors.Is(err, store.ErrAlreadySubmitted):
			t.Fatal(err)
		}
	}
	got := map[string]int64{}
	for _, e := range b.events(t) {
		got[e.Message] = e.Submission
	}
	if len(want) == count {
		t.Error("no create was refused")
	}
	Same(t, "events", got, want)
}

func testLease(t *testing.T, b *bench) {
	for i := range 5 {
		b.tell(t, "form", fmt.Sprint(i), "crm")
	}
	Same(t, "due", b.due(t, "crm"), []store.Queue{crm})
	l := b.lease(t, crm, lease, 3)
	Same(t, "leased", messages(l.Events), []string{"crm 0", "crm 1", "crm 2"})
	Same(t, "queue", l.Queue, crm)
	Same(t, "due while it is leased", b.due(t, "crm"), []store.Queue(nil))
	Same(t, "a second lease", b.lease(t, crm, lease, 3), store.Lease{})
	b.settle(t, l, store.Settlement{Delivered: ids(l.Events[:2])})
	Same(t, "due again", b.due(t, "crm"), []store.Queue{crm})
	l = b.lease(t, crm, lease, 10)
	Same(t, "the rest", messages(l.Events), []string{"crm 2", "crm 3", "crm 4"})
	b.tell(t, "form", "5", "crm")
	b.settle(t, l, store.Settlement{Delivered: ids(l.Events)})
	l = b.lease(t, crm, lease, 10)
	Same(t, "written meanwhile", messages(l.Events), []string{"crm 5"})
	b.settle(t, l, store.Settlement{Delivered: ids(l.Events)})
	Same(t, "an empty queue", b.lease(t, crm, lease, 10), store.Lease{})
	Same(t, "an unknown form", b.lease(t, store.Queue{Hook: "crm", PageID: 9, FormID: "none"}, lease, 10), store.Lease{})
	b.tell(t, "form", "6", "crm")
	Same(t, "not leased by a look at an empty queue", b.due(t, "crm"), []store.Queue{crm})
	Same(t, "stored", messages(b.events(t)), []string{"crm 6"})
}

func testQueuesAreSeparate(t *testing.T, b *bench) {
	mails := []store.Event{event(store.MailHook, "to a"), event(store.MailHook, "to b")}
	mails[0].Recipient, mails[1].Recipient = "a@example.org", "b@example.org"
	n := sample("form", "amy", "x")
	n.Events = slices.Concat(mails, []store.Event{event("crm", "crm"), event("log", "log")})
	b.create(t, n)
	n.FormID = "other"
	b.create(t, n)
	queues := b.due(t, "crm", "log", store.MailHook)
	Same(t, "queues", len(queues), 8)
	for i, q := range queues {
		l := b.lease(t, q, lease, 10)
		Same(t, "leased", len(l.Events), 1)
		Same(t, "queue", l.Events[0].Queue, q)
		Same(t, "left", len(b.due(t, "crm", "log", store.MailHook)), 7-i)
	}
}

func testOneLease(t *testing.T, b *bench) {
	b.tell(t, "form", "x", "crm")
	for range 10 {
		leases := make([]store.Lease, 8)
		NoErrors(t, "lease", Parallel(len(leases), func(i int) (err error) {
			leases[i], err = b.LeaseQueue(ctx, crm, lease, 10)
			return err
		}))
		leases = slices.DeleteFunc(leases, func(l store.Lease) bool { return len(l.Events) == 0 })
		if len(leases) != 1 {
			t.Fatalf("%d got the lease", len(leases))
		}
		b.settle(t, leases[0], store.Settlement{})
	}
}

func testLeaseRunsOut(t *testing.T, b *bench) {
	b.tell(t, "form", "x", "crm")
	late := b.lease(t, crm, 0, 10)
	for len(b.due(t, "crm")) == 0 { // a millisecond at most
	}
	b.tell(t, "form", "y", "crm")
	next := b.lease(t, crm, lease, 10)
	Same(t, "taken over", messages(next.Events), []string{"crm x", "crm y"})
	b.settle(t, late, store.Settlement{Delivered: ids(late.Events), Delay: time.Hour, Attempts: 5, Error: "late"})
	Same(t, "the new lease", b.due(t, "crm"), []store.Queue(nil))
	Same(t, "the late server's events", messages(b.events(t)), []string{"crm y"})
	b.settle(t, next, store.Settlement{})
	again := b.lease(t, crm, lease, 10)
	Same(t, "attempts", again.Attempts, 0)
}

func testDelay(t *testing.T, b *bench) {
	b.tell(t, "form", "x", "crm")
	b.tell(t, "form", "y", "crm")
	l := b.lease(t, crm, lease, 10)
	b.settle(t, l, store.Settlement{Delivered: ids(l.Events[:1]), Delay: time.Hour, Attempts: 3, Error: "answered 500"})
	Same(t, "due", b.due(t, "crm"), []store.Queue(nil))
	Same(t, "leased", b.lease(t, crm, lease, 10), store.Lease{})
	b.tell(t, "form", "z", "crm")
	Same(t, "due after a further event", b.due(t, "crm"), []store.Queue(nil))
	Same(t, "count", b.counts(t), []store.EventCount{{Hook: "crm", Queued: 2, Oldest: created, LastError: "answered 500"}})
	if _, err := b.RetryEvents(ctx, []string{"crm"}); err != nil {
		t.Fatal(err)
	}
	l = b.lease(t, crm, lease, 10)
	Same(t, "retried", messages(l.Events), []string{"crm y", "crm z"})
	Same(t, "attempts", l.Attempts, 3)
	b.settle(t, l, store.Settlement{Delivered: ids(l.Events[:1]), Delay: time.Millisecond, Attempts: 4, Error: "answered 502"})
	for len(b.due(t, "crm")) == 0 { // a millisecond
	}
	b.settle(t, b.lease(t, crm, lease, 10), store.Settlement{})
	Same(t, "attempts after a success", b.lease(t, crm, lease, 10).Attempts, 0)
}

func testGiveUp(t *testing.T, b *bench) {
	for _, v := range []string{"x", "y", "z"} {
		b.tell(t, "form", v, "crm")
	}
	l := b.lease(t, crm, lease, 10)
	before := time.Now().Add(-time.Minute)
	b.settle(t, l, store.Settlement{Delivered: ids(l.Events[:1]), Failed: ids(l.Events[1:2]), Error: "answered 410"})
	Same(t, "next", messages(b.lease(t, crm, lease, 10).Events), []string{"crm z"})
	Same(t, "count", b.counts(t), []store.EventCount{{Hook: "crm", Queued: 1, Failed: 1, Oldest: created, LastError: "answered 410"}})
	kept := b.events(t)[0]
	if kept.Message != "crm y" || kept.Error != "answered 410" || kept.Failed.Before(before) || kept.Failed.After(time.Now().Add(time.Minute)) {
		t.Errorf("kept %+v", kept)
	}
}

func testRetry(t *testing.T, b *bench) {
	b.tell(t, "form", "x", "crm", "log")
	b.tell(t, "form", "y", "crm", "log")
	for _, hook := range []string{"crm", "log"} {
		l := b.lease(t, store.Queue{Hook: hook, PageID: 1, FormID: "form"}, lease, 1)
		b.settle(t, l, store.Settlement{Failed: ids(l.Events), Delay: time.Hour, Attempts: 1, Error: "answered 500"})
	}
	failed, err := b.RetryEvents(ctx, []string{"crm", "none"})
	if failed != 1 || err != nil {
		t.Errorf("%d failed events, %v", failed, err)
	}
	Same(t, "retried", messages(b.lease(t, crm, lease, 10).Events), []string{"crm x", "crm y"})
	Same(t, "the other hook", b.counts(t)[1], store.EventCount{Hook: "log", Queued: 1, Failed: 1, Oldest: created, LastError: "answered 500"})
	Same(t, "its queue", b.due(t, "log"), []store.Queue(nil))

	b.tell(t, "other", "x", "crm")
	other := store.Queue{Hook: "crm", PageID: 1, FormID: "other"}
	l := b.lease(t, other, lease, 10)
	b.settle(t, l, store.Settlement{Failed: ids(l.Events), Error: "answered 410"})
	Same(t, "a queue of failed events", b.due(t, "crm"), []store.Queue(nil))
	if failed, err = b.RetryEvents(ctx, []string{"crm"}); failed != 1 || err != nil {
		t.Errorf("%d failed events, %v", failed, err)
	}
	Same(t, "due again", b.due(t, "crm"), []store.Queue{other})
}

func testRetryOfLease(t *testing.T, b *bench) {
	b.tell(t, "form", "x", "crm", store.MailHook)
	l := b.lease(t, crm, lease, 1)
	b.settle(t, l, store.Settlement{Delay: time.Millisecond, Attempts: 1, Error: "answered 500"})
	for len(b.due(t, "crm")) == 0 { // a millisecond
	}
	b.lease(t, crm, lease, 1)
	mail := store.Queue{Hook: store.MailHook, PageID: 1, FormID: "form"}
	b.settle(t, b.lease(t, mail, lease, 1), store.Settlement{Delay: time.Hour}) // the pause between two mails
	if _, err := b.RetryEvents(ctx, []string{"crm", store.MailHook}); err != nil {
		t.Fatal(err)
	}
	Same(t, "due", b.due(t, "crm", store.MailHook), []store.Queue(nil))
}

func testEventCounts(t *testing.T, b *bench) {
	Same(t, "none", b.counts(t), []store.EventCount(nil))
	for i := range 3 {
		n := sample("form", "amy", fmt.Sprint(i))
		e := event("crm", fmt.Sprint(i))
		e.Created = created.Add(time.Duration(3-i) * time.Second)
		n.Events = []store.Event{e, event("zoo", "z")}
		b.create(t, n)
	}
	Same(t, "counts", b.counts(t), []store.EventCount{
		{Hook: "crm", Queued: 3, Oldest: created.Add(time.Second)}, {Hook: "zoo", Queued: 3, Oldest: created},
	})
	l := b.lease(t, store.Queue{Hook: "zoo", PageID: 1, FormID: "form"}, lease, 10)
	b.settle(t, l, store.Settlement{Delivered: ids(l.Events[:1]), Failed: ids(l.Events[1:]), Error: "answered 400"})
	Same(t, "all failed", b.counts(t)[1], store.EventCount{Hook: "zoo", Failed: 2, LastError: "answered 400"})
}

func testEventsSurviveRestart(t *testing.T, b *bench) {
	b.tell(t, "form", "x", "crm")
	l := b.lease(t, crm, lease, 1)
	b.settle(t, l, store.Settlement{Delay: time.Hour, Attempts: 7, Error: "answered 500"})
	before := b.events(t)
	b.reopen(t)
	Same(t, "events", b.events(t), before)
	Same(t, "the delay", b.due(t, "crm"), []store.Queue(nil))
	Same(t, "the error", b.counts(t)[0].LastError, "answered 500")
}

func testArchivedEvents(t *testing.T, b *bench) {
	long := strings.Repeat("ü", 1000)
	b.tell(t, "form", "x", "crm")
	n := sample("form", "amy", "y")
	n.Events = []store.Event{event(store.MailHook, "m")}
	n.Events[0].Recipient, n.Events[0].Title, n.Events[0].Anonymous = "a@example.org", long, true
	gone := b.create(t, n)
	b.delete(t, gone.key())
	l := b.lease(t, crm, lease, 1)
	b.settle(t, l, store.Settlement{Failed: ids(l.Events), Error: long})
	all := b.events(t)
	other := b.another(t)
	other.tell(t, "another", "first", "crm")
	if err := other.LoadEvents(ctx, all); err != nil {
		t.Fatal(err)
	}
	Same(t, "loaded", other.events(t)[1:], all)
	if err := other.LoadEvents(ctx, nil); err != nil {
		t.Error(err)
	}
	queue := store.Queue{Hook: store.MailHook, Recipient: "a@example.org", PageID: 1, FormID: "form"}
	Same(t, "due", other.due(t, store.MailHook), []store.Queue{queue})
	other.lease(t, queue, lease, 1)
	other.clear(t)
	Same(t, "cleared", other.events(t), []store.Event(nil))
	if err := other.LoadEvents(ctx, all); err != nil {
		t.Fatal(err)
	}
	Same(t, "leases are cleared, too", other.due(t, store.MailHook), []store.Queue{queue})
}

func testEventSnapshot(t *testing.T, b *bench) {
	b.tell(t, "form", "before", "crm")
	var found []string
	err := EachDumped(b.Dump(ctx), func(store.Record) error {
		b.tell(t, "form", "meanwhile", "crm")
		return nil
	}, func(e store.Event) error {
		found = append(found, e.Message)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	Same(t, "events", found, []string{"crm before"})
	stop := errors.New("stop")
	if err := EachDumped(b.Dump(ctx), func(store.Record) error { return nil }, func(store.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("dump: %v, want %v", err, stop)
	}
}
