package pagestest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
)

// Page is a page as it is written where a source reads it.
type Page struct {
	ID    int64 // 0 for a new page
	Title string
	Forms []string // the ids, in page order
	// View and Edit are names of users, or "@" and the name of a group; nil is
	// every user. Who may edit the page may view it.
	View, Edit []string
}

// Wiki is what a source reads its pages from.
type Wiki interface {
	// Write writes a page and returns its id.
	Write(Page) int64
	Remove(id int64)
	// Away makes the wiki unreachable, or reachable again.
	Away(away bool)
	// User returns somebody who has an account: ann, bob, or sara in the group staff.
	User(name string) pages.User
}

// Run checks a source against the contract of pages.Source. Open returns a
// source over an empty wiki.
func Run(t *testing.T, open func(t *testing.T) (pages.Source, Wiki)) {
	for name, test := range map[string]func(*suite){
		"Pages": testPages, "List": testList, "Rights": testRights, "Reload": testReload,
		"HandedOutPagesStay": testHandedOutPagesStay, "Run": testRun, "Away": testAway, "Keeps": testKeeps, "Concurrent": testConcurrent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &suite{T: t}
			s.source, s.Wiki = open(t)
			s.ann, s.bob, s.sara = s.User("ann"), s.User("bob"), s.User("sara")
			s.open = s.Write(Page{Title: "Open", Forms: []string{"feedback", "poll"}})
			s.plain = s.Write(Page{Title: "Plain"})
			s.closed = s.Write(Page{Title: "Closed", Forms: []string{"poll"}, View: []string{"ann", "@staff"}, Edit: []string{"ann"}})
			s.source.Reload(t.Context())
			for _, id := range []int64{s.open, s.plain, s.closed} {
				s.page(id) // a live wiki lists what was asked for
			}
			test(s)
		})
	}
}

type suite struct {
	*testing.T
	Wiki
	source              pages.Source
	ann, bob, sara      pages.User
	open, plain, closed int64 // ids
}

// page returns a page as ann may use it.
func (s *suite) page(id int64) pages.View {
	s.Helper()
	page, err := s.source.Page(s.Context(), s.ann, id)
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
		s.open:  {Title: "Open", Forms: []string{"feedback", "poll"}},
		s.plain: {Title: "Plain"}, s.closed: {Title: "Closed", Forms: []string{"poll"}},
	} {
		page := s.page(id)
		if page.ID != id || page.Title != want.Title || !slices.Equal(formIDs(page.Page), want.Forms) {
			s.Errorf("page %d is %d %q with forms %v, want %+v", id, page.ID, page.Title, formIDs(page.Page), want)
		}
		for _, f := range page.Forms {
			if f.PageID != id || page.Form(f.ID) != f {
				s.Errorf("form %s of page %d says page %d", f.ID, id, f.PageID)
			}
		}
		checkText(s, page.Page)
		if page.Form("nope") != nil {
			s.Errorf("page %d has a form that it has not", id)
		}
	}
	for _, id := range []int64{0, -7, 1 << 62} {
		if page, err := s.source.Page(s.Context(), s.ann, id); !errors.Is(err, pages.ErrNotFound) || page.Page != nil {
			s.Errorf("page %d: got %v, %v; want %v", id, page, err, pages.ErrNotFound)
		}
	}
	if err := s.source.Ready(s.Context()); err != nil {
		s.Errorf("Ready: %v", err)
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
func (s *suite) list(user pages.User) []int64 {
	s.Helper()
	list, err := s.source.List(s.Context(), user)
	if err != nil {
		s.Fatal(err)
	}
	var ids []int64
	for _, page := range list {
		ids = append(ids, page.ID)
		same, err := s.source.Page(s.Context(), user, page.ID)
		if err != nil || same.Title != page.Title || !slices.Equal(formIDs(same.Page), formIDs(page.Page)) || same.Rights != page.Rights {
			s.Errorf("page %d is listed as %+v, and is %+v, %v", page.ID, page, same, err)
		}
	}
	clear(list) // the next caller must not notice
	return ids
}

func testList(s *suite) {
	for range 2 {
		if got, want := s.list(s.ann), []int64{s.open, s.closed}; !slices.Equal(got, want) {
			s.Errorf("ann's list is %v, want %v", got, want)
		}
		if got, want := s.list(s.bob), []int64{s.open}; !slices.Equal(got, want) {
			s.Errorf("bob's list is %v, want %v", got, want)
		}
	}
}

func testRights(s *suite) {
	none, view, all := pages.Rights{}, pages.Rights{View: true}, pages.Rights{View: true, SeeAll: true, Edit: true}
	ann, bob, staff := []string{"ann"}, []string{"bob"}, []string{"@staff"}
	for i, tt := range []struct {
		page           Page
		ann, bob, sara pages.Rights // sara is in the group staff
	}{
		{Page{}, all, all, all},
		{Page{Edit: ann}, all, view, view},
		{Page{View: ann}, all, none, none},
		{Page{View: staff}, none, none, all},
		{Page{View: staff, Edit: ann}, all, none, view},
		{Page{View: bob, Edit: staff}, none, view, all},
		{Page{View: []string{}}, none, none, none},
		{Page{Edit: []string{}}, view, view, view},
	} {
		tt.page.Title = fmt.Sprintf("Rights %d", i)
		id := s.Write(tt.page)
		s.source.Reload(s.Context())
		for _, is := range []struct {
			user pages.User
			want pages.Rights
		}{{s.ann, tt.ann}, {s.bob, tt.bob}, {s.sara, tt.sara}} {
			page, err := s.source.Page(s.Context(), is.user, id)
			if err != nil && !errors.Is(err, pages.ErrNotFound) {
				s.Fatal(err)
			}
			page.Rights.Save = false // Directories alone can be written
			if page.Rights != is.want || (err == nil) != is.want.View {
				s.Errorf("%+v: rights of %s are %+v, %v; want %+v", tt.page, is.user.Name, page.Rights, err, is.want)
			}
		}
	}
}

func testReload(s *suite) {
	s.Write(Page{ID: s.open, Title: "Changed", Forms: []string{"other"}})
	added := s.Write(Page{Title: "New", Forms: []string{"new"}})
	s.Remove(s.closed)
	s.source.Reload(s.Context())
	if page := s.page(s.open); page.Title != "Changed" || !slices.Equal(formIDs(page.Page), []string{"other"}) {
		s.Errorf("after the edit: %q %v", page.Title, formIDs(page.Page))
	}
	s.page(added)
	if _, err := s.source.Page(s.Context(), s.ann, s.closed); !errors.Is(err, pages.ErrNotFound) {
		s.Errorf("removed: %v", err)
	}
	if got, want := s.list(s.ann), []int64{s.open, added}; !slices.Equal(got, want) {
		s.Errorf("listed are %v, want %v", got, want)
	}
}

// A request goes on with the page that it began with.
func testHandedOutPagesStay(s *suite) {
	page := s.page(s.open)
	s.Write(Page{ID: s.open, Title: "Changed"})
	s.source.Reload(s.Context())
	if page.Title != "Open" || !slices.Equal(formIDs(page.Page), []string{"feedback", "poll"}) {
		s.Errorf("a page that was handed out is now %q %v", page.Title, formIDs(page.Page))
	}
	checkText(s, page.Page)
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

// patience is for what should take seconds, on a machine that is busy.
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
	for _, title := range []string{"First", "Second"} {
		s.Write(Page{ID: s.open, Title: title})
		s.eventually(title+" edit", func() bool { return s.page(s.open).Title == title })
	}
	s.Remove(s.closed)
	s.eventually("removed", func() bool {
		_, err := s.source.Page(s.Context(), s.ann, s.closed)
		return errors.Is(err, pages.ErrNotFound)
	})
}

func testAway(s *suite) {
	s.run()
	s.Away(true)
	s.eventually("Ready notices", func() bool { return errors.Is(s.source.Ready(s.Context()), pages.ErrUnavailable) })
	if _, err := s.source.Page(s.Context(), s.ann, s.open); err != nil && !errors.Is(err, pages.ErrUnavailable) {
		s.Errorf("Page: %v", err) // not ErrNotFound: it may be there
	}
	if list, err := s.source.List(s.Context(), s.ann); (err != nil && !errors.Is(err, pages.ErrUnavailable)) || (err == nil && len(list) != 2) {
		s.Errorf("List: %d pages, %v", len(list), err)
	}
	s.Away(false)
	s.eventually("Ready notices the return", func() bool { return s.source.Ready(s.Context()) == nil })
	s.page(s.open)
}

// testKeeps: forms are told once after their page was read, and again if that has failed.
func testKeeps(s *suite) {
	check := func(result error, want ...string) {
		s.Helper()
		var told []string
		err := s.source.StoreKeeps(func(pageID int64, formID string, _ forms.Period) error {
			told = append(told, fmt.Sprint(pageID, formID))
			return result
		})
		slices.Sort(told)
		if result == nil && !slices.Equal(told, want) || !errors.Is(err, result) || result != nil && len(told) != 1 {
			s.Errorf("told %v, %v; want %v, %v", told, err, want, result)
		}
	}
	all := []string{fmt.Sprint(s.open, "feedback"), fmt.Sprint(s.open, "poll"), fmt.Sprint(s.closed, "poll")}
	slices.Sort(all)
	check(errors.New("broken"))
	check(nil, all...)
	check(nil)
	s.Write(Page{ID: s.open, Title: "Open", Forms: []string{"new", "poll"}})
	s.source.Reload(s.Context())
	s.page(s.open)
	s.source.Reload(s.Context())
	s.page(s.open)
	check(nil, fmt.Sprint(s.open, "new"), fmt.Sprint(s.open, "poll"))
}

// The race detector does the checking.
func testConcurrent(s *suite) {
	s.run()
	var wg sync.WaitGroup
	for i := range int64(4) {
		wg.Go(func() {
			for range 10 {
				_, _ = s.source.Page(s.Context(), s.ann, s.open)
				_, _ = s.source.List(s.Context(), s.bob)
				_ = s.source.Ready(s.Context())
				if i == 0 {
					s.source.Reload(s.Context())
				}
			}
		})
	}
	for i := range 10 {
		s.Write(Page{ID: s.open, Title: "Open", Forms: []string{"f", "g", "h"}[:1+i%3]})
	}
	wg.Wait()
}
