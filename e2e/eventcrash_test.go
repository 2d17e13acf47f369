package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// history is what clients have done to submissions, by "FORM/ID".
type history struct {
	mu       sync.Mutex
	sent     int
	acked    int
	lives    map[string]*life
	doubtful map[string]bool // texts of creates that may have happened
}

// life is what became of one submission. Nothing follows a change in doubt.
type life struct {
	text    string
	updates int
	maybe   string // the text of an update in doubt
	deleted bool   // or in doubt
	sure    bool   // the delete was acknowledged
}

func newHistory() *history { return &history{lives: map[string]*life{}, doubtful: map[string]bool{}} }

// change makes a request, and notes its outcome. It returns false if there was no
// acknowledgement: then the change may have happened, unless it was not sent.
func (h *history) change(t *testing.T, url, method, path, body string, status int, done func(submission), doubt func()) bool {
	req, err := request(context.Background(), url, method, path, body)
	if err != nil {
		t.Error(err)
		return false
	}
	r, err := do(client, req)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED): // it was not sent
	case err != nil, r.status == http.StatusServiceUnavailable && r.header.Get("Retry-After") != "":
		doubt()
	case r.status != status:
		t.Errorf("%s %s: status %d: %s", method, path, r.status, r.body)
	default:
		var s submission
		_ = json.Unmarshal([]byte(r.body), &s) // only a create has one
		h.acked++
		done(s)
		return true
	}
	return false
}

// live creates a submission. It updates most of them, and deletes some.
func (h *history) live(t *testing.T, url string, turn int) {
	h.mu.Lock()
	h.sent++
	l, form, path := &life{text: fmt.Sprint("text ", h.sent)}, fmt.Sprint("f", turn%manyForms), ""
	h.mu.Unlock()
	ok := h.change(t, url, "POST", "/"+form+"/submission", note(l.text), 201, func(s submission) {
		h.lives[fmt.Sprint(form, "/", s.ID)] = l
		path = fmt.Sprint("/", form, "/result/", s.ID)
	}, func() { h.doubtful[l.text] = true })
	for i := 0; ok && i < turn%3; i++ {
		text := fmt.Sprint(l.text, ", version ", i)
		ok = h.change(t, url, "PUT", path, fmt.Sprintf(`{"text":%q}`, text), 200,
			func(submission) { l.text, l.updates = text, l.updates+1 }, func() { l.maybe = text })
	}
	if ok && turn%4 == 0 {
		h.change(t, url, "DELETE", path, "", 204, func(submission) { l.deleted, l.sure = true, true }, func() { l.deleted = true })
	}
}

// during has several clients change submissions until do returns.
func (h *history) during(t *testing.T, urls []string, do func()) {
	t.Helper()
	var wg sync.WaitGroup
	var over atomic.Bool
	for i := range 6 {
		wg.Go(func() {
			for turn := i; !over.Load(); turn += 7 {
				h.live(t, urls[turn%len(urls)], turn)
			}
		})
	}
	defer wg.Wait()
	defer over.Store(true)
	do()
}

func (h *history) moreAcked(t *testing.T, count int) {
	t.Helper()
	read := func() int { h.mu.Lock(); defer h.mu.Unlock(); return h.acked }
	before := read()
	testkit.Eventually(
		t, fmt.Sprint(count, " more changes are acknowledged"), func() bool { return read() >= before+count },
	)
}

// check compares what is stored and what a receiver was told with what was acknowledged.
// A change in doubt has happened or not: the store and the receiver agree about it.
func (h *history) check(t *testing.T, p *process, r *receiver) {
	t.Helper()
	stored, want := map[string]string{}, map[string][]string{}
	for i := range manyForms {
		for id, text := range p.submissions(t, fmt.Sprint("f", i)) {
			key := fmt.Sprintf("f%d/%d", i, id)
			stored[key], want[key] = text, []string{store.SubmissionCreated}
			if h.lives[key] == nil && !h.doubtful[text] {
				t.Errorf("%s is %q, which was not acknowledged", key, text)
			}
		}
	}
	for key, l := range h.lives {
		types := append([]string{store.SubmissionCreated}, slices.Repeat([]string{store.SubmissionUpdated}, l.updates)...)
		text, found := stored[key]
		switch {
		case !found && l.deleted:
			types = append(types, store.SubmissionDeleted)
		case !found || l.sure || text != l.text && (text != l.maybe || l.maybe == ""):
			t.Errorf("%s is %q, %v, and was %+v", key, text, found, l)
		case text == l.maybe:
			types = append(types, store.SubmissionUpdated)
		}
		want[key] = types
	}
	testkit.Diff(t, "what the receiver was told", r.told(t), want)
	t.Logf("%d changes of %d submissions acknowledged, %d creates in doubt, %d submissions stored, %d told in %d calls",
		h.acked, len(h.lives), len(h.doubtful), len(stored), len(want), len(r.log()))
}

// When the process is killed again and again under all kinds of changes, every change
// that is stored is told, in order, and nothing else is.
func TestKillLosesNoEvents(t *testing.T) {
	engines(t, func(t *testing.T, s site) {
		r, h := newReceiver(t, "crm"), newHistory()
		p := newReplica(t, s.withManyForms(t), withHooks(t, r.hook("/", "body: submission"))...)
		for range testkit.Rounds(3, 20) {
			p.start(t)
			h.during(t, []string{p.url}, func() {
				h.moreAcked(t, 20)
				p.kill()
			})
		}
		p.start(t)
		p.awaitEvents(t, "crm", "queued", 0)
		h.check(t, p.process, r)
	})
}

// What a server was sending when it was killed, another sends within 30 seconds. The
// events behind it wait for it.
func TestKilledSenderIsReplaced(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, "crm")
	s := newSharedSite(t)
	var replicas []*replica
	for i := range 3 { // each calls a path of its own
		replicas = append(replicas, newReplica(t, s, withHooks(t, r.hook(fmt.Sprint("/", i)))...))
		replicas[i].start(t)
	}
	r.breaks(hangs)
	var ids, told []int64
	for range 5 {
		ids = append(ids, create(t, replicas[0].process, "note", note("x")))
	}
	testkit.Eventually(t, "a server sends", func() bool { return len(r.log()) == 1 })
	first := r.log()[0]
	replicas[first.path[1]-'0'].kill()
	killed := time.Now()
	r.heal()
	r.awaitDelivered(t, testkit.WaitLimit, len(ids))
	if second := r.log()[1]; second.id != first.id || second.path == first.path || second.begun.Sub(killed) > 30*time.Second {
		t.Errorf("%+v came after %s, and before that %+v", second, second.begun.Sub(killed), first)
	}
	for _, c := range r.delivered(t) {
		told = append(told, c.Data.ID)
	}
	testkit.Diff(t, "their order", told, ids)
}

// Of what was delivered before a server was killed, two events of a form are sent again at
// most: the last one, and the one before it. What is counted is true at once.
func TestKillRepeatsTwoEvents(t *testing.T) {
	engines(t, func(t *testing.T, s site) {
		const count, before = 40, 30
		r := newReceiver(t, "crm")
		hooks := withHooks(t, r.hook("/"))
		p := newReplica(t, s, hooks...)
		r.breaks(answersWith(http.StatusServiceUnavailable)) // until all are there, so that they are leased together
		p.start(t)
		for range count {
			create(t, p.process, "note", note("x"))
		}
		r.breaks(func(w http.ResponseWriter, c hookCall, gone <-chan struct{}) int {
			if len(r.delivered(t)) >= before {
				return hangs(w, c, gone)
			}
			return answersWith(http.StatusNoContent)(w, c, gone)
		})
		r.awaitDelivered(t, testkit.WaitLimit, before)
		testkit.Eventually(t, "the next one is being sent", func() bool { return r.log()[len(r.log())-1].status == 0 })
		list := append(append([]string{"hooks", "list", "--format", "json"}, hooks[:2]...), s.store()...)
		queued := fmt.Sprintf(`"queued":%d,`, count-before)
		testkit.EventuallyWithin(t, 5*time.Second, "what was delivered is not counted", func() bool { // the attempt has ten
			return strings.Contains(mustRun(t, list...), queued)
		})
		p.kill()
		testkit.Contains(t, "after the kill", mustRun(t, list...), queued)
		p.start(t)
		p.awaitEvents(t, "crm", "queued", count-before)
		r.heal()
		r.awaitDelivered(t, testkit.WaitLimit, count)
		times, repeated := map[string]int{}, 0
		for _, c := range r.log() {
			if c.status/100 == 2 {
				times[c.id]++
			}
		}
		for _, n := range times {
			repeated += n - 1
		}
		if repeated > 2 {
			t.Errorf("%d events were delivered again", repeated)
		}
	})
}
