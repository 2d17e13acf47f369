package service

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/pages/pagestest"
	"github.com/formulary/formulary/internal/pagetext"
)

// pageWith is a page with a form and a text.
func pageWith(id int64, text string) *pages.Page {
	parsed := markup.Parse(markup.Markdown, id, []byte(text+"\n\n```form\nform: f\nfields: [{id: f, type: textfield, label: F}]\n```\n"))
	return &pages.Page{ID: id, Title: "Title", Text: parsed.Text, Forms: []*forms.Form{parsed.Blocks[0].Form}}
}

func TestPageWithItsText(t *testing.T) {
	source := &pagestest.Memory{}
	s, w := New(Options{Pages: source}), &world{t: t}
	page := pageWith(1, "# Title\n\n*text*")
	source.Put(page, func(u pages.User) pages.Rights { return pages.Rights{View: u.Name == owner.Name} })
	want := PageView{ID: 1, Title: "Title", Forms: page.Forms, Pieces: []pagetext.Piece{{HTML: `<p dir="auto"><em>text</em></p>`}, {FormID: "f"}}}
	for range 2 {
		got, err := s.Page(t.Context(), owner, 1)
		w.wants("owner", err, "ok")
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(forms.Form{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for what, id := range map[string]int64{"a page that the caller may not view": 1, "no page": 2} {
		got, err := s.Page(t.Context(), outsider, id)
		w.wants(what, err, "not found")
		if got.Title != "" || got.Pieces != nil {
			t.Errorf("%s: got %+v", what, got)
		}
	}
	source.Put(&pages.Page{ID: 3, Title: "Elsewhere", Forms: []*forms.Form{{ID: "x"}, {ID: "y"}}}, pagestest.Everything)
	got, err := s.Page(t.Context(), outsider, 3)
	w.wants("a page without a text", err, "ok")
	if diff := cmp.Diff([]pagetext.Piece{{FormID: "x"}, {FormID: "y"}}, got.Pieces); diff != "" {
		t.Errorf("without a text (-want +got):\n%s", diff)
	}
	source.Fail(pages.ErrUnavailable)
	_, err = s.Page(t.Context(), owner, 1)
	w.wants("the source is away", err, "unavailable")
}

func TestEditedTextIsRenderedAnew(t *testing.T) {
	var c textCache
	first, second := pageWith(1, "first"), pageWith(1, "second")
	for _, p := range []*pages.Page{first, second, first} {
		pieces := c.of(p)
		if text, _, _ := strings.Cut(string(p.Text.Source), "\n"); !strings.Contains(string(pieces[0].HTML), text) {
			t.Errorf("%s became %s", text, pieces[0].HTML)
		}
		if again := c.of(p); &again[0] != &pieces[0] {
			t.Error("rendered twice")
		}
	}
	if len(c.texts) != 1 {
		t.Errorf("%d texts of one page", len(c.texts))
	}
}

func TestTextCacheIsBounded(t *testing.T) {
	var c textCache
	list := make([]*pages.Page, 400)
	var wg sync.WaitGroup
	for i := range list {
		list[i] = pageWith(int64(i+1), strings.Repeat("x", 100_000))
		wg.Go(func() { c.of(list[i]) })
	}
	wg.Wait()
	size := 0
	for _, text := range c.texts {
		size += text.size
	}
	if c.size != size || size > maxCachedText || size < maxCachedText*9/10 {
		t.Errorf("%d texts of %d bytes, counted as %d", len(c.texts), size, c.size)
	}
}
