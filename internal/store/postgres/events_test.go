package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// told is a create with an event.
func told(value string) store.New {
	n := sample(value)
	n.Events = []store.Event{{Queue: store.Queue{Hook: "crm"}, Type: store.SubmissionCreated, Message: value}}
	return n
}

var crmQueue = store.Queue{Hook: "crm", PageID: 1, FormID: "form"}

// leaseAll leases the queue of the hook, which may have to become due, and returns the messages.
func leaseAll(t *testing.T, s *Store) (lease store.Lease, messages []string) {
	t.Helper()
	testkit.Eventually(t, "the queue is due", func() bool {
		due, err := s.DueQueues(ctx, map[string]int64{"crm": 0}, 10)
		if err == nil && len(due) == 1 {
			lease, err = s.LeaseQueue(ctx, due[0], time.Minute, 10)
		}
		must(t, err)
		return len(lease.Events) > 0
	})
	for _, e := range lease.Events {
		messages = append(messages, e.Message)
	}
	return lease, messages
}

func settleAll(t *testing.T, s *Store, lease store.Lease) {
	t.Helper()
	var settled store.Settlement
	for _, e := range lease.Events {
		settled.Delivered = append(settled.Delivered, e.ID)
	}
	must(t, s.SettleQueue(ctx, lease, settled))
}

// A queue that is empty for others is kept while a transaction that adds to it is open.
func TestSettleDuringCreate(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	mustCreate(t, s, told("first"))
	lease, _ := leaseAll(t, s)
	query(t, url, func(conn *pgx.Conn) error {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		e := store.Event{Queue: crmQueue, Submission: 2, Type: store.SubmissionCreated, Message: "second"}
		if _, err := tx.Exec(ctx, sqlInsertEvents, eventColumns([]store.Event{e})...); err != nil {
			return err
		}
		settleAll(t, s, lease)
		return tx.Commit(ctx)
	})
	lease, messages := leaseAll(t, s)
	storetest.Same(t, "events", messages, []string{"second"})
	settleAll(t, s, lease)
	storetest.Same(t, "queues that are left", queryText(t, url, `SELECT count(*)::text FROM event_queues`), "0")
}

// Failed events are queued again by statements of a bounded size, however many there are.
func TestRetryInParts(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	failed := make([]store.Event, 2500)
	for i := range failed {
		failed[i] = store.Event{
			Queue: store.Queue{Hook: "crm", PageID: 1, FormID: "form"}, Submission: 1, Type: store.SubmissionCreated,
			Created: time.UnixMilli(1), Failed: time.UnixMilli(2), Error: "answered 500",
		}
	}
	must(t, s.LoadEvents(ctx, failed))
	exec(t, url, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF (SELECT count(*) FROM changed) > 1000 THEN RAISE EXCEPTION 'too many at a time'; END IF;
			RETURN NULL;
		END $$`)
	exec(t, url, `CREATE TRIGGER refuse AFTER UPDATE ON events REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION refuse()`)
	if n, err := s.RetryEvents(ctx, []string{"crm"}); n != 2500 || err != nil {
		t.Errorf("%d retried, %v", n, err)
	}
}
