package sqlite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

// told is a submission with an event for hook "crm".
func told(value string) store.New {
	n := sample(value)
	n.Events = []store.Event{{Queue: store.Queue{Hook: "crm"}, Type: store.SubmissionCreated, Created: time.UnixMilli(1).UTC(), Message: value}}
	return n
}

var crm = store.Queue{Hook: "crm", PageID: 1, FormID: "form"}

func leaseQueue(t *testing.T, s *Store, limit int) store.Lease {
	t.Helper()
	l, err := s.LeaseQueue(ctx, crm, time.Minute, limit)
	if err != nil || len(l.Events) == 0 {
		t.Fatalf("lease: %+v, %v", l, err)
	}
	return l
}

// Only one process has a store open, so what is leased at the start is left over.
func TestLeaseOfKilledServer(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate(t, s, told("x"))
	leaseQueue(t, s, 1)
	must(t, s.Close())
	leaseQueue(t, openStore(t, dir), 1)
}

// A fault at the event leaves nothing of the change.
func TestEventThatCannotBeStored(t *testing.T) {
	s := openStore(t, t.TempDir())
	before := mustCreate(t, s, sample("before"))
	key := keyOf(before)
	writerQuery(t, s, `CREATE TRIGGER fault BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'fault'); END`)
	n := told("x")
	_, create := s.Create(ctx, n)
	_, update := s.Update(ctx, key, func(forms.Submission) (store.Change, error) {
		return store.Change{Entries: n.Entries, Events: n.Events}, nil
	})
	for what, err := range map[string]error{"create": create, "update": update, "delete": s.Delete(ctx, key, nil, n.Events...)} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	after := mustCreate(t, s, sample("after"))
	storetest.Same(t, "stored", storetest.Values(t, s), map[int64]string{before.ID: "before", after.ID: "after"})
	writerQuery(t, s, `DROP TRIGGER fault`)
	mustCreate(t, s, n)
}

// An operator counts and retries events while a server writes.
func TestShared(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(ctx, dir, Options{Shared: true}); err == nil {
		t.Error("opened a directory without a store")
	}
	s := openStore(t, dir)
	const failed = 1500 // more than one transaction
	for i := range failed + 1 {
		mustCreate(t, s, told(fmt.Sprint(i)))
	}
	l := leaseQueue(t, s, failed)
	ids := make([]int64, failed)
	for i, e := range l.Events {
		ids[i] = e.ID
	}
	must(t, s.SettleQueue(ctx, l, store.Settlement{Failed: ids, Delay: time.Hour, Attempts: 1, Error: "answered 500"}))
	shared, err := Open(ctx, dir, Options{Shared: true})
	must(t, err)
	counts, err := shared.EventCounts(ctx)
	want := []store.EventCount{{Hook: "crm", Queued: 1, Failed: failed, Oldest: time.UnixMilli(1).UTC(), LastError: "answered 500"}}
	storetest.Same(t, "counts", counts, want)
	if n, retryErr := shared.RetryEvents(ctx, []string{"crm"}); n != failed || errors.Join(err, retryErr) != nil {
		t.Errorf("%d retried: %v, %v", n, err, retryErr)
	}
	mustCreate(t, s, told("beside it"))
	must(t, shared.Close())
	mustCreate(t, s, told("after it"))
	storetest.Same(t, "waiting", len(leaseQueue(t, s, 10_000).Events), failed+3)
	must(t, s.Close())
	report, err := Verify(ctx, dir, func(string, string, int64, int64) {})
	if err != nil || report.Submissions != failed+3 {
		t.Errorf("%+v, %v", report, err)
	}
}
