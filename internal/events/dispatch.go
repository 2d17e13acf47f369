package events

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/panics"
	"github.com/formulary/formulary/internal/store"
)

const (
	slotsPerHook = 4      // queues of a hook that are delivered at the same time
	maxDue       = 100    // queues of a hook that are looked up at a time
	maxLeased    = 50     // events of a webhook in one lease
	maxTold      = 10_000 // events that one mail tells of, or that are removed at a time
)

// tuning are the times that tests shorten.
type tuning struct{ poll, cleanUp, lease, attempt, backoff, grace time.Duration }

var defaultTuning = tuning{
	poll: 500 * time.Millisecond, cleanUp: time.Hour, lease: 25 * time.Second,
	attempt: attemptTimeout, backoff: time.Second, grace: time.Second,
}

// DispatcherOptions are what a dispatcher works with.
type DispatcherOptions struct {
	Store interface {
		store.Events
		Get(ctx context.Context, key store.Key) (forms.Submission, error)
	}
	Listeners      *Listeners
	Current        func(forms.Submission) (forms.Submission, error) // by the ids that fields have now
	Append         func([]byte, forms.Submission) ([]byte, error)   // as JSON, for body: submission
	Retry          time.Duration                                    // an event that is older fails for good
	NotifyInterval time.Duration                                    // between two mails about a form to an address
	Log            *slog.Logger
}

// Dispatcher delivers events: those of a queue one after the other, several queues at
// the same time. It is a prometheus.Collector, too.
type Dispatcher struct {
	DispatcherOptions
	metrics
	tune     tuning
	due      map[string][]store.Queue // by hook: what was looked up, and has not begun; no entry: look
	lastPage map[string]int64         // by hook: the page that had the last turn
	inFlight map[store.Queue]bool
	ended    chan store.Queue
	failing  atomic.Bool // the store; the log says so
}

// NewDispatcher makes a dispatcher.
func NewDispatcher(opts DispatcherOptions) *Dispatcher {
	return &Dispatcher{
		DispatcherOptions: opts, tune: defaultTuning,
		metrics: metrics{delivered: prometheus.NewCounterVec(deliveredOpts, hookLabel)},
		due:     map[string][]store.Queue{}, lastPage: map[string]int64{},
		inFlight: map[store.Queue]bool{}, ended: make(chan store.Queue, (maxHooks+1)*slotsPerHook),
	}
}

// Run delivers until ctx ends. Attempts that are under way then may end within the
// grace period. All leases are released.
func (d *Dispatcher) Run(ctx context.Context) {
	poll, cleanUp := time.NewTicker(d.tune.poll), time.NewTicker(d.tune.cleanUp)
	defer poll.Stop()
	defer cleanUp.Stop()
	d.tidy(ctx)
	for ctx.Err() == nil || len(d.inFlight) > 0 {
		if ctx.Err() == nil {
			d.start(ctx)
		}
		select {
		case <-poll.C:
			clear(d.due)
		case <-cleanUp.C:
			d.tidy(ctx)
		case q := <-d.ended:
			for d.end(q); len(d.ended) > 0; { // one look at the store for all of them
				d.end(<-d.ended)
			}
		}
	}
}

// end notes that a delivery has ended. If all others that are due have begun, there may be more.
func (d *Dispatcher) end(q store.Queue) {
	delete(d.inFlight, q)
	if len(d.due[q.Hook]) == 0 {
		delete(d.due, q.Hook)
	}
}

func (d *Dispatcher) tidy(ctx context.Context) {
	_, err := d.Store.TidyEvents(ctx, 30*24*time.Hour, maxTold)
	d.note(ctx, err)
}

// start begins to deliver due queues of hooks with free slots. It looks for those of hooks that have no entry in due.
func (d *Dispatcher) start(ctx context.Context) {
	free, after := map[string]int{}, map[string]int64{}
	for name := range d.destinations() {
		free[name] = slotsPerHook
	}
	for q := range d.inFlight {
		free[q.Hook]--
	}
	for name, slots := range free {
		if _, found := d.due[name]; slots > 0 && !found {
			after[name], d.due[name] = d.lastPage[name], nil
		}
	}
	if len(after) > 0 {
		queues, err := d.Store.DueQueues(ctx, after, maxDue)
		if err != nil || len(queues)+len(d.inFlight) == 0 {
			d.note(ctx, err)
		}
		for _, q := range queues {
			d.due[q.Hook] = append(d.due[q.Hook], q)
		}
	}
	for name, queues := range d.due {
		for ; len(queues) > 0 && free[name] > 0; queues = queues[1:] {
			if q := queues[0]; !d.inFlight[q] {
				free[name]--
				d.inFlight[q], d.lastPage[name] = true, q.PageID
				go d.deliver(ctx, q)
			}
		}
		d.due[name] = queues
	}
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

// deliver delivers a queue. After an error of the store it waits: the queue may still be due.
func (d *Dispatcher) deliver(ctx context.Context, q store.Queue) {
	if d.note(ctx, d.deliverLease(ctx, q)) {
		select {
		case <-time.After(d.tune.poll):
		case <-ctx.Done():
		}
	}
	d.ended <- q
}

// deliverLease leases a queue, tries its events, and settles what has become of them. After
// ctx has ended, attempts have the grace period to end, and the store has it once more.
func (d *Dispatcher) deliverLease(ctx context.Context, q store.Queue) error {
	leased, release := context.WithTimeout(context.WithoutCancel(ctx), d.tune.lease)
	defer release()
	attempts, cancel := context.WithTimeout(leased, d.tune.lease*9/10)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(d.tune.grace, cancel)
		time.AfterFunc(2*d.tune.grace, release)
	})()
	lease, err := d.Store.LeaseQueue(leased, q, d.tune.lease, d.destinations()[q.Hook].leased)
	if err != nil || len(lease.Events) == 0 {
		return err
	}
	return d.Store.SettleQueue(leased, lease, d.tryAll(ctx, attempts, lease))
}

// tryAll tries the events of a lease in their order until one fails. Those that were
// delivered are removed while the next one is sent: if the server is killed, only these two
// come again. An attempt starts only if its timeout ends before the lease does. If the
// server stops before any attempt has finished, the attempt count is kept, so that restarts
// don't reset the backoff.
func (d *Dispatcher) tryAll(ctx, attempts context.Context, lease store.Lease) store.Settlement {
	s := store.Settlement{Attempts: lease.Attempts}
	log := d.Log.With("hook", lease.Hook, "page", lease.PageID, "form", lease.FormID)
	end, _ := attempts.Deadline()
	var removal sync.WaitGroup
	var removeErr error
	for rest := lease.Events; len(rest) > 0 && removeErr == nil; {
		to, known := d.destinations()[lease.Hook]
		if !known || ctx.Err() != nil || time.Until(end) < d.tune.attempt {
			break
		}
		events := rest[:min(len(rest), to.together)]
		rest = rest[len(events):]
		if len(s.Delivered) > 0 {
			removal.Go(func() { removeErr = d.Store.RemoveDelivered(attempts, lease.Queue, s.Delivered) })
		}
		err := panics.ToError(func() error { return to.deliver(attempts, events) })
		if removal.Wait(); removeErr == nil {
			s.Delivered = nil
		}
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
		lease.Attempts, s.Attempts, s.Delay = 0, 0, to.pause // of the next event
		d.delivered.WithLabelValues(lease.Hook).Add(float64(len(events)))
		for _, e := range events {
			s.Delivered = append(s.Delivered, e.ID)
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
	s.Error, _, _ = strings.Cut(err.Error(), "\n") // without the stack of a panic
	s.Attempts, s.Delay = before+1, backoff(d.tune.backoff, before)
	if len(s.Failed) == len(events) {
		s.Attempts, s.Delay = 0, backoff(d.tune.backoff, 0) // of the next event
	}
}

// backoff doubles a delay for each failed attempt before, up to an hour, with jitter.
func backoff(delay time.Duration, before int) time.Duration {
	delay = min(delay<<min(before, 20), time.Hour)
	return min(delay/2+rand.N(delay), time.Hour) //nolint:gosec // it need not be secret
}

// destination is where the events of a hook go: to a webhook, or to people by mail.
type destination struct {
	leased   int           // events of one lease at most
	together int           // events that one attempt tells of
	pause    time.Duration // least time between two attempts that succeed
	deliver  func(ctx context.Context, events []store.Event) error
}

// destinations returns those of the hooks that are set up. A mail has all of the lease: it has
// a time limit of its own.
func (d *Dispatcher) destinations() map[string]destination {
	all := map[string]destination{}
	for _, h := range *d.Listeners.hooks.Load() {
		all[h.Name] = destination{maxLeased, 1, 0, func(ctx context.Context, events []store.Event) error {
			return d.post(ctx, &h, events[0])
		}}
	}
	if mail := d.Listeners.mail; mail != nil {
		tell := func(ctx context.Context, events []store.Event) error {
			e := events[len(events)-1]
			m := Mail{To: e.Recipient, Title: e.Title, Lang: e.Language, PageID: e.PageID, FormID: e.FormID, Count: len(events)}
			if _, field, found := strings.Cut(e.Recipient, " "); found { // no address has a space
				return d.tellSubmitter(ctx, e, field, m)
			}
			return mail.Send(ctx, m)
		}
		all[store.MailHook] = destination{maxTold, maxTold, d.NotifyInterval, tell}
	}
	return all
}

// post makes one attempt of a webhook.
func (d *Dispatcher) post(ctx context.Context, hook *Hook, e store.Event) error {
	ctx, cancel := context.WithTimeout(ctx, d.tune.attempt)
	defer cancel()
	data := change{PageID: e.PageID, FormID: e.FormID, ID: e.Submission}
	if hook.submission && !e.Anonymous && e.Type != store.SubmissionDeleted {
		sub, err := d.Store.Get(ctx, store.Key{PageID: e.PageID, FormID: e.FormID, ID: e.Submission})
		if err == nil && sub.Username != "" {
			if sub, err = d.Current(sub); err == nil {
				data.Submission, err = d.Append(nil, sub)
			}
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return errUnread
		}
	}
	_, err := hook.post(ctx, e.Message, payload{e.Type, e.Created.UTC(), data})
	return err
}
