package pages_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki"
	"github.com/formulary/formulary/internal/wiki/wikitest"
)

// asks has a user ask for so many pages at once that are not in the cache.
func (l *live) asks(all *sync.WaitGroup, user pages.User, n int, check func(error)) {
	for i := range n {
		all.Go(func() {
			_, err := l.Page(l.Context(), user, int64(1000+i))
			check(err)
		})
	}
}

// A user has four calls at a time, and further requests of the user wait for these. Other
// users do not wait. At a silent wiki the error is ErrUnavailable, not ErrBusy.
func TestWikiCallsOfOneUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		l := &live{T: t, fake: f, Wiki: newWiki(f, 30*time.Second, time.Now)}
		l.id = f.Write(0, wikitest.Page{Title: "Lunch", Text: wikitext("a")})
		eve, ann, bob := caller("eve"), caller("ann"), caller("bob")
		l.wants("ann", ann, "a")
		time.Sleep(5 * time.Second)
		f.Write(l.id, wikitest.Page{Title: "Lunch", Text: wikitext("b")})
		l.wants("eve", eve, "b")
		time.Sleep(5 * time.Second)
		f.Write(l.id, wikitest.Page{Title: "Lunch", Text: wikitext("c")})

		before := f.Calls("Pages")
		release := f.Hold()
		calls := func(what string, want int) {
			t.Helper()
			synctest.Wait()
			testkit.Same(t, what, f.Calls("Pages")-before, want)
		}
		var all sync.WaitGroup
		l.asks(&all, eve, 400, func(err error) {
			if !errors.Is(err, pages.ErrNotFound) && !errors.Is(err, pages.ErrUnavailable) {
				t.Errorf("at a silent wiki: %v", err)
			}
		})
		calls("400 pages of one user", 4)
		begun := time.Now()
		l.wants("a page that she has seen", eve, "b")
		testkit.Same(t, "its version was checked for", time.Since(begun), 0)
		all.Go(func() { l.wants("bob", bob, "c") })
		calls("bob", 5)
		all.Go(func() { l.wants("ann sees the edit", ann, "c") })
		calls("ann", 6)
		time.AfterFunc(500*time.Millisecond, release)
		all.Wait()
	})
}

// slow is a wiki that takes a second for each call, also if the caller goes away.
type slow struct {
	*wikitest.Fake
	atWork, most *atomic.Int64 // calls
}

func (s slow) Pages(ctx context.Context, c wiki.Caller, ids ...int64) (map[int64]wiki.Page, error) {
	s.most.Store(max(s.most.Load(), s.atWork.Add(1)))
	defer s.atWork.Add(-1)
	time.Sleep(time.Second)
	return s.Fake.Pages(ctx, c, ids...)
}

// Who asks a wiki that answers for too much is told so. Lists count, and so do calls whose
// callers have gone away, while the wiki is at work.
func TestWikiTooManyCallsOfOneUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &live{T: t, fake: newFake()}
		var atWork, most atomic.Int64
		l.Wiki = newWiki(slow{l.fake, &atWork, &most}, 30*time.Second, time.Now)
		var all sync.WaitGroup
		eve := caller("eve")
		for i := range 400 {
			ctx, leave := context.WithCancel(t.Context())
			all.Go(func() { _, _ = l.Page(ctx, eve, int64(5000+i)) })
			synctest.Wait()
			leave()
		}
		all.Wait()
		testkit.Same(t, "the wiki works on calls at a time of one user who goes away", most.Load(), 4)
		var answered, refused atomic.Int64
		l.asks(&all, eve, 400, func(err error) {
			switch {
			case errors.Is(err, pages.ErrNotFound):
				answered.Add(1)
			case errors.Is(err, pages.ErrBusy):
				refused.Add(1)
			default:
				t.Errorf("got %v", err)
			}
		})
		all.Wait()
		if a, r := answered.Load(), refused.Load(); a < 16 || a > 24 || a+r != 400 {
			t.Errorf("%d were answered, %d refused", a, r)
		}

		l.id = l.fake.Write(0, wikitest.Page{Title: "Lunch", Text: wikitext("a")})
		l.wants("one page", caller("ann"), "a")
		before, bob := l.fake.Calls("Pages"), caller("bob")
		for range 50 {
			all.Go(func() {
				if list, err := l.List(t.Context(), bob); err != nil || len(list) != 1 {
					t.Errorf("%d pages are listed, %v", len(list), err)
				}
			})
		}
		all.Wait()
		if n := l.fake.Calls("Pages") - before; n > 4 {
			t.Errorf("50 lists at once took %d calls", n)
		}
	})
}

// heap is how much memory is in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The cache of pages weighs what it keeps: the tree of a text takes far more than the text.
// A page is served, though there is no room for it in the cache.
func TestWikiPagesInMemory(t *testing.T) {
	l := newLive(t)
	items := strings.Repeat("* a\n", 45<<10/4)
	var ids []int64
	for range 20 {
		ids = append(ids, l.fake.Write(0, wikitest.Page{Title: "Long", Text: wikitext("a") + items}))
	}
	before := heap()
	var all sync.WaitGroup
	ann := caller("ann")
	for _, l.id = range ids {
		for range 3 {
			all.Go(func() { l.wants("a long page", ann, "a") })
		}
		all.Wait()
	}
	if grown := int64(heap()) - int64(before); grown > 48<<20 {
		t.Errorf("20 pages take %d MiB", grown>>20)
	}
	runtime.KeepAlive(l)
}

// A page without a form has no text, since it is not read here. It says that its form is broken.
func TestWikiPageWithoutForm(t *testing.T) {
	l := newLive(t)
	for text, parts := range map[string]int{"Hello": 0, "Hello\n" + strings.Replace(wikitext("a"), "textfield", "nonsense", 1): 1} {
		l.id = l.fake.Write(0, wikitest.Page{Title: "Lunch", Text: text})
		page, err := l.Page(t.Context(), caller("ann"), l.id)
		testkit.Must(t, err)
		if page.Text == nil && parts == 0 {
			continue
		}
		if len(page.Text.Parts) != parts || page.Text.Parts[0].Block != nil || page.Text.Source != nil {
			t.Errorf("%q: %+v", text, page.Text)
		}
	}
}
