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

func TestPagesThatTheCallerMayView(t *testing.T) {
	source := &pagestest.Memory{}
	s := New(Options{Pages: source})
	wants := func(who auth.Identity, want ...string) {
		t.Helper()
		list, err := s.Pages(t.Context(), who)
		testkit.Must(t, err)
		var titles []string
		for _, p := range list {
			titles = append(titles, fmt.Sprintf("%d %s %d", p.ID, p.Title, len(p.Forms)))
		}
		testkit.Diff(t, who.Name, titles, want)
	}
	wants(owner)
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
	wants(owner, "1 beta 2", "2 Alpha 1", "4 alpha 1")
	wants(editor, "1 beta 2", "2 Alpha 1", "3 Beta 1", "4 alpha 1")
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
		{ID: 4, Title: "ΣΊΣΥΦΟΣ and Öl", Forms: []*forms.Form{{ID: "f"}}},
		{ID: 3, Title: "Weekly survey", Forms: []*forms.Form{{ID: "feed"}, inGerman(&forms.Form{ID: "back", Title: "Lunch"}, "Mittag")}},
	} {
		source.Put(&p, pagestest.Everything)
	}
	s := New(Options{Pages: source})
	list, err := s.Pages(t.Context(), owner)
	testkit.Must(t, err)
	all := []string{"1 feedback", "1 Contact-2", "3 feed", "3 back", "4 f"}
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

// A page and its forms are of one version, with the rights of the caller. Mistakes on the page are told to its
// editors alone. Everybody is told who reads the answers.
func TestPageWithItsForms(t *testing.T) {
	source, w := &pagestest.Memory{}, newWorld(t)
	s := New(Options{Pages: source, Store: w.store})
	text := &markup.Text{Source: []byte("text")}
	source.Put(&pages.Page{
		ID: 1, Title: "Title", Lang: "de", Text: text, Readers: &markup.Principals{Users: []string{"ann"}},
		Diagnostics: []markup.Diagnostic{{Line: 7}},
		Forms:       []*forms.Form{{ID: "x", PageID: 1}, {ID: "y", PageID: 1, Anonymous: true}},
	}, func(u pages.User) pages.Rights {
		return pages.Rights{View: u.Name != outsider.Name, SeeAll: u.Name == owner.Name, Edit: u.Name == editor.Name}
	})
	for _, who := range []auth.Identity{owner, editor, viewer} {
		got, err := s.Page(t.Context(), who, 1)
		w.wants(who.Name, err, "ok")
		edits, sees := who.Name == editor.Name, who.Name == owner.Name
		if got.ID != 1 || got.Title != "Title" || got.Lang != "de" || got.Text != text ||
			(len(got.Diagnostics) == 1) != edits || len(got.Forms) != 2 {
			t.Fatalf("%s: got %+v", who.Name, got)
		}
		for i, id := range []string{"x", "y"} {
			one, err := s.Form(t.Context(), who, 1, id)
			w.wants(who.Name, err, "ok")
			for _, a := range []*Access{got.Forms[i], one} {
				if a.Form.ID != id || a.PageTitle != "Title" || a.Lang() != "de" || a.anonymous != a.Form.Anonymous ||
					a.Rights.SeeAll != sees || a.Rights.Edit != edits || (len(a.Diagnostics()) == 1) != edits ||
					a.Readers().Users[0] != "ann" {
					t.Errorf("%s: form %s is %+v", who.Name, id, a)
				}
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
}
