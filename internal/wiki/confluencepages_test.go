package wiki_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki"
	"github.com/formulary/formulary/internal/wiki/confluencetest"
)

func (s *site) pages(caller wiki.Caller, ids ...int64) map[int64]wiki.Page {
	s.Helper()
	pages, err := s.Pages(s.Context(), caller, ids...)
	if err != nil {
		s.Fatalf("Pages: %v", err)
	}
	return pages
}

func TestConfluenceRights(t *testing.T) {
	eachConfluence(t, func(s *site) {
		users := map[string]wiki.Caller{"ann": s.signIn("ann"), "bob": s.signIn("bob"), "sara": s.signIn("sara")}
		if !s.cloud {
			session, err := s.Login(s.Context(), wiki.Credential{Token: "token-of-ann"}, from)
			testkit.Must(s.T, err)
			users["ann, by token"] = wiki.Caller{Session: session}
		}
		for name, test := range map[string]struct {
			page confluencetest.Page
			want map[string]string
		}{
			"for all":      {confluencetest.Page{}, map[string]string{"ann": "edit", "bob": "edit", "sara": "edit"}},
			"for one":      {confluencetest.Page{View: []string{"ann"}}, map[string]string{"ann": "edit"}},
			"for editors":  {confluencetest.Page{Edit: []string{"bob"}}, map[string]string{"ann": "view", "bob": "edit", "sara": "view"}},
			"for a group":  {confluencetest.Page{View: []string{"ann", "@staff"}, Edit: []string{"ann"}}, map[string]string{"ann": "edit", "sara": "view"}},
			"editors view": {confluencetest.Page{View: []string{"ann"}, Edit: []string{"@staff"}}, map[string]string{"ann": "view", "sara": "edit"}},
			"for nobody":   {confluencetest.Page{View: []string{}, Edit: []string{}}, nil},
			"blog post":    {confluencetest.Page{Type: "blogpost"}, nil},
			"comment":      {confluencetest.Page{Type: "comment"}, nil},
			"attachment":   {confluencetest.Page{Type: "attachment"}, nil},
			"draft":        {confluencetest.Page{Status: "draft"}, nil},
			"trash":        {confluencetest.Page{Status: "trashed"}, nil},
			"archive":      {confluencetest.Page{Status: "archived"}, nil},
		} {
			test.page.Title = name
			id := s.Write(test.page)
			for user, caller := range users {
				right := test.want[strings.TrimSuffix(user, ", by token")]
				want := map[int64]wiki.Page{}
				if right != "" {
					want[id] = wiki.Page{ID: id, Title: name, Version: 1, Edit: right == "edit", HasText: true}
				}
				if diff := cmp.Diff(want, s.pages(caller, id)); diff != "" {
					s.Errorf("page %s, user %s: %s", name, user, diff)
				}
			}
		}
	})
}

func TestConfluencePages(t *testing.T) {
	eachConfluence(t, func(s *site) {
		ann := s.signIn("ann")
		first, second := s.Write(confluencetest.Page{Title: "First"}), s.Write(confluencetest.Page{Title: "Zweite & <b>"})
		s.Write(confluencetest.Page{ID: first, Title: "First again"})
		before := len(s.Calls(""))
		got := s.pages(ann, 0, -7, first, second)
		want := map[int64]wiki.Page{
			first:  {ID: first, Title: "First again", Version: 2, Edit: true, HasText: true},
			second: {ID: second, Title: "Zweite & <b>", Version: 1, Edit: true, HasText: true},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			s.Error(diff)
		}
		calls := 2 // one for each page
		if s.cloud {
			calls = 5 // rights, too, and the user
		}
		if n := len(s.Calls("")) - before; n != calls {
			s.Errorf("there were %d calls, want %d", n, calls)
		}
		if got := s.pages(ann, 1<<62, 424242); len(got) != 0 {
			s.Errorf("pages that are not there: %v", got)
		}
		s.Remove(first)
		if got := s.pages(ann, first, second); len(got) != 1 {
			s.Errorf("a page that has been removed: %v", got)
		}
		if got := s.pages(ann); len(got) != 0 {
			s.Errorf("no pages: %v", got)
		}
	})
}

// A call of Pages leaves most calls to others.
func TestConfluencePagesAtATime(t *testing.T) {
	eachConfluence(t, func(s *site) {
		ann := s.signIn("ann")
		var ids []int64
		for i := range 12 {
			ids = append(ids, s.Write(confluencetest.Page{Title: fmt.Sprint("Page ", i)}))
		}
		var now, most atomic.Int64
		arrived, leave := make(chan bool), make(chan bool)
		go func() {
			for range 3 {
				for range 4 {
					<-arrived
				}
				for range 4 {
					leave <- true
				}
			}
			close(leave)
			for range arrived { // the operations of Cloud
			}
		}()
		s.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			arrived <- true
			<-leave
			now.Add(-1)
			next.ServeHTTP(w, r)
		})
		if got := s.pages(ann, ids...); len(got) != len(ids) {
			s.Errorf("got %d pages", len(got))
		}
		if most.Load() != 4 {
			s.Errorf("%d calls at a time, want 4", most.Load())
		}
	})
}

// oddPages are answers about a page that can't be used. ID is the page's.
var oddPages = map[string]string{
	"another page":        `{"id":"1","type":"page","status":"current","title":"ann's","version":{"number":1},"body":{"storage":{"value":""}}}`,
	"an id that is none":  `{"id":"x","type":"page","status":"current","title":"ann's","version":{"number":1},"body":{"storage":{"value":""}}}`,
	"a number as id":      `{"id":ID,"type":"page","status":"current","title":"ann's","version":{"number":1},"body":{"storage":{"value":""}}}`,
	"no status":           `{"id":"ID","type":"page","title":"ann's","version":{"number":1},"body":{"storage":{"value":""}}}`,
	"no title":            `{"id":"ID","type":"page","status":"current","version":{"number":1},"body":{"storage":{"value":""}}}`,
	"no version":          `{"id":"ID","type":"page","status":"current","title":"ann's","body":{"storage":{"value":""}}}`,
	"version zero":        `{"id":"ID","type":"page","status":"current","title":"ann's","version":{"number":0},"body":{"storage":{"value":""}}}`,
	"a version in words":  `{"id":"ID","type":"page","status":"current","title":"ann's","version":{"number":"one"},"body":{"storage":{"value":""}}}`,
	"operations in words": `{"id":"ID","type":"page","status":"current","title":"ann's","version":{"number":1},"operations":"all","body":{"storage":{"value":""}}}`,
}

func TestConfluenceOddPages(t *testing.T) {
	odd := map[string]func(id string) confluencetest.Fault{
		"unexpected status": func(string) confluencetest.Fault { return confluencetest.JSON(http.StatusGone, `{}`) },
		"throttled":         func(string) confluencetest.Fault { return confluencetest.JSON(http.StatusTooManyRequests, `{}`) },
	}
	for name, fault := range oddAnswers {
		odd[name] = func(string) confluencetest.Fault { return fault }
	}
	for name, text := range oddPages {
		odd[name] = func(id string) confluencetest.Fault {
			return confluencetest.JSON(http.StatusOK, strings.ReplaceAll(text, "ID", id))
		}
	}
	for name, fault := range odd {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachConfluence(t, func(s *site) {
				ann, good, bad := s.signIn("ann"), s.Write(confluencetest.Page{Title: "Good"}), s.Write(confluencetest.Page{Title: "Bad"})
				id := fmt.Sprint(bad)
				s.Fail(confluencetest.On("/"+id, fault(id)))
				pages, err := s.Pages(s.Context(), ann, good, bad)
				s.wantUnavailable(err)
				text, err := s.Text(s.Context(), ann, bad)
				s.wantUnavailable(err)
				if pages != nil || text.Source != nil || ann.Ended() {
					s.Errorf("got %v, %v, ended %v", pages, text, ann.Ended())
				}
			})
		})
	}
}

func TestConfluenceMissingRights(t *testing.T) {
	operations := func(s *site, id int64, text string) confluencetest.Fault {
		if s.cloud {
			return confluencetest.On("/operations", confluencetest.JSON(http.StatusOK, "{"+text+"}"))
		}
		page := fmt.Sprintf(`{"id":"%d","type":"page","status":"current","title":"A","version":{"number":1}`, id)
		if text != "" {
			page += "," + text
		}
		return confluencetest.On("/content", confluencetest.JSON(http.StatusOK, page+"}"))
	}
	for name, text := range map[string]string{
		"no list": "", "null": `"operations":null`, "empty": `"operations":[]`,
		"of another type": `"operations":[{"operation":"update","targetType":"blogpost"},{"operation":"update","targetType":"comment"}]`,
		"of no type":      `"operations":[{"operation":"update"}]`,
		"other":           `"operations":[{"operation":"read","targetType":"page"},{"operation":"Update","targetType":"page"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			eachConfluence(t, func(s *site) {
				ann, id := s.signIn("ann"), s.Write(confluencetest.Page{Title: "A"})
				s.Fail(operations(s, id, text))
				if page, found := s.pages(ann, id)[id]; !found || page.Edit {
					s.Errorf("got %+v, %v", page, found)
				}
			})
		})
	}
	t.Run("no type", func(t *testing.T) {
		s := newSite(t, false)
		ann, id := s.signIn("ann"), s.Write(confluencetest.Page{Title: "A"})
		s.Fail(confluencetest.On("/content", confluencetest.JSON(http.StatusOK, fmt.Sprintf(`{"id":"%d","status":"current","title":"A","version":{"number":1}}`, id))))
		_, err := s.Pages(t.Context(), ann, id)
		s.wantUnavailable(err)
	})
	t.Run("forbidden in cloud", func(t *testing.T) {
		s := newSite(t, true)
		ann, id := s.signIn("ann"), s.Write(confluencetest.Page{Title: "A"})
		s.Fail(confluencetest.On("/operations", confluencetest.JSON(http.StatusForbidden, `{"errors":[]}`)))
		if pages := s.pages(ann, id); len(pages) != 0 {
			s.Errorf("got %v", pages)
		}
	})
}

// Rights and texts are those of the caller, or none.
func TestConfluenceAnswersForOthers(t *testing.T) {
	for name, test := range map[string]struct {
		fault   confluencetest.Fault
		change  func(s *site)
		refused bool // else the wiki counts as unavailable
	}{
		"anonymous":     {fault: confluencetest.As(""), refused: true},
		"bob":           {fault: confluencetest.As("bob"), refused: true},
		"CAPTCHA":       {fault: confluencetest.Captcha, refused: true},
		"passwords off": {fault: confluencetest.PasswordsOff, refused: true},
		"unauthorized":  {fault: confluencetest.HTML(http.StatusUnauthorized, "secret"), refused: true},
		"removed":       {change: func(s *site) { s.RemoveUser("ann") }, refused: true},
		"changed password": {change: func(s *site) {
			s.AddUser(confluencetest.User{Name: "ann", Password: "new", Token: "new", Email: "ann@example.org"})
		}, refused: true},
		"odd user": {fault: confluencetest.On("/user/current", confluencetest.Half)},
	} {
		for _, private := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", private ", private), func(t *testing.T) {
				t.Parallel()
				eachConfluence(t, func(s *site) {
					s.Unmarked(true)
					s.Private(private)
					ann, id := s.signIn("ann"), s.Write(confluencetest.Page{Title: "Open"})
					closed := s.Write(confluencetest.Page{Title: "Closed", View: []string{"sara"}})
					s.Fail(test.fault)
					if test.change != nil {
						test.change(s)
					}
					s.checkNone(ann, id, test.refused)
					if !test.refused {
						return
					}
					before := len(s.Calls(""))
					s.checkNone(ann, closed, true)
					if !ann.Ended() || len(s.Calls("")) != before {
						s.Error("the session has not ended")
					}
				})
			})
		}
	}
}

// checkNone checks that a caller gets neither rights nor texts.
func (s *site) checkNone(caller wiki.Caller, id int64, refused bool) {
	s.Helper()
	_, err := s.Pages(s.Context(), caller, id)
	_, textErr := s.Text(s.Context(), caller, id)
	allErr := s.All(s.Context(), caller, func(wiki.Page, wiki.Text, int) error {
		s.Error("All has a page")
		return nil
	})
	for _, err := range []error{err, textErr, allErr} {
		if !refused {
			s.wantUnavailable(err)
		} else if !errors.Is(err, wiki.ErrRefused) {
			s.Errorf("got %v, want %v", err, wiki.ErrRefused)
		}
	}
}

// Data Center says in a header whom an answer is for.
func TestConfluenceMarks(t *testing.T) {
	t.Parallel()
	onPages := func(name string) confluencetest.Fault { return confluencetest.On("/content", confluencetest.As(name)) }
	for name, test := range map[string]struct {
		view    []string
		fault   confluencetest.Fault
		refused bool
	}{
		"expired":                     {nil, confluencetest.As(""), true},
		"for anonymous users":         {nil, onPages(""), false},
		"for bob":                     {nil, onPages("bob"), false},
		"for bob, who may not see it": {[]string{"ann"}, onPages("bob"), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, false)
			ann, id := s.signIn("ann"), s.Write(confluencetest.Page{Title: "A", View: test.view})
			s.Fail(test.fault)
			s.checkNone(ann, id, test.refused)
		})
	}
	for _, name := range []string{"Jürgen Groß", "anonymous", "a+b%20c"} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, false)
			s.AddUser(confluencetest.User{Name: name, Password: password})
			caller, id := s.signIn(name), s.Write(confluencetest.Page{Title: "Open", View: []string{name}})
			if pages := s.pages(caller, id); len(pages) != 1 {
				t.Errorf("got %v", pages)
			}
			s.Fail(confluencetest.As(""))
			s.checkNone(caller, s.Write(confluencetest.Page{Title: "For all"}), true)
		})
	}
	t.Run("without", func(t *testing.T) {
		s := newSite(t, false)
		ann, id, other := s.signIn("ann"), s.Write(confluencetest.Page{Title: "Open"}), s.Write(confluencetest.Page{Title: "Other"})
		s.Unmarked(true)
		before := len(s.Calls(""))
		if pages := s.pages(ann, id, other, 4711); len(pages) != 2 || len(s.Calls(""))-before != 4 {
			t.Errorf("got %v with the calls %v", pages, s.Calls("")[before:])
		}
	})
}

func TestConfluenceText(t *testing.T) {
	eachConfluence(t, func(s *site) {
		ann := s.signIn("ann")
		const text = "<p>Größe &amp; <ac:structured-macro ac:name=\"code\"/>\n</p>"
		id := s.Write(confluencetest.Page{Title: "Open", Text: text})
		check := func(want wiki.Text) {
			s.Helper()
			got, err := s.Text(s.Context(), ann, id)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				s.Error(diff, err)
			}
		}
		check(wiki.Text{Version: 1, Source: []byte(text)})
		s.Write(confluencetest.Page{ID: id, Title: "Open"})
		check(wiki.Text{Version: 2, Source: []byte{}})
		for name, page := range map[string]confluencetest.Page{
			"not readable": {View: []string{"bob"}}, "blog post": {Type: "blogpost"}, "trash": {Status: "trashed"},
		} {
			page.Title = name
			if _, err := s.Text(s.Context(), ann, s.Write(page)); !errors.Is(err, wiki.ErrNoText) {
				s.Errorf("%s: %v", name, err)
			}
		}
		for _, id := range []int64{0, -1, 4711} {
			if _, err := s.Text(s.Context(), ann, id); !errors.Is(err, wiki.ErrNoText) {
				s.Errorf("page %d: %v", id, err)
			}
		}
		for _, body := range []string{`{}`, `{"storage":null}`, `null`} {
			s.Fail(confluencetest.On(fmt.Sprint("/", id), confluencetest.JSON(http.StatusOK,
				fmt.Sprintf(`{"id":"%d","type":"page","status":"current","title":"A","version":{"number":1},"body":%s}`, id, body))))
			_, err := s.Text(s.Context(), ann, id)
			s.wantUnavailable(err)
		}
	})
}

func TestConfluenceAll(t *testing.T) {
	eachConfluence(t, func(s *site) {
		s.Batch(2)
		ann := s.signIn("ann")
		want := map[int64]string{}
		for i := range 7 {
			text := fmt.Sprintf("<p>%d</p>", i)
			want[s.Write(confluencetest.Page{Title: fmt.Sprint("Page ", i), Text: text})] = text
			s.Write(confluencetest.Page{Title: "Closed", View: []string{"bob"}})
			s.Write(confluencetest.Page{Title: "Post", Type: "blogpost"})
		}
		got := map[int64]string{}
		err := s.All(s.Context(), ann, func(page wiki.Page, text wiki.Text, total int) error {
			if got[page.ID] != "" || total != 0 || page.Version != 1 || text.Version != 1 || !strings.HasPrefix(page.Title, "Page") || !page.HasText {
				s.Errorf("got %+v, %v of %d", page, text, total)
			}
			got[page.ID] = string(text.Source)
			return nil
		})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			s.Error(diff, err)
		}
		stop, n := errors.New("stop"), 0
		err = s.All(s.Context(), ann, func(wiki.Page, wiki.Text, int) error {
			n++
			return stop
		})
		if !errors.Is(err, stop) || n != 1 {
			s.Errorf("after %d pages: %v", n, err)
		}
	})
}

func TestConfluenceOddLists(t *testing.T) {
	const one = `{"id":"%d","type":"page","status":"current","title":"A","version":{"number":1},"body":{"storage":{"value":""}}}`
	list := func(pages, next string) confluencetest.Fault {
		var n atomic.Int64
		return func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
			text := fmt.Sprintf(`{"results":[%s],"_links":{"next":"%s"}}`, pages, next)
			confluencetest.JSON(http.StatusOK, strings.ReplaceAll(text, "%d", fmt.Sprint(n.Add(1))))(w, r, inner)
		}
	}
	const again = "/wiki?start=5&cursor=5"
	for name, test := range map[string]struct {
		fault        confluencetest.Fault
		pages, calls int
	}{
		"no list":      {confluencetest.JSON(http.StatusOK, `{"_links":{}}`), 0, 1},
		"not found":    {confluencetest.JSON(http.StatusNotFound, `{}`), 0, 1},
		"half a page":  {list(`{"id":"1","type":"page","status":"current","title":"A","version":{"number":1}}`, ""), 0, 1},
		"begins again": {list(strings.Replace(one, "%d", "5", 1), again), 1, 2},
		"no position":  {list(one, "/wiki?limit=25"), 1, 1},
		"no address":   {list(one, "%%%"), 1, 1},
		"endless":      {list("", again+"%d"), 0, 4000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, false)
			ann := s.signIn("ann")
			s.Fail(confluencetest.On("/content", confluencetest.With("X-AUSERNAME", "ann", test.fault)))
			n := 0
			err := s.All(t.Context(), ann, func(wiki.Page, wiki.Text, int) error {
				n++
				return nil
			})
			s.wantUnavailable(err)
			if calls := len(s.Calls("/rest/api/content")); n != test.pages || calls != test.calls {
				t.Errorf("%d pages were visited with %d calls, want %d with %d", n, calls, test.pages, test.calls)
			}
		})
	}
	t.Run("another host", func(t *testing.T) {
		eachConfluence(t, func(s *site) {
			ann := s.signIn("ann")
			var n atomic.Int64
			s.Fail(confluencetest.On("/", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/user/current"):
					next.ServeHTTP(w, r)
				case n.Add(1) == 1:
					list(one, "https://evil.example.org/x?limit=9999&start=25&cursor=25")(w, r, next)
				default: // the same page, which has moved in the list
					list(one, "")(w, r, next)
				}
			}))
			pages := 0
			err := s.All(s.Context(), ann, func(wiki.Page, wiki.Text, int) error {
				pages++
				return nil
			})
			if err != nil || pages != 1 {
				s.Fatalf("%d pages were visited: %v", pages, err)
			}
			var second string
			for _, call := range s.Calls("") {
				if strings.Contains(call.Query, "25&") || strings.HasSuffix(call.Query, "=25") {
					second = call.Query
				}
			}
			if n.Load() != 2 || !strings.Contains(second, "limit=25") {
				s.Errorf("%d lists, the second with %q", n.Load(), second)
			}
		})
	})
}
