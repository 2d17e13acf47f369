package events

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

var submissionID = regexp.MustCompile(`"id":(\d+)`)

// ids are the submissions that calls tell of.
func ids(calls []call) (list []int64) {
	for _, c := range calls {
		id, _ := strconv.ParseInt(submissionID.FindStringSubmatch(c.Body)[1], 10, 64)
		list = append(list, id)
	}
	return list
}

func TestBody(t *testing.T) { enginetest.Each(t, testBody) }

func testBody(t *testing.T, on enginetest.Engine) {
	at := time.Date(2026, 3, 1, 13, 0, 0, 120e6, time.FixedZone("", 3600))
	named, anonymous := &forms.Form{PageID: 1, ID: "f<>"}, &forms.Form{PageID: 1, ID: "f<>", Anonymous: true}
	const begin = `{"type":"submission.created","timestamp":"2026-03-01T12:00:00.12Z","data":{"pageId":1,"formId":"f<>","id":1`
	const full = begin + `,"submission":{"entries":{"text":{"id":8193,"fieldId":"text","value":"a & b"}}}}}`
	for _, test := range []struct {
		name, body string
		form       *forms.Form
		user       string
		then       func(f *fixture, key store.Key) error // after the submission was created
		want       []string
	}{
		{"ids", "ids", named, "someone", nil, []string{begin + `}}`}},
		{"submission", "submission", named, "someone", nil, []string{full}},
		{"anonymous form", "submission", anonymous, "", nil, []string{begin + `}}`}},
		{"form that became anonymous", "submission", anonymous, "someone", nil, []string{begin + `}}`}},
		{"form that was anonymous", "submission", named, "", nil, []string{begin + `}}`}},
		{"deleted", "submission", named, "someone", func(f *fixture, key store.Key) error {
			return f.store.Delete(t.Context(), key, nil, f.listeners.Events(named, "", false, store.SubmissionDeleted, at, nil)...)
		}, []string{begin + `}}`, strings.Replace(begin, "created", "deleted", 1) + `}}`}},
		{"updated", "submission", named, "someone", func(f *fixture, key store.Key) error {
			_, err := f.store.Update(t.Context(), key, func(forms.Submission) (store.Change, error) {
				return store.Change{
					Entries: []forms.Entry{{ID: 8193, FieldID: "text", Value: "new"}}, Changed: at,
					Events: f.listeners.Events(named, "", false, store.SubmissionUpdated, at, nil),
				}, nil
			})
			return err
		}, []string{strings.Replace(full, "a & b", "new", 1), strings.NewReplacer("created", "updated", "a & b", "new").Replace(full)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newReceiver(t, nil)
			f := open(t, on, r.hook("crm", "  body: "+test.body))
			sub := f.createsAt(test.form, test.user, "a & b", at)
			if test.then != nil {
				testkit.Must(t, test.then(f, store.Key{PageID: 1, FormID: "f<>", ID: sub.ID}))
			}
			f.runs(f.dispatcher())
			f.settles("crm", 0)
			var bodies []string
			for _, c := range r.got() {
				bodies = append(bodies, c.Body)
			}
			testkit.Diff(t, "", bodies, test.want)
		})
	}
}

// TestRetry: an event is sent again with the same id, and those of its form wait for it,
// while others go on.
func TestRetry(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	r := newReceiver(t, func(c call) int {
		if strings.Contains(c.Body, `"formId":"a"`) && broken.Load() {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	f := open(t, enginetest.Default(), r.hook("crm"))
	first, second := f.creates("a", "1"), f.creates("a", "2")
	other := f.creates("b", "3")
	f.runs(f.dispatcher())
	testkit.Eventually(t, "three attempts, and the other form goes on", func() bool {
		got := ids(r.got())
		return slices.Contains(got, other.ID) && len(got) >= 4
	})
	if c := f.count("crm"); c.Queued != 2 || c.LastError != "answered 500" {
		t.Errorf("while the receiver fails: %+v", c)
	}
	broken.Store(false)
	f.settles("crm", 0)
	calls := slices.DeleteFunc(r.got(), func(c call) bool { return strings.Contains(c.Body, `"formId":"b"`) })
	last := len(calls) - 1
	for i, c := range calls[:last] {
		if c != calls[0] || ids(calls[i : i+1])[0] != first.ID {
			t.Errorf("attempt %d: %v, but the first was %v", i, c, calls[0])
		}
	}
	if calls[last].ID == calls[0].ID || ids(calls[last:])[0] != second.ID {
		t.Errorf("the second event: %v", calls[last])
	}
	for _, want := range []string{
		`level=WARN msg="events were not delivered" hook=crm page=1 form=a attempts=1 failed=0 error="answered 500"`,
		`level=WARN msg="events were not delivered" hook=crm page=1 form=a attempts=2 failed=0 error="answered 500"`,
		fmt.Sprintf(`level=INFO msg="events are delivered again" hook=crm page=1 form=a attempts=%d`, last),
	} {
		if strings.Count(f.log.String(), want) != 1 {
			t.Errorf("not once in the log: %s\n%s", want, f.log)
		}
	}
}

// TestGivenUp: an event that is too old, or that gets 410, is kept as failed, and the
// next one goes on.
func TestGivenUp(t *testing.T) {
	for _, test := range []struct {
		name   string
		age    time.Duration
		status int
	}{{"old", 72*time.Hour + time.Second, http.StatusInternalServerError}, {"gone", 0, http.StatusGone}} {
		t.Run(test.name, func(t *testing.T) {
			r := newReceiver(t, func(c call) int {
				if strings.Contains(c.Body, `"id":1}`) {
					return test.status
				}
				return http.StatusOK
			})
			f := open(t, enginetest.Default(), r.hook("crm"))
			form := &forms.Form{PageID: 1, ID: "a"}
			f.createsAt(form, "someone", "1", time.Now().Add(-test.age))
			f.creates("a", "2")
			stop := f.runs(f.dispatcher())
			f.settles("crm", 1)
			if c := f.count("crm"); c.LastError != "answered "+strconv.Itoa(test.status) {
				t.Errorf("%+v", c)
			}
			if got := ids(r.got()); !slices.Equal(got, []int64{1, 2}) {
				t.Errorf("delivered %v", got)
			}
			stop()
			r.answers(nil)
			if n, err := f.store.RetryEvents(t.Context(), []string{"crm"}); err != nil || n != 1 {
				t.Fatal(n, err)
			}
			f.runs(f.dispatcher())
			f.settles("crm", 0)
			if calls := r.got(); len(calls) != 3 || calls[2] != calls[0] {
				t.Errorf("after a retry: %v", calls)
			}
		})
	}
}

// TestNotGivenUp: an event that is not yet too old waits.
func TestNotGivenUp(t *testing.T) {
	r := newReceiver(t, func(call) int { return http.StatusBadGateway })
	f := open(t, enginetest.Default(), r.hook("crm"))
	f.createsAt(&forms.Form{PageID: 1, ID: "a"}, "someone", "1", time.Now().Add(-71*time.Hour))
	f.runs(f.dispatcher())
	testkit.Eventually(t, "three attempts", func() bool { return len(r.got()) >= 3 })
	if c := f.count("crm"); c.Queued != 1 || c.Failed != 0 {
		t.Errorf("%+v", c)
	}
}

func TestRemoveFailed(t *testing.T) {
	r := newReceiver(t, nil)
	f := open(t, enginetest.Default(), r.hook("crm"))
	event := func(days int) store.Event {
		at := time.Now().AddDate(0, 0, -days)
		return store.Event{
			Queue: store.Queue{Hook: "gone", PageID: 1, FormID: "a"}, Submission: int64(days), Type: store.SubmissionCreated,
			Created: at, Message: "m", Failed: at, Error: "answered 410",
		}
	}
	testkit.Must(t, f.store.LoadEvents(t.Context(), []store.Event{event(31), event(29)}))
	d := f.dispatcher()
	d.tune.cleanUp = 5 * time.Millisecond
	f.runs(d)
	testkit.Eventually(t, "the older one is removed", func() bool { return f.count("gone").Failed == 1 })
	f.creates("a", "1") // and nothing else
	f.settles("crm", 0)
	if c := f.count("gone"); c.Failed != 1 {
		t.Errorf("%+v", c)
	}
}

func TestMail(t *testing.T) {
	f := open(t, enginetest.Default(), newReceiver(t, nil).hook("crm", "  pages: [9]"))
	form := &forms.Form{PageID: 1, ID: "a", Title: "Leave", Notify: []string{"hr@example.org", "boss@elsewhere.example"}}
	create := func() { f.createsAt(form, "someone", "1", time.Now()) }
	f.mail.fails(errors.New("the server is down"))
	create()
	create()
	d := f.dispatcher()
	stop := f.runs(d)
	testkit.Eventually(t, "two attempts", func() bool { return len(f.mail.sent()) >= 2 })
	f.mail.fails(nil)
	f.settles("mail", 0)
	mails := f.mail.sent()
	for _, m := range mails {
		if want := (Mail{To: "hr@example.org", Title: "Leave", Lang: "de", PageID: 1, FormID: "a", Count: 2}); m != want {
			t.Errorf("got %+v, want %+v", m, want)
		}
	}
	create() // within the interval
	create()
	create()
	f.createsAt(&forms.Form{PageID: 1, ID: "b", Notify: form.Notify}, "someone", "1", time.Now()) // another queue
	testkit.Eventually(t, "the mail about the other form", func() bool { return f.count("mail").Queued == 3 })
	if sent := f.mail.sent(); len(sent) != len(mails)+1 || sent[len(mails)].FormID != "b" {
		t.Errorf("within the interval: %+v", sent)
	}
	stop()
	if strings.Contains(f.log.String(), "@") {
		t.Errorf("the log has an address:\n%s", f.log)
	}
}

// faultyMail has a bug: it panics until it is mended.
type faultyMail struct {
	*fakeMail
	mended atomic.Bool
}

func (m *faultyMail) Send(ctx context.Context, mail Mail) error {
	if !m.mended.Load() {
		panic("at the disco")
	}
	return m.fakeMail.Send(ctx, mail)
}

// TestPanic: a panic is a failed attempt, which is logged with its stack. The mail comes later.
func TestPanic(t *testing.T) {
	f := open(t, enginetest.Default(), newReceiver(t, nil).hook("crm", "  pages: [9]"))
	mail := &faultyMail{fakeMail: f.mail}
	f.listeners.mail = mail
	f.createsAt(&forms.Form{PageID: 1, ID: "a", Notify: []string{"hr@example.org"}}, "someone", "1", time.Now())
	f.runs(f.dispatcher())
	testkit.Eventually(t, "an attempt has failed", func() bool { return f.count("mail").LastError == "panic: at the disco" })
	testkit.Contains(t, "no stack in the log", f.log.String(), "faultyMail")
	mail.mended.Store(true)
	f.settles("mail", 0)
}

// TestMailInterval: what comes within the interval is told together after it.
func TestMailInterval(t *testing.T) {
	f := open(t, enginetest.Default(), newReceiver(t, nil).hook("crm", "  pages: [9]"))
	form := &forms.Form{PageID: 1, ID: "a", Title: "Leave", Notify: []string{"hr@example.org"}}
	d := f.dispatcher()
	d.NotifyInterval = 500 * time.Millisecond
	stop := f.runs(d)
	f.createsAt(form, "someone", "1", time.Now())
	f.settles("mail", 0)
	stop()
	for range 3 {
		f.createsAt(form, "someone", "1", time.Now())
	}
	f.runs(d) // across a restart
	f.settles("mail", 0)
	var counts []int
	for _, m := range f.mail.sent() {
		counts = append(counts, m.Count)
	}
	if !slices.Equal(counts, []int{1, 3}) {
		t.Errorf("mails tell of %v", counts)
	}
}

// TestMailGivenUp: of a mail that can't be sent, only the older events fail.
func TestMailGivenUp(t *testing.T) {
	f := open(t, enginetest.Default(), newReceiver(t, nil).hook("crm", "  pages: [9]"))
	form := &forms.Form{PageID: 1, ID: "a", Notify: []string{"hr@example.org"}}
	f.mail.fails(errors.New("the server is down"))
	f.createsAt(form, "someone", "1", time.Now().Add(-73*time.Hour))
	f.createsAt(form, "someone", "1", time.Now())
	f.runs(f.dispatcher())
	testkit.Eventually(t, "one event failed", func() bool { return f.count("mail").Failed == 1 })
	if c := f.count("mail"); c.Queued != 1 || c.LastError != "the server is down" {
		t.Errorf("%+v", c)
	}
	f.mail.fails(nil)
	f.settles("mail", 1)
	if mails := f.mail.sent(); mails[len(mails)-1].Count != 1 {
		t.Errorf("%+v", mails)
	}
}

func TestBackoff(t *testing.T) {
	for _, test := range []struct {
		before         int
		shortest, most time.Duration
	}{
		{0, time.Second / 2, time.Second * 3 / 2},
		{1, time.Second, 3 * time.Second},
		{4, 8 * time.Second, 24 * time.Second},
		{11, 1024 * time.Second, 3072 * time.Second},
		{12, 30 * time.Minute, time.Hour},
		{1000, 30 * time.Minute, time.Hour},
	} {
		seen := map[time.Duration]bool{}
		for range 1000 {
			delay := backoff(defaultTuning.backoff, test.before)
			if seen[delay] = true; delay < test.shortest || delay > test.most {
				t.Fatalf("after %d attempts before: %v", test.before, delay)
			}
		}
		if len(seen) < 100 {
			t.Errorf("after %d attempts before there is no jitter", test.before)
		}
	}
}

// TestFailSettlement: after an event was given up, the next one has all attempts.
func TestFailSettlement(t *testing.T) {
	d := &Dispatcher{DispatcherOptions: DispatcherOptions{Retry: time.Hour}, tune: defaultTuning}
	fresh, old := store.Event{ID: 1, Created: time.Now()}, store.Event{ID: 2, Created: time.Now().Add(-2 * time.Hour)}
	for _, test := range []struct {
		events   []store.Event
		err      error
		failed   []int64
		attempts int
	}{
		{[]store.Event{fresh}, answered(500), nil, 11},
		{[]store.Event{fresh}, answered(http.StatusGone), []int64{1}, 0},
		{[]store.Event{old}, answered(500), []int64{2}, 0},
		{[]store.Event{old, fresh}, errors.New("a mail was not sent"), []int64{2}, 11},
	} {
		var s store.Settlement
		d.fail(&s, test.events, 10, test.err)
		if first := s.Delay <= 3*time.Second/2; !slices.Equal(s.Failed, test.failed) || s.Attempts != test.attempts || first != (test.attempts == 0) || s.Error != test.err.Error() {
			t.Errorf("%v: %+v", test, s)
		}
	}
}

// failingStore is a real store that can be made to fail.
type failingStore struct {
	store.Engine
	due, get, lease, settle atomic.Bool
	leases                  atomic.Int64 // that have failed
	lost                    atomic.Int64 // deliveries whose settlement has failed
}

var errOutage = fmt.Errorf("%w: outage", store.ErrUnavailable)

func (s *failingStore) DueQueues(ctx context.Context, after map[string]int64, limit int) ([]store.Queue, error) {
	if s.due.Load() {
		return nil, errOutage
	}
	return s.Engine.DueQueues(ctx, after, limit)
}

func (s *failingStore) LeaseQueue(ctx context.Context, q store.Queue, lease time.Duration, limit int) (store.Lease, error) {
	if s.lease.Load() {
		s.leases.Add(1)
		return store.Lease{}, errOutage
	}
	return s.Engine.LeaseQueue(ctx, q, lease, limit)
}

func (s *failingStore) SettleQueue(ctx context.Context, l store.Lease, settled store.Settlement) error {
	if s.settle.Load() {
		s.lost.Add(int64(len(settled.Delivered)))
		return errOutage
	}
	return s.Engine.SettleQueue(ctx, l, settled)
}

func (s *failingStore) RemoveDelivered(ctx context.Context, q store.Queue, ids []int64) error {
	if s.settle.Load() {
		return errOutage
	}
	return s.Engine.RemoveDelivered(ctx, q, ids)
}

func (s *failingStore) Get(ctx context.Context, key store.Key) (forms.Submission, error) {
	if s.get.Load() {
		return forms.Submission{}, errOutage
	}
	return s.Engine.Get(ctx, key)
}

// TestOutage: an outage of the store is logged once, and events are delivered after it.
func TestOutage(t *testing.T) {
	r := newReceiver(t, nil)
	f := open(t, enginetest.Default(), r.hook("crm", "  body: submission"))
	failing := &failingStore{Engine: f.store}
	failing.due.Store(true)
	d := f.dispatcher()
	d.Store = failing
	f.creates("a", "1")
	f.runs(d)
	const outage = `level=ERROR msg="the store of events fails; they are delivered later" error="storage is unavailable: outage"`
	testkit.Eventually(t, "the outage is logged", func() bool { return strings.Contains(f.log.String(), outage) })
	failing.get.Store(true)
	failing.due.Store(false)
	testkit.Eventually(t, "an attempt without its submission", func() bool { return f.count("crm").LastError == "the submission can't be read" })
	failing.get.Store(false)
	f.settles("crm", 0)
	testkit.Eventually(t, "the end is logged", func() bool { return strings.Contains(f.log.String(), "the store of events works again") })
	if n := strings.Count(f.log.String(), "the store of events"); n != 2 {
		t.Errorf("%d lines:\n%s", n, f.log)
	}
}

// TestSettlementLost: an event whose settlement was lost is sent again, with its id.
func TestSettlementLost(t *testing.T) {
	r := newReceiver(t, nil)
	f := open(t, enginetest.Default(), r.hook("crm"))
	failing := &failingStore{Engine: f.store}
	failing.settle.Store(true)
	d := f.dispatcher()
	d.Store = failing
	d.tune.lease, d.tune.attempt = 500*time.Millisecond, 50*time.Millisecond
	f.creates("a", "1")
	f.runs(d)
	testkit.Eventually(t, "a settlement is lost", func() bool { return failing.lost.Load() > 0 })
	failing.settle.Store(false)
	f.settles("crm", 0)
	if calls := r.got(); len(calls) < 2 || calls[0] != calls[1] {
		t.Errorf("calls %v", calls)
	}
}

// TestLeaseFails: a queue that can't be leased is tried again at the next poll, not at once.
func TestLeaseFails(t *testing.T) {
	r := newReceiver(t, nil)
	f := open(t, enginetest.Default(), r.hook("crm"))
	failing := &failingStore{Engine: f.store}
	failing.lease.Store(true)
	d := f.dispatcher()
	d.Store, d.tune.poll = failing, 200*time.Millisecond
	f.creates("a", "1")
	began := time.Now()
	f.runs(d)
	testkit.Eventually(t, "five leases have failed", func() bool { return failing.leases.Load() >= 5 })
	if took := time.Since(began); took < 4*d.tune.poll {
		t.Errorf("five leases in %v", took)
	}
	failing.lease.Store(false)
	f.settles("crm", 0)
}
