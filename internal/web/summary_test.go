package web

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store/enginetest"
)

// newTestCache is a cache whose passes take as long as the test says.
func newTestCache() (*summaryCache, *testClock) {
	clock := &testClock{now: began}
	cache := newSummaryCache()
	cache.now = clock.Now
	return cache, clock
}

// pass is a pass that takes a while, and counts.
func pass(clock *testClock, took time.Duration, count *atomic.Int64) func() (func() template.HTML, error) {
	return func() (func() template.HTML, error) {
		return func() template.HTML {
			clock.advance(took)
			return template.HTML(fmt.Sprint("pass ", count.Add(1)))
		}, nil
	}
}

const longEnough = time.Minute

// TestSummaryCacheAge has a summary kept for 20 times as long as it took.
func TestSummaryCacheAge(t *testing.T) {
	cache, clock := newTestCache()
	var count atomic.Int64
	key := summaryKey{form: &forms.Form{}, all: true}
	get := func(wait time.Duration) template.HTML {
		t.Helper()
		k, err := cache.get(t.Context(), key, wait, pass(clock, time.Second, &count))
		if err != nil || k == nil {
			t.Fatalf("got %v, %v", k, err)
		}
		return k.html
	}
	if got := get(longEnough); got != "pass 1" {
		t.Errorf("at first: %s", got)
	}
	clock.advance(20*time.Second - 1)
	if got := get(longEnough); got != "pass 1" {
		t.Errorf("before 20 seconds: %s", got)
	}
	clock.advance(1)
	if got := get(longEnough); got != "pass 2" {
		t.Errorf("after 20 seconds: %s", got)
	}
	// Who would have to wait too long for a new one gets the old one at once.
	clock.advance(30 * time.Second)
	if got := get(time.Millisecond); got != "pass 2" {
		t.Errorf("after 30 seconds: %s", got)
	}
	cache.wait(key)
	if got := get(time.Millisecond); got != "pass 3" {
		t.Errorf("once the new one is there: %s", got)
	}
}

// wait waits for the pass of a summary, if there is one.
func (s *summaryCache) wait(key summaryKey) {
	s.mu.Lock()
	pass := s.passes[key]
	s.mu.Unlock()
	if pass != nil {
		<-pass.done
	}
}

// TestSummaryCacheTooOld has nobody get a summary that is twice as old as it
// should be.
func TestSummaryCacheTooOld(t *testing.T) {
	cache, clock := newTestCache()
	var count atomic.Int64
	key := summaryKey{form: &forms.Form{}}
	if _, err := cache.get(t.Context(), key, longEnough, pass(clock, time.Second, &count)); err != nil {
		t.Fatal(err)
	}
	clock.advance(40 * time.Second)
	blocked := make(chan struct{})
	k, err := cache.get(t.Context(), key, time.Millisecond, func() (func() template.HTML, error) {
		return func() template.HTML { <-blocked; return "new" }, nil
	})
	if k != nil || err != nil {
		t.Errorf("got %v, %v, want none", k, err)
	}
	close(blocked)
	cache.wait(key)
}

// TestSummaryCacheFailure has a summary that could not be made not be kept, nor
// take the place of one that was.
func TestSummaryCacheFailure(t *testing.T) {
	cache, clock := newTestCache()
	var count atomic.Int64
	key := summaryKey{form: &forms.Form{}}
	failing := func() (func() template.HTML, error) {
		return func() template.HTML { clock.advance(time.Second); return "" }, nil
	}
	get := func(what string, begin beginPass, want template.HTML) {
		t.Helper()
		if k, err := cache.get(t.Context(), key, longEnough, begin); err != nil || k == nil || k.html != want {
			t.Fatalf("%s: got %+v, %v", what, k, err)
		}
	}
	get("a failure", failing, "")
	get("right after it", pass(clock, time.Second, &count), "pass 1")
	clock.advance(20 * time.Second)
	get("another failure", failing, "")
	if old, _, err := cache.find(key, failing); err != nil || old == nil || old.html != "pass 1" {
		t.Errorf("the last success: got %+v, %v", old, err)
	}
	cache.wait(key)
}

// TestSummaryCacheShares has concurrent callers share one pass.
func TestSummaryCacheShares(t *testing.T) {
	cache, clock := newTestCache()
	var count atomic.Int64
	started, blocked := make(chan struct{}), make(chan struct{})
	begin := func() (func() template.HTML, error) {
		inner, err := pass(clock, time.Second, &count)()
		return func() template.HTML { close(started); <-blocked; return inner() }, err
	}
	key := summaryKey{form: &forms.Form{}}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if k, err := cache.get(t.Context(), key, longEnough, begin); err != nil || k == nil || k.html != "pass 1" {
				t.Errorf("got %v, %v", k, err)
			}
		})
	}
	<-started
	close(blocked)
	wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	blocked = make(chan struct{})
	started = make(chan struct{})
	defer close(blocked)
	if _, err := cache.get(ctx, summaryKey{user: "x"}, longEnough, begin); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who is gone gets %v", err)
	}
}

// TestSummaryCacheBounds keeps few summaries, and those that were used last.
func TestSummaryCacheBounds(t *testing.T) {
	cache, clock := newTestCache()
	var count atomic.Int64
	get := func(i, size int) {
		t.Helper()
		_, err := cache.get(t.Context(), summaryKey{user: fmt.Sprint(i)}, longEnough, func() (func() template.HTML, error) {
			return func() template.HTML {
				count.Add(1)
				clock.advance(time.Hour)
				return template.HTML(strings.Repeat("x", size))
			}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 * maxSummaries {
		get(i, 10)
		if i >= 1 {
			clock.advance(-time.Hour) // all are fresh
			get(0, 10)
		}
	}
	if got := count.Load(); len(cache.kept) != maxSummaries || cache.order.Len() != maxSummaries || got != 2*maxSummaries {
		t.Errorf("%d are kept after %d passes, want %d after %d", len(cache.kept), got, maxSummaries, 2*maxSummaries)
	}
	for i := range 20 {
		get(1000+i, 1<<20)
		if cache.bytes > maxSummaryBytes {
			t.Fatalf("%d bytes are kept", cache.bytes)
		}
	}
}

// TestSummaryKey has two callers share a summary only if both may see the same
// submissions.
func TestSummaryKey(t *testing.T) {
	e := newFeedback(t, enginetest.SQLite, "view: [alice, bob, carol]\nedit: [carol, alice]\n")
	key := func(user, query string) summaryKey {
		t.Helper()
		access, err := e.site.Backend.Service.Form(t.Context(), auth.NewIdentity(user), 1, "feedback")
		if err != nil {
			t.Fatal(err)
		}
		return newSummaryKey(access, user, request.ReadParams(query).SummaryOptions())
	}
	if key("alice", "") != key("carol", "") {
		t.Error("two who see all have summaries of their own")
	}
	distinct := map[summaryKey]string{}
	for _, c := range [][2]string{
		{"alice", ""},
		{"bob", ""},
		{"bob", "username=bob"},
		{"alice", "username=bob"},
		{"alice", "username="},
		{"alice", "q=a"},
		{"alice", "filter[name]=a"},
		{"alice", "filter[name]=a&filter[name]=b"},
		{"alice", "filter[name][contains]=a"},
		{"alice", "filter[state]=a"},
		{"alice", `filter[name]=a""equals""b`},
		{"alice", `username=a"q"x`},
		{"alice", "username=a&q=x"},
	} {
		k := key(c[0], c[1])
		if other, known := distinct[k]; known {
			t.Errorf("%v has the key of %s", c, other)
		}
		distinct[k] = fmt.Sprint(c)
	}
	before := key("alice", "")
	e.put(t, "1.md", page1("view: [alice, bob, carol]\nedit: [carol, alice]\n", smallForm+"  - {id: more, type: textfield, label: More}\n")["1.md"])
	if key("alice", "") == before {
		t.Error("a changed form has the key of the old one")
	}
}

// TestSummaryPending has the page not wait, and the script get the summary when
// it is there.
func TestSummaryPending(t *testing.T) {
	e := newFeedback(t, enginetest.SQLite, "edit: [alice]\n")
	access, err := e.site.Backend.Service.Form(t.Context(), auth.NewIdentity("alice"), 1, "feedback")
	if err != nil {
		t.Fatal(err)
	}
	key := newSummaryKey(access, "alice", service.ListOptions{})
	pass := &summaryPass{done: make(chan struct{})}
	e.site.summaries.passes[key] = pass
	page := e.get(t, "alice", feedbackResults+"?limit=3")
	if !strings.Contains(page, `The summary of all answers is being computed. <a href="/page/1/form/feedback/results?limit=3">Reload</a>`) || len(rowIDs(page)) != 3 {
		t.Errorf("the page while the summary is made:\n%s", page)
	}
	go func() {
		pass.result = &keptSummary{html: "<p>the charts</p>", made: e.site.summaries.now().Add(-time.Hour), took: time.Second}
		close(pass.done)
	}()
	a := e.expect(t, http.StatusOK, "alice", feedbackResults+"?limit=3&part=summary")
	if !strings.HasSuffix(a.body, "UTC</time></p>\n<p>the charts</p>") || !strings.HasPrefix(a.body, `<p class="as-of">As of <time `) {
		t.Errorf("the part is %q", a.body)
	}
	if a.header.Get("Cache-Control") != "no-store" {
		t.Error("the part may be stored")
	}
	// bob may not see that one.
	if page := e.get(t, "bob", feedbackResults); strings.Contains(page, "the charts") || !strings.Contains(page, "<strong>1</strong>") {
		t.Errorf("bob sees:\n%s", page)
	}
}

// TestSummaryWithoutSlot shows the table although the caller reads too many
// lists for a summary.
func TestSummaryWithoutSlot(t *testing.T) {
	e := newFeedback(t, enginetest.SQLite, "", func(o *request.Options) { o.Limits.ListsPerUser = 1 })
	page := e.get(t, "alice", feedbackResults)
	if len(rowIDs(page)) != 4 || !strings.Contains(page, "can’t be shown right now") {
		t.Errorf("the page without a slot:\n%s", page)
	}
	if got := e.site.Backend.Slots().Lists; got != 0 {
		t.Errorf("%d slots are held", got)
	}
}

// TestSummaryFreesSlot has a pass hold a slot, and no longer than it runs.
func TestSummaryFreesSlot(t *testing.T) {
	enginetest.One(t, func(t *testing.T, on enginetest.Engine) {
		e := newFeedback(t, on, "")
		for i := range 10 {
			e.get(t, "alice", fmt.Sprintf("%s?part=summary&q=%d", feedbackResults, i))
		}
		if got := e.site.Backend.Slots().Lists; got != 0 {
			t.Errorf("%d slots are held", got)
		}
	})
}

// TestSummaryPanic keeps a fault of a pass from ending the program.
func TestSummaryPanic(t *testing.T) {
	e := newFeedback(t, enginetest.SQLite, "")
	if _, err := e.site.makeSummary(t.Context(), &service.Access{Form: &forms.Form{}}, &resultsView{}); err == nil {
		t.Error("no error")
	}
}
