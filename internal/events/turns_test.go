package events

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
)

// countedStore counts how often due queues were looked for, and keeps the pages of leased
// queues in their order.
type countedStore struct {
	store.Engine
	looks  atomic.Int64
	mu     sync.Mutex
	leased []int64
}

func (s *countedStore) LeaseQueue(ctx context.Context, q store.Queue, lease time.Duration, limit int) (store.Lease, error) {
	s.mu.Lock()
	s.leased = append(s.leased, q.PageID)
	s.mu.Unlock()
	return s.Engine.LeaseQueue(ctx, q, lease, limit)
}

func (s *countedStore) DueQueues(ctx context.Context, after map[string]int64, limit int) ([]store.Queue, error) {
	s.looks.Add(1)
	return s.Engine.DueQueues(ctx, after, limit)
}

// TestTurns: a page with many queues of older events lets others have their turn, and one
// look at the store does for many deliveries.
func TestTurns(t *testing.T) { enginetest.Each(t, testTurns) }

func testTurns(t *testing.T, on enginetest.Engine) {
	f := open(t, on, newReceiver(t, nil).hook("crm", "  forms: [none]"))
	const queues = 3 * maxDue / 2
	form := &forms.Form{PageID: 1, ID: "many"}
	for i := range queues {
		form.Notify = []string{strconv.Itoa(i) + "@example.org"}
		f.createsAt(form, "someone", "x", time.Now())
	}
	f.createsAt(&forms.Form{PageID: 7, ID: "one", Notify: []string{"hr@example.org"}}, "someone", "x", time.Now())
	d := f.dispatcher()
	counted := &countedStore{Engine: f.store}
	d.Store, d.tune.poll = counted, 5*time.Second // the end of the test waits for it
	f.runs(d)
	f.settles(store.MailHook, 0)
	counted.mu.Lock()
	defer counted.mu.Unlock()
	// Not the order of mails: on a busy machine, one that began early may end late.
	if place := slices.Index(counted.leased, 7); place < 0 || place > 5*slotsPerHook {
		t.Errorf("its turn is number %d", place)
	}
	if looks := counted.looks.Load(); looks > queues/10 {
		t.Errorf("%d looks for %d queues", looks, queues)
	}
}

// TestTurnsGoRound: of more pages than can be looked up at a time, each has its turn.
func TestTurnsGoRound(t *testing.T) {
	f := open(t, enginetest.Default(), newReceiver(t, nil).hook("crm", "  forms: [none]"))
	const pages = maxDue + 20
	for page := range int64(pages) {
		notify := []string{"a@example.org", "b@example.org"}
		f.createsAt(&forms.Form{PageID: page + 1, ID: "form", Notify: notify}, "someone", "x", time.Now())
	}
	d := f.dispatcher()
	counted := &countedStore{Engine: f.store}
	d.Store = counted
	f.runs(d)
	f.settles(store.MailHook, 0)
	counted.mu.Lock()
	defer counted.mu.Unlock()
	for page := range int64(pages) {
		if place := slices.Index(counted.leased, page+1); place < 0 || place > pages+5*slotsPerHook {
			t.Errorf("the first turn of page %d is number %d", page+1, place)
		}
	}
}
