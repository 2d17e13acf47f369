package pages_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/pages/pagestest"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki"
	"github.com/formulary/formulary/internal/wiki/wikitest"
)

// wikitext is the text of a page with forms.
func wikitext(ids ...string) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "<pre class=\"form\">\nform: %s\nfields:\n  - {id: f, type: textfield, label: F}\n</pre>\n", id)
	}
	return b.String()
}

var errDown = &wiki.UnavailableError{Err: errors.New("no answer")}

// fake is a wiki in memory as the suite writes it.
type fake struct{ *wikitest.Fake }

func (f fake) Write(p pagestest.Page) int64 {
	return f.Fake.Write(p.ID, wikitest.Page{Title: p.Title, Text: wikitext(p.Forms...), View: p.View, Edit: p.Edit})
}

func (f fake) Remove(id int64) { f.Change(id, func(p *wikitest.Page) { p.Deleted = true }) }

func (f fake) Away(away bool) {
	if f.Fail(nil); away {
		f.Fail(errDown)
	}
}

func (f fake) User(name string) pages.User { return caller(name) }

func caller(name string) pages.User {
	return pages.User{Name: name, Wiki: wiki.Caller{Session: wikitest.NewSession(name)}}
}

func newFake() *wikitest.Fake {
	return wikitest.New(map[string]wikitest.User{"ann": {}, "bob": {}, "sara": {Groups: []string{"staff"}}})
}

func TestWikiIsASource(t *testing.T) {
	pagestest.Run(t, func(*testing.T) (pages.Source, pagestest.Wiki) {
		f := fake{newFake()}
		return newWiki(f.Fake, time.Second, time.Now), f
	})
}

func newWiki(w wiki.Wiki, recheck time.Duration, now func() time.Time) *pages.Wiki {
	return pages.NewWiki(pages.WikiOptions{
		Options: &markup.Options{NoMail: true},
		Wiki:    w, Format: markup.Wikitext, Recheck: recheck, Logger: slog.New(slog.DiscardHandler), Now: now,
	})
}

// live is a source over a wiki with one page, at a time that the test sets.
type live struct {
	*testing.T
	*pages.Wiki
	fake *wikitest.Fake
	id   int64
	mu   sync.Mutex
	now  time.Time
}

func newLive(t *testing.T) *live {
	l := &live{T: t, fake: newFake(), now: time.Unix(1_700_000_000, 0)}
	l.id = l.fake.Write(0, wikitest.Page{Title: "Lunch", Text: wikitext("a")})
	l.Wiki = newWiki(l.fake, 30*time.Second, func() time.Time {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.now
	})
	return l
}

func (l *live) advance(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = l.now.Add(d)
}

// wants asks for the page and wants its forms, or the error.
func (l *live) wants(what string, user pages.User, want any) {
	l.Helper()
	page, err := l.Page(l.Context(), user, l.id)
	switch want := want.(type) {
	case error:
		if !errors.Is(err, want) || page.Page != nil {
			l.Errorf("%s: got %v, %v; want %v", what, page.Page, err, want)
		}
	case string:
		if err != nil {
			l.Errorf("%s: %v", what, err)
			return
		}
		var ids []string
		for _, f := range page.Forms {
			ids = append(ids, f.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			l.Errorf("%s: the page has forms %q, want %q", what, got, want)
		}
	}
}

// calls wants the number of calls since the start.
func (l *live) calls(what string, pages, texts int) {
	l.Helper()
	if p, x := l.fake.Calls("Pages"), l.fake.Calls("Text"); p != pages || x != texts {
		l.Errorf("%s: %d calls for rights and %d for text, want %d and %d", what, p, x, pages, texts)
	}
}

// A user causes one call for a page, and a version one call for its text, for all users.
func TestWikiCalls(t *testing.T) {
	l := newLive(t)
	ann, bob := caller("ann"), caller("bob")
	for range 3 {
		l.wants("ann", ann, "a")
		l.wants("bob", bob, "a")
	}
	l.calls("two users", 2, 1)
	l.advance(4 * time.Second)
	l.wants("within five seconds", ann, "a")
	l.calls("within five seconds", 2, 1)
	l.advance(time.Second)
	for range 3 {
		l.wants("after five seconds", bob, "a")
		l.wants("after five seconds", ann, "a")
	}
	l.calls("one look at the version", 3, 1)
	l.fake.Write(l.id, wikitest.Page{Title: "Lunch", Text: wikitext("a", "b")})
	l.advance(5 * time.Second)
	for range 3 {
		l.wants("after the edit", ann, "a b")
		l.wants("after the edit", bob, "a b")
	}
	l.calls("after the edit", 4, 2)
	l.advance(30 * time.Second)
	l.wants("rights are old", ann, "a b")
	l.wants("rights are old", bob, "a b")
	l.calls("rights are old", 6, 2)
}

// A thousand users at once cause one call each, and one for the text.
func TestWikiManyUsers(t *testing.T) {
	l := newLive(t)
	var wg sync.WaitGroup
	for i := range 1000 {
		user := caller(fmt.Sprint("user", i))
		for range 3 {
			wg.Go(func() { l.wants("one of many", user, "a") })
		}
	}
	wg.Wait()
	l.calls("a thousand users", 1000, 1)
}

func TestWikiRightsAreNeverOld(t *testing.T) {
	l := newLive(t)
	ann, bob := caller("ann"), caller("bob")
	l.wants("ann", ann, "a")
	l.wants("bob", bob, "a")
	l.fake.Change(l.id, func(p *wikitest.Page) { p.View = []string{"ann"} })
	l.advance(5 * time.Second)
	l.wants("the look at the version finds it out", bob, pages.ErrNotFound)
	l.wants("ann", ann, "a")
	l.fake.Change(l.id, func(p *wikitest.Page) { p.View = nil })
	l.advance(5 * time.Second)
	l.wants("opened again", bob, "a")

	l.fake.Change(l.id, func(p *wikitest.Page) { p.View = []string{"ann"} })
	l.advance(30 * time.Second)
	l.wants("ann comes first", ann, "a")
	l.wants("the rights are old", bob, pages.ErrNotFound)
	l.wants("without a session", pages.User{Name: "ann"}, pages.ErrNotFound)

	ann.Wiki.End()
	l.advance(30 * time.Second)
	l.wants("the session has ended", ann, wiki.ErrRefused)
}

// An ended session is about its user alone: others still see edits in time.
func TestWikiEndedSessionPostponesNoCheck(t *testing.T) {
	l := newLive(t)
	ann, bob := caller("ann"), caller("bob")
	l.wants("ann", ann, "a")
	l.wants("bob", bob, "a")
	l.fake.Write(l.id, wikitest.Page{Title: "Lunch", Text: wikitext("b")})
	ann.Wiki.End()
	l.advance(5 * time.Second)
	l.wants("her look at the version fails, her rights still count", ann, "a")
	l.wants("he sees the edit at once", bob, "b")
}

// What is blocked may read. A page in another format has no forms.
func TestWikiRights(t *testing.T) {
	l := newLive(t)
	l.fake.SetUser("bob", wikitest.User{Blocked: true})
	page, err := l.Page(t.Context(), caller("bob"), l.id)
	if want := (pages.Rights{View: true, Blocked: true}); err != nil || page.Rights != want || !page.InWiki {
		t.Errorf("blocked: %+v, %v; want %+v", page.Rights, err, want)
	}
	l.id = l.fake.Write(0, wikitest.Page{Title: "Script", Text: wikitext("a"), NoText: true})
	l.wants("another format", caller("ann"), "")
	testkit.Same(t, "its text was asked for", l.fake.Calls("Text"), 1)
	l.id = l.fake.Write(0, wikitest.Page{Title: "Front", Text: "---\nview: [sara]\n---\n" + wikitext("a")})
	l.wants("front matter is not read", caller("ann"), "a")
}

// Deleted and restored, also while others have rights that still count.
func TestWikiDeletedAndRestored(t *testing.T) {
	l := newLive(t)
	ann, bob := caller("ann"), caller("bob")
	l.wants("ann", ann, "a")
	l.wants("bob", bob, "a")
	for range 2 {
		l.fake.Change(l.id, func(p *wikitest.Page) { p.Deleted = true })
		l.advance(5 * time.Second)
		l.wants("deleted", ann, pages.ErrNotFound)
		l.wants("deleted", bob, pages.ErrNotFound)
		l.fake.Change(l.id, func(p *wikitest.Page) { p.Deleted = false })
		l.advance(5 * time.Second)
		l.wants("restored", ann, "a")
		l.wants("restored", bob, "a")
	}
	testkit.Same(t, "the version is the same, and its text was asked for again", l.fake.Calls("Text"), 1)
}

// A broken edit leaves the last good definition in force, and tells editors.
func TestWikiBrokenEdit(t *testing.T) {
	l := newLive(t)
	ann := caller("ann")
	l.wants("at first", ann, "a")
	l.fake.Write(l.id, wikitest.Page{Title: "Lunch", Text: strings.Replace(wikitext("a"), "textfield", "nonsense", 1)})
	l.advance(5 * time.Second)
	l.wants("broken", ann, "a")
	page, err := l.Page(t.Context(), ann, l.id)
	if err != nil || len(page.Diagnostics) == 0 {
		t.Errorf("diagnostics are %v, %v", page.Diagnostics, err)
	}
	l.fake.Write(l.id, wikitest.Page{Title: "Lunch", Text: strings.Replace(wikitext("a"), "fields:", "notify: hr@example.org\nfields:", 1)})
	l.advance(5 * time.Second)
	l.wants("without mail", ann, "a")
	page, err = l.Page(t.Context(), ann, l.id)
	if err != nil || len(page.Diagnostics) != 1 || !strings.Contains(page.Diagnostics[0].Message, "gets no mail") {
		t.Errorf("diagnostics are %v, %v", page.Diagnostics, err)
	}
	l.fake.Write(l.id, wikitest.Page{Title: "Lunch", Text: ""})
	l.advance(5 * time.Second)
	l.wants("removed", ann, "")
}

// While the wiki is down, rights that still count are used without a call, and
// all else is unavailable.
func TestWikiDown(t *testing.T) {
	l := newLive(t)
	ann, bob := caller("ann"), caller("bob")
	l.wants("ann", ann, "a")
	l.fake.Fail(errDown)
	l.wants("no rights are known", bob, pages.ErrUnavailable)
	l.advance(5 * time.Second)
	before := l.fake.Calls("Pages")
	for range 20 {
		l.wants("rights count", ann, "a")
	}
	testkit.Same(t, "the wiki was asked times for the version", l.fake.Calls("Pages")-before, 1)
	testkit.ErrorIs(t, "list", testkit.ErrorOf(l.List(t.Context(), bob)), pages.ErrUnavailable)
	l.advance(25 * time.Second)
	l.wants("the rights are old", ann, pages.ErrUnavailable)
	l.fake.Fail(nil)
	l.wants("it is back", ann, "a")
	l.wants("it is back", bob, "a")
}

// A request whose rights count waits a second at most for a slow wiki, and those
// after it do not wait.
func TestWikiSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		l := &live{T: t, fake: f, Wiki: newWiki(f, 30*time.Second, time.Now)}
		l.id = f.Write(0, wikitest.Page{Title: "Lunch", Text: wikitext("a")})
		ann, bob := caller("ann"), caller("bob")
		l.wants("ann", ann, "a")
		l.wants("bob", bob, "a")
		f.Write(l.id, wikitest.Page{Title: "Lunch", Text: wikitext("b")})
		time.Sleep(5 * time.Second) // of the bubble
		release := f.Hold()
		for i, want := range []time.Duration{time.Second, 0, 0} {
			start := time.Now()
			l.wants("the last known page", []pages.User{ann, bob, ann}[i], "a")
			testkit.Same(t, i+1, time.Since(start), want)
		}
		release()
		time.Sleep(5 * time.Second)
		l.wants("it is back", bob, "b")

		// What a list is told counts, though the wiki takes longer than rights do count.
		time.AfterFunc(time.Minute, f.Hold())
		if list, err := l.List(t.Context(), caller("sara")); err != nil || len(list) != 1 {
			t.Errorf("%d pages are listed, %v; want 1", len(list), err)
		}

		// Without rights that count there is no answer, but a caller may go away.
		release = f.Hold()
		defer release()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		testkit.ErrorIs(
			t, "a caller that goes away gets", testkit.ErrorOf(l.Page(ctx, caller("sara"), l.id)), context.DeadlineExceeded,
		)
	})
}

// Rights that counted when a list began, and do not when the wiki has answered, are asked for again.
func TestWikiListExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := newWiki(f, 30*time.Second, time.Now)
		one := f.Write(0, wikitest.Page{Title: "One", Text: wikitext("a")})
		two := f.Write(0, wikitest.Page{Title: "Two", Text: wikitext("a")})
		ann := caller("ann")
		_, err := w.Page(t.Context(), ann, one)
		if err == nil {
			_, err = w.Page(t.Context(), caller("bob"), two)
		}
		testkit.Must(t, err)
		time.Sleep(25 * time.Second)
		f.Change(one, func(p *wikitest.Page) { p.View, p.Edit = []string{"bob"}, []string{"bob"} })
		time.AfterFunc(10*time.Second, f.Hold())
		if list, err := w.List(t.Context(), ann); err != nil || len(list) != 1 || list[0].ID != two {
			t.Errorf("%d pages are listed, %v; want page %d", len(list), err, two)
		}
	})
}

func TestWikiReady(t *testing.T) {
	l := newLive(t)
	for range 10 {
		testkit.Must(t, l.Ready(t.Context()))
	}
	testkit.Same(t, "the wiki was asked times within a second", l.fake.Calls("Ready"), 1)
	l.fake.Fail(errDown)
	l.advance(time.Second)
	testkit.ErrorIs(t, "down", l.Ready(t.Context()), pages.ErrUnavailable)
}

// The list asks for many pages at once, and shows those that are used most.
func TestWikiList(t *testing.T) {
	l := newLive(t)
	ann, bob := caller("ann"), caller("bob")
	for i := range 120 {
		l.id = l.fake.Write(0, wikitest.Page{Title: fmt.Sprint(i), Text: wikitext("a")})
		l.wants("asked for", ann, "a")
	}
	before := l.fake.Calls("Pages")
	list, err := l.List(t.Context(), bob)
	if err != nil || len(list) != 100 {
		t.Errorf("%d pages are listed, %v; want 100", len(list), err)
	}
	testkit.Same(t, "it took calls", l.fake.Calls("Pages")-before, 2)
}

// lateRights holds back the answer of the wiki to its first call for rights of bob.
type lateRights struct {
	wiki.Wiki
	held *atomic.Bool

	answered, release chan struct{}
}

func (w lateRights) Pages(ctx context.Context, who wiki.Caller, ids ...int64) (map[int64]wiki.Page, error) {
	found, err := w.Wiki.Pages(ctx, who, ids...)
	if who.Name == "bob" && w.held.CompareAndSwap(false, true) {
		close(w.answered)
		<-w.release
	}
	return found, err
}

// An answer of the wiki that comes late does not bring back rights that have ended.
func TestWikiLateAnswer(t *testing.T) {
	l := newLive(t)
	late := lateRights{l.fake, new(atomic.Bool), make(chan struct{}), make(chan struct{})}
	l.WikiOptions.Wiki = late
	l.wants("the page is known", caller("ann"), "a")
	bob, listed := caller("bob"), make(chan error, 1)
	go func() {
		_, err := l.List(t.Context(), bob)
		listed <- err
	}()
	<-late.answered
	l.advance(time.Millisecond)
	l.fake.Change(l.id, func(p *wikitest.Page) { p.View, p.Edit = []string{"ann"}, []string{"ann"} })
	l.wants("before the late answer", bob, pages.ErrNotFound)
	close(late.release)
	testkit.Must(t, <-listed)
	l.wants("after the late answer", bob, pages.ErrNotFound)
}

// closing takes the text from ann alone, while others wait for what she is told.
type closing struct {
	wiki.Wiki
	asked, release chan struct{}
	err            error
}

func (c closing) Text(ctx context.Context, who wiki.Caller, id int64) (wiki.Text, error) {
	if who.Name != "ann" {
		return c.Wiki.Text(ctx, who, id)
	}
	close(c.asked)
	<-c.release
	return wiki.Text{}, c.err
}

// A caller whose rights or session end while a text is read fails alone.
func TestWikiTextRefusedToAnother(t *testing.T) {
	for _, refusal := range []error{wiki.ErrNoText, wiki.ErrRefused} {
		l := newLive(t)
		w := closing{l.fake, make(chan struct{}), make(chan struct{}), refusal}
		l.Wiki = newWiki(w, 30*time.Second, time.Now)
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := l.Page(t.Context(), caller("ann"), l.id); err == nil {
				t.Error("ann gets the page")
			}
		})
		<-w.asked
		both.Go(func() { l.wants("bob, beside ann", caller("bob"), "a") })
		testkit.Eventually(t, "bob has rights", func() bool { return l.fake.Calls("Pages") == 2 })
		close(w.release)
		both.Wait()
		l.wants("bob, afterwards", caller("bob"), "a")
	}
}

// faulty is a wiki whose client has a bug.
type faulty struct {
	*wikitest.Fake
	inPages, inText bool
}

func (f *faulty) Pages(ctx context.Context, c wiki.Caller, ids ...int64) (map[int64]wiki.Page, error) {
	if f.inPages {
		panic("in Pages")
	}
	return f.Fake.Pages(ctx, c, ids...)
}

func (f *faulty) Text(ctx context.Context, c wiki.Caller, id int64) (wiki.Text, error) {
	if f.inText {
		panic("in Text")
	}
	return f.Fake.Text(ctx, c, id)
}

// A panic in a shared call is an error of the request. The next one may succeed.
func TestWikiPanics(t *testing.T) {
	l, ann := newLive(t), caller("ann")
	f := &faulty{Fake: l.fake}
	l.Wiki = newWiki(f, 30*time.Second, time.Now)
	for what, fault := range map[string]*bool{"in Pages": &f.inPages, "in Text": &f.inText} {
		*fault = true
		if _, err := l.Page(t.Context(), ann, l.id); err == nil || !strings.Contains(err.Error(), "panic: "+what) {
			t.Errorf("%s: %v", what, err)
		}
		*fault = false
	}
	l.wants("afterwards", ann, "a")
}
