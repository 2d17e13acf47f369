package service

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/pages/pagestest"
	"github.com/formulary/formulary/internal/testkit"
)

// titles asks for the list of pages and puts it into words.
func titles(t *testing.T, s *Service, who auth.Identity) []string {
	t.Helper()
	list, err := s.Pages(t.Context(), who)
	testkit.Must(t, err)
	var words []string
	for _, p := range list {
		words = append(words, fmt.Sprintf("%d %s %d", p.ID, p.Title, len(p.Forms)))
	}
	return words
}

func TestPagesThatTheCallerMayView(t *testing.T) {
	source := &pagestest.Memory{}
	s := New(Options{Pages: source})
	if got := titles(t, s, owner); got != nil {
		t.Errorf("no pages: got %v", got)
	}
	writers := func(u pages.User) pages.Rights { return pages.Rights{View: u.InGroup("writers")} }
	nobody := func(pages.User) pages.Rights { return pages.Rights{} }
	for _, p := range []struct {
		page   pages.Page
		rights func(pages.User) pages.Rights
	}{
		{pages.Page{ID: 1, Title: "beta", Forms: []*forms.Form{{ID: "f"}, {ID: "g"}}}, pagestest.Everything},
		{pages.Page{ID: 2, Title: "Alpha", Forms: []*forms.Form{{ID: "f"}}}, pagestest.Everything},
		{pages.Page{ID: 3, Title: "Beta", Forms: []*forms.Form{{ID: "f"}}}, writers},
		{pages.Page{ID: 4, Title: "alpha", Forms: []*forms.Form{{ID: "f"}}}, pagestest.Everything},
		{pages.Page{ID: 5, Title: "Secret", Forms: []*forms.Form{{ID: "f"}}}, nobody},
		{pages.Page{ID: 6, Title: "A page without forms"}, pagestest.Everything},
	} {
		source.Put(&p.page, p.rights)
	}
	for who, want := range map[string][]string{
		"owner":  {"2 Alpha 1", "4 alpha 1", "1 beta 2"},
		"editor": {"2 Alpha 1", "4 alpha 1", "1 beta 2", "3 Beta 1"},
	} {
		got := titles(t, s, map[string]auth.Identity{"owner": owner, "editor": editor}[who])
		testkit.Diff(t, who, got, want)
	}
}

// inGerman adds a language to a form.
func inGerman(f *forms.Form, title string) *forms.Form {
	f.Lang = "en"
	return forms.JoinLanguages([]*forms.Form{f, {ID: f.ID, PageID: f.PageID, Fields: f.Fields, Lang: "de", Title: title}})
}

func TestSearchForms(t *testing.T) {
	source := &pagestest.Memory{}
	for _, p := range []pages.Page{
		{ID: 1, Title: "Annual Survey", Forms: []*forms.Form{{ID: "feedback"}, {ID: "Contact-2"}}},
		{ID: 2, Title: "ΣΊΣΥΦΟΣ and Öl", Forms: []*forms.Form{{ID: "f"}}},
		{ID: 3, Title: "Weekly survey", Forms: []*forms.Form{{ID: "feed"}, inGerman(&forms.Form{ID: "back", Title: "Lunch"}, "Mittag")}},
	} {
		source.Put(&p, pagestest.Everything)
	}
	s := New(Options{Pages: source})
	list, err := s.Pages(t.Context(), owner)
	testkit.Must(t, err)
	all := []string{"1 feedback", "1 Contact-2", "3 feed", "3 back", "2 f"}
	for text, want := range map[string][]string{
		"":                all,
		" \t\n":           all,
		"SURVEY":          all[:4],
		"survey annual":   all[:2],
		"vey WEEK":        all[2:4],
		"survey contact":  all[1:2],
		"contact-2":       all[1:2],
		"feedback":        all[:1],
		"feed back":       all[:1],
		"lunch":           all[3:4],
		"mittag weekly":   all[3:4],
		"surveyfeed":      nil,
		"survey nothing":  nil,
		"σίσυφοσ":         all[4:],
		"öl\u00a0ΣΊΣΥΦΟς": all[4:],
		"\xff":            nil,
		"%":               nil,
		longest("survey"): all[:4],
	} {
		found, err := s.Search(owner, list, text)
		testkit.Must(t, err)
		var ids []string
		for _, access := range found {
			ids = append(ids, fmt.Sprint(access.page.ID, " ", access.Form.ID))
		}
		testkit.Diff(t, text, ids, want)
	}
	_, err = s.Search(owner, list, longest("survey")+" ")
	(&world{t: t}).wants("a longer text", err, `invalid map[] ["the text to search for is longer than 200 bytes"]`)
}

// longest fills a text up to the length of the longest to search for.
func longest(text string) string { return text + strings.Repeat(" ", MaxSearch-len(text)) }

// What is wrong on a page is told to its editors alone; who reads the answers, to all.
func TestWhatAPageSaysBesideItsForms(t *testing.T) {
	source, w := &pagestest.Memory{}, newWorld(t)
	s := New(Options{Pages: source, Store: w.store})
	source.Put(&pages.Page{
		ID: 1, Lang: "de", Readers: &markup.Principals{Users: []string{"ann"}}, Diagnostics: []markup.Diagnostic{{Line: 7}}, Forms: []*forms.Form{{ID: "x", PageID: 1}},
	}, func(u pages.User) pages.Rights {
		return pages.Rights{View: true, SeeAll: true, Edit: u.Name == editor.Name}
	})
	for who, lines := range map[*auth.Identity]int{&editor: 1, &viewer: 0} {
		page, err := s.Page(t.Context(), *who, 1)
		w.wants(who.Name, err, "ok")
		form, err := s.Form(t.Context(), *who, 1, "x")
		w.wants(who.Name, err, "ok")
		if page.Lang != "de" || form.Lang() != "de" || form.Readers().Users[0] != "ann" {
			t.Errorf("%s: page %+v, form %+v", who.Name, page, form)
		}
		if len(page.Diagnostics) != lines || len(form.Diagnostics()) != lines {
			t.Errorf("%s: %v and %v, want %d", who.Name, page.Diagnostics, form.Diagnostics(), lines)
		}
	}
}

// A page and its forms are of one version, with the rights of the caller.
func TestPageWithItsForms(t *testing.T) {
	source, w := &pagestest.Memory{}, newWorld(t)
	s := New(Options{Pages: source, Store: w.store})
	text := &markup.Text{Source: []byte("text")}
	source.Put(&pages.Page{ID: 1, Title: "Title", Text: text, Forms: []*forms.Form{{ID: "x"}, {ID: "y", Anonymous: true}}}, func(u pages.User) pages.Rights {
		return pages.Rights{View: u.Name != outsider.Name, SeeAll: u.Name == owner.Name}
	})
	for who, seesAll := range map[*auth.Identity]bool{&owner: true, &viewer: false} {
		got, err := s.Page(t.Context(), *who, 1)
		w.wants(who.Name, err, "ok")
		if got.ID != 1 || got.Title != "Title" || got.Text != text || len(got.Forms) != 2 {
			t.Fatalf("%s: got %+v", who.Name, got)
		}
		for i, id := range []string{"x", "y"} {
			if a := got.Forms[i]; a.Form.ID != id || a.PageTitle != "Title" || a.Rights.SeeAll != seesAll || a.Rights.Edit || a.anonymous != a.Form.Anonymous {
				t.Errorf("%s: form %s is %+v", who.Name, id, a)
			}
		}
	}
	for what, id := range map[string]int64{"a page that the caller may not view": 1, "no page": 2} {
		got, err := s.Page(t.Context(), outsider, id)
		w.wants(what, err, "not found")
		if got.Title != "" || got.Text != nil || got.Forms != nil {
			t.Errorf("%s: got %+v", what, got)
		}
	}
	source.Fail(pages.ErrUnavailable)
	_, err := s.Page(t.Context(), owner, 1)
	w.wants("the source is away", err, "unavailable")
}
