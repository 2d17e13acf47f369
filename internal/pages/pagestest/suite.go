package pagestest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/pages"
)

// Page is a page as it is written where a source reads it.
type Page struct {
	ID    int64
	Title string
	Forms []string // the ids, in page order
	// View and Edit are names of users, or "@" and the name of a group; nil is
	// every user.
	View, Edit        []string
	ResultsForViewers bool
}

// Wiki is the place that a source reads its pages from.
type Wiki interface {
	Write(Page)
	Remove(id int64)
	// Away makes the place unreachable, or reachable again.
	Away(away bool)
}

// Run checks a source against the contract of pages.Source. Open returns a
// source over the wiki that begins with the given pages.
func Run(t *testing.T, open func(t *testing.T, begin []Page) (pages.Source, Wiki)) {
	for name, test := range map[string]func(*suite){
		"Pages": testPages, "List": testList, "Rights": testRights, "ManyRights": testManyRights, "Reload": testReload,
		"HandedOutPagesStay": testHandedOutPagesStay, "Run": testRun, "Away": testAway, "Concurrent": testConcurrent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &suite{T: t}
			s.source, s.wiki = open(t, []Page{
				{ID: 7, Title: "Open", Forms: []string{"feedback", "poll"}},
				{ID: 2, Title: "Plain"},
				{ID: 30, Title: "Closed", Forms: []string{"poll"}, View: []string{"ann", "@staff"}, Edit: []string{"ann"}},
			})
			test(s)
		})
	}
}

type suite struct {
	*testing.T
	source pages.Source
	wiki   Wiki
}

func (s *suite) page(id int64) *pages.Page {
	s.Helper()
	page, err := s.source.Page(s.Context(), id)
	if err != nil {
		s.Fatalf("page %d: %v", id, err)
	}
	return page
}

func formIDs(page *pages.Page) []string {
	var ids []string
	for _, f := range page.Forms {
		ids = append(ids, f.ID)
	}
	return ids
}

func testPages(s *suite) {
	for id, want := range map[int64]Page{
		7: {Title: "Open", Forms: []string{"feedback", "poll"}}, 2: {Title: "Plain"}, 30: {Title: "Closed", Forms: []string{"poll"}},
	} {
		page := s.page(id)
		if page.ID != id || page.Title != want.Title || !slices.Equal(formIDs(page), want.Forms) {
			s.Errorf("page %d is %d %q with forms %v, want %+v", id, page.ID, page.Title, formIDs(page), want)
		}
		for _, f := range page.Forms {
			if f.PageID != id || page.Form(f.ID) != f {
				s.Errorf("form %s of page %d says page %d", f.ID, id, f.PageID)
			}
		}
		checkText(s, page)
		if page.Form("nope") != nil {
			s.Errorf("page %d has a form that it has not", id)
		}
	}
	for _, id := range []int64{0, -7, 1, 1 << 62} {
		if page, err := s.source.Page(s.Context(), id); !errors.Is(err, pages.ErrNotFound) || page != nil {
			s.Errorf("page %d: got %v, %v; want %v", id, page, err, pages.ErrNotFound)
		}
	}
	if err := s.source.Ready(s.Context()); err != nil {
		s.Errorf("Ready: %v", err)
	}
	if got, want := s.source.Counts(), (pages.Counts{Pages: 3, Forms: 3}); got != want {
		s.Errorf("Counts is %+v, want %+v", got, want)
	}
}

// checkText checks the text of a page that has nothing broken, where the source
// has texts.
func checkText(s *suite, page *pages.Page) {
	s.Helper()
	if page.Text == nil {
		return
	}
	var ids []string
	for _, part := range page.Text.Parts {
		if part.Block == nil {
			ids = append(ids, part.FormID)
		}
	}
	if len(ids) == 0 || !slices.Equal(ids, formIDs(page)) {
		s.Errorf("page %d: the text has forms %v, the page %v", page.ID, ids, formIDs(page))
	}
}

// list returns the ids of List, and checks that it agrees with Page.
func (s *suite) list() []int64 {
	s.Helper()
	list, err := s.source.List(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	var ids []int64
	for _, page := range list {
		ids = append(ids, page.ID)
		if same := s.page(page.ID); same.Title != page.Title || !slices.Equal(formIDs(same), formIDs(page)) {
			s.Errorf("page %d is listed as %q %v, and is %q %v", page.ID, page.Title, formIDs(page), same.Title, formIDs(same))
		}
	}
	return ids
}

func testList(s *suite) {
	for range 2 {
		if got, want := s.list(), []int64{2, 7, 30}; !slices.Equal(got, want) {
			s.Errorf("listed are %v, want %v", got, want)
		}
		list, err := s.source.List(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		clear(list) // the next caller must not notice
	}
}

func user(name string, groups ...string) pages.User {
	return pages.User{Name: name, Groups: groups}
}

func testRights(s *suite) {
	none, view := pages.Rights{}, pages.Rights{View: true}
	results, all := pages.Rights{View: true, SeeAll: true}, pages.Rights{View: true, SeeAll: true, Edit: true}
	ann, bob, staff := []string{"ann"}, []string{"bob"}, []string{"@staff"}
	for _, tt := range []struct {
		page           Page
		ann, bob, sara pages.Rights // sara is in the group staff
	}{
		{Page{}, all, all, all},
		{Page{Edit: ann}, all, view, view},
		{Page{Edit: ann, ResultsForViewers: true}, all, results, results},
		{Page{View: ann}, all, none, none},
		{Page{View: staff}, none, none, all},
		{Page{View: staff, Edit: ann}, all, none, view},
		{Page{View: staff, Edit: ann, ResultsForViewers: true}, all, none, results},
		{Page{View: bob, Edit: staff}, none, view, all},
		{Page{View: []string{}}, none, none, none},
		{Page{Edit: []string{}}, view, view, view},
	} {
		tt.page.ID, tt.page.Title = 50, "Rights"
		s.wiki.Write(tt.page)
		s.source.Reload(s.Context())
		page := s.page(50)
		for who, want := range map[string]pages.Rights{"ann": tt.ann, "bob": tt.bob, "sara": tt.sara} {
			asking := user(who)
			if who == "sara" {
				asking = user(who, "staff")
			}
			got, err := s.source.Rights(s.Context(), asking, page)
			if err != nil || len(got) != 1 || got[0] != want {
				s.Errorf("%+v: rights of %s are %+v, %v; want %+v", tt.page, who, got, err, want)
			}
		}
	}
}

func testManyRights(s *suite) {
	list := []*pages.Page{s.page(30), s.page(7), s.page(30), s.page(2)}
	got, err := s.source.Rights(s.Context(), user("bob"), list...)
	if err != nil {
		s.Fatal(err)
	}
	all := pages.Rights{View: true, SeeAll: true, Edit: true}
	if want := []pages.Rights{{}, all, {}, all}; !slices.Equal(got, want) {
		s.Errorf("rights are %+v, want %+v", got, want)
	}
	if got, err := s.source.Rights(s.Context(), user("bob")); err != nil || len(got) != 0 {
		s.Errorf("rights on no page: %v, %v", got, err)
	}
}

func testReload(s *suite) {
	s.wiki.Write(Page{ID: 7, Title: "Changed", Forms: []string{"other"}})
	s.wiki.Write(Page{ID: 8, Title: "New", Forms: []string{"new"}})
	s.wiki.Remove(30)
	s.source.Reload(s.Context())
	if got, want := s.list(), []int64{2, 7, 8}; !slices.Equal(got, want) {
		s.Errorf("listed are %v, want %v", got, want)
	}
	if page := s.page(7); page.Title != "Changed" || !slices.Equal(formIDs(page), []string{"other"}) {
		s.Errorf("after the edit: %q %v", page.Title, formIDs(page))
	}
	if _, err := s.source.Page(s.Context(), 30); !errors.Is(err, pages.ErrNotFound) {
		s.Errorf("removed: %v", err)
	}
	if got, want := s.source.Counts(), (pages.Counts{Pages: 3, Forms: 2}); got != want {
		s.Errorf("Counts is %+v, want %+v", got, want)
	}
}

// A request goes on with the page that it began with.
func testHandedOutPagesStay(s *suite) {
	page := s.page(7)
	s.wiki.Write(Page{ID: 7, Title: "Changed"})
	s.source.Reload(s.Context())
	if page.Title != "Open" || !slices.Equal(formIDs(page), []string{"feedback", "poll"}) {
		s.Errorf("a page that was handed out is now %q %v", page.Title, formIDs(page))
	}
	checkText(s, page)
}

// run calls Run until the test ends, and checks that it ends with its context.
func (s *suite) run() {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.source.Run(ctx)
	}()
	s.Cleanup(func() {
		stop()
		select {
		case <-ended:
		case <-time.After(patience):
			s.Error("Run goes on after its context ended")
		}
	})
}

// patience is for what should take two seconds, on a machine that is busy.
const patience = time.Minute

func (s *suite) eventually(what string, holds func() bool) {
	s.Helper()
	deadline, tick := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			s.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

func testRun(s *suite) {
	s.run()
	for _, title := range []string{"first", "second"} {
		s.wiki.Write(Page{ID: 7, Title: title})
		s.eventually(title+" edit", func() bool { return s.page(7).Title == title })
	}
	s.wiki.Remove(30)
	s.eventually("removed", func() bool {
		_, err := s.source.Page(s.Context(), 30)
		return errors.Is(err, pages.ErrNotFound)
	})
}

func testAway(s *suite) {
	s.run()
	s.wiki.Away(true)
	s.eventually("Ready notices", func() bool { return errors.Is(s.source.Ready(s.Context()), pages.ErrUnavailable) })
	if _, err := s.source.Page(s.Context(), 7); err != nil && !errors.Is(err, pages.ErrUnavailable) {
		s.Errorf("Page: %v", err) // not ErrNotFound: it may be there
	}
	if list, err := s.source.List(s.Context()); (err != nil && !errors.Is(err, pages.ErrUnavailable)) || (err == nil && len(list) != 3) {
		s.Errorf("List: %d pages, %v", len(list), err)
	}
	s.wiki.Away(false)
	s.eventually("Ready notices the return", func() bool { return s.source.Ready(s.Context()) == nil })
	s.page(7)
}

// The race detector does the checking.
func testConcurrent(s *suite) {
	s.run()
	var wg sync.WaitGroup
	for i := range int64(4) {
		wg.Go(func() {
			for range 10 {
				if page, err := s.source.Page(s.Context(), 7); err == nil {
					_, _ = s.source.Rights(s.Context(), user("ann"), page)
				}
				_, _ = s.source.List(s.Context())
				_ = s.source.Ready(s.Context())
				s.source.Counts()
				if i == 0 {
					s.source.Reload(s.Context())
				}
			}
		})
	}
	for i := range 10 {
		s.wiki.Write(Page{ID: 7, Title: "Open", Forms: []string{"f", "g", "h"}[:1+i%3]})
	}
	wg.Wait()
}
