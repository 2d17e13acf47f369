package events

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

const (
	slotsPerHook = 4      // queues of a hook that are delivered at the same time
	maxLeased    = 50     // events of a webhook in one lease
	maxTold      = 10_000 // events that one mail tells of, or that are removed at a time
)

// tuning are the times that tests shorten.
type tuning struct{ poll, cleanUp, lease, attempt, backoff, grace time.Duration }

var defaultTuning = tuning{500 * time.Millisecond, time.Hour, 25 * time.Second, attemptTimeout, time.Second, time.Second}

// DispatcherOptions are what a dispatcher works with.
type DispatcherOptions struct {
	Store interface {
		store.Events
		Get(ctx context.Context, key store.Key) (forms.Submission, error)
	}
	Listeners      *Listeners
	Encode         func(forms.Submission) ([]byte, error) // as JSON, for body: submission
	Retry          time.Duration                          // an event that is older fails for good
	NotifyInterval time.Duration                          // between two mails about a form to an address
	Log            *slog.Logger
}

// Dispatcher delivers events: those of a queue one after the other, several queues at
// the same time. It is a prometheus.Collector, too.
type Dispatcher struct {
	DispatcherOptions
	metrics
	tune     tuning
	inFlight map[store.Queue]bool
	ended    chan store.Queue
	failing  atomic.Bool // the store; the log says so
}

// NewDispatcher makes a dispatcher.
func NewDispatcher(opts DispatcherOptions) *Dispatcher {
	return &Dispatcher{
		DispatcherOptions: opts, tune: defaultTuning, metrics: metrics{delivered: prometheus.NewCounterVec(deliveredOpts, hookLabel)},
		inFlight: map[store.Queue]bool{}, ended: make(chan store.Queue, (maxHooks+1)*slotsPerHook),
	}
}

// Run delivers until ctx ends. Attempts that are under way then may end within the
// grace period. All leases are released.
func (d *Dispatcher) Run(ctx context.Context) {
	poll, cleanUp := time.NewTicker(d.tune.poll), time.NewTicker(d.tune.cleanUp)
	for ctx.Err() == nil || len(d.inFlight) > 0 {
		for ctx.Err() == nil && d.start(ctx) {
		}
		select {
		case <-poll.C:
		case <-cleanUp.C:
			_, err := d.Store.RemoveFailedEvents(ctx, 30*24*time.Hour, maxTold)
			d.note(ctx, err)
		case q := <-d.ended:
			delete(d.inFlight, q)
			for len(d.ended) > 0 { // one look at the store for all of them
				delete(d.inFlight, <-d.ended)
			}
		}
	}
}

// start begins to deliver due queues of hooks with free slots, and reports whether there
// may be more: many queues of one hook may have hidden newer ones of another.
func (d *Dispatcher) start(ctx context.Context) (more bool) {
	free := map[string]int{}
	for name := range d.Listeners.byName() {
		free[name] = slotsPerHook
	}
	for q := range d.inFlight {
		free[q.Hook]--
	}
	maps.DeleteFunc(free, func(_ string, slots int) bool { return slots <= 0 })
	if len(free) == 0 {
		return false
	}
	limit := len(d.inFlight) + len(free)*slotsPerHook
	queues, err := d.Store.DueQueues(ctx, slices.Collect(maps.Keys(free)), limit)
	if err != nil || len(queues)+len(d.inFlight) == 0 {
		d.note(ctx, err)
	}
	for _, q := range queues {
		if d.inFlight[q] || free[q.Hook] <= 0 {
			continue
		}
		d.inFlight[q], more = true, len(queues) == limit
		free[q.Hook]--
		go func() {
			if d.note(ctx, d.deliver(ctx, q)) {
				select { // the queue may still be due
				case <-time.After(d.tune.poll):
				case <-ctx.Done():
				}
			}
			d.ended <- q
		}()
	}
	return more
}

// note logs when the store begins to fail, and when it works again.
func (d *Dispatcher) note(ctx context.Context, err error) bool {
	switch {
	case err == nil && d.failing.Swap(false):
		d.Log.Info("the store of events works again")
	case err != nil && ctx.Err() == nil && !d.failing.Swap(true):
		d.Log.Error("the store of events fails; they are delivered later", "error", err)
	}
	return err != nil
}

// deliver leases a queue, tries its events, and settles what has become of them. After
// ctx has ended, attempts have the grace period to end, and the store has it once more.
func (d *Dispatcher) deliver(ctx context.Context, q store.Queue) error {
	leased, release := context.WithTimeout(context.WithoutCancel(ctx), d.tune.lease)
	defer release()
	attempts, cancel := context.WithTimeout(leased, d.tune.lease*9/10)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(d.tune.grace, cancel)
		time.AfterFunc(2*d.tune.grace, release)
	})()
	limit := maxLeased
	if q.Hook == store.MailHook {
		limit = maxTold
	}
	lease, err := d.Store.LeaseQueue(leased, q, d.tune.lease, limit)
	if err != nil || len(lease.Events) == 0 {
		return err
	}
	return d.Store.SettleQueue(leased, lease, d.tryAll(ctx, attempts, lease))
}

// tryAll tries the events of a lease in their order until one fails: those of a webhook
// one by one, those of a mail together. An attempt begins only if it must end within
// the lease, and before ctx has ended. If none has ended, the next server goes on with the
// number of failed attempts, so that restarts do not shorten the backoff.
func (d *Dispatcher) tryAll(ctx, attempts context.Context, lease store.Lease) store.Settlement {
	s := store.Settlement{Attempts: lease.Attempts}
	log := d.Log.With("hook", lease.Hook, "page", lease.PageID, "form", lease.FormID)
	end, _ := attempts.Deadline()
	together := 1
	if lease.Hook == store.MailHook {
		together = len(lease.Events)
	}
	for events := range slices.Chunk(lease.Events, together) {
		hook, known := d.Listeners.byName()[lease.Hook]
		if !known || ctx.Err() != nil || time.Until(end) < d.tune.attempt {
			break
		}
		err := d.try(attempts, hook, events)
		switch {
		case err != nil && attempts.Err() != nil: // the server ends
			return s
		case err != nil:
			d.fail(&s, events, lease.Attempts, err)
			log.Warn("events were not delivered", "attempts", lease.Attempts+1, "failed", len(s.Failed), "error", err)
			return s
		case lease.Attempts > 0:
			log.Info("events are delivered again", "attempts", lease.Attempts+1)
		}
		lease.Attempts, s.Attempts = 0, 0 // of the next event
		d.delivered.WithLabelValues(lease.Hook).Add(float64(len(events)))
		for _, e := range events {
			s.Delivered = append(s.Delivered, e.ID)
		}
		if lease.Hook == store.MailHook {
			s.Delay = d.NotifyInterval
		}
	}
	return s
}

// fail settles events whose attempt has failed, after so many before it.
func (d *Dispatcher) fail(s *store.Settlement, events []store.Event, before int, err error) {
	for _, e := range events {
		if errors.Is(err, answered(http.StatusGone)) || time.Since(e.Created) > d.Retry {
			s.Failed = append(s.Failed, e.ID)
		}
	}
	s.Error, s.Attempts, s.Delay = err.Error(), before+1, backoff(d.tune.backoff, before)
	if len(s.Failed) == len(events) {
		s.Attempts, s.Delay = 0, backoff(d.tune.backoff, 0) // of the next event
	}
}

// backoff doubles a delay for each failed attempt before, up to an hour, with jitter.
func backoff(delay time.Duration, before int) time.Duration {
	delay = min(delay<<min(before, 20), time.Hour)
	return min(delay/2+rand.N(delay), time.Hour) //nolint:gosec // it need not be secret
}

// try makes one attempt. Without a hook it is a mail, which has a time limit of its own.
func (d *Dispatcher) try(ctx context.Context, hook *Hook, events []store.Event) error {
	e := events[len(events)-1]
	if hook == nil { // a mail has all of the lease
		return d.Listeners.mail.Send(ctx, Mail{To: e.Recipient, Title: e.Title, PageID: e.PageID, FormID: e.FormID, Count: len(events)})
	}
	ctx, cancel := context.WithTimeout(ctx, d.tune.attempt)
	defer cancel()
	data := change{PageID: e.PageID, FormID: e.FormID, ID: e.Submission}
	if hook.submission && !e.Anonymous && e.Type != store.SubmissionDeleted {
		sub, err := d.Store.Get(ctx, store.Key{PageID: e.PageID, FormID: e.FormID, ID: e.Submission})
		if err == nil && sub.Username != "" {
			data.Submission, err = d.Encode(sub)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return errors.New("the submission can't be read")
		}
	}
	return hook.post(ctx, e.Message, payload{e.Type, e.Created.UTC(), data})
}
