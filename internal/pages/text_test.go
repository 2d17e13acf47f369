package pages

import (
	"context"
	"testing"
)

func TestTextOfAPage(t *testing.T) {
	s := newSite(t).save("1.md", "---\ntitle: T\n---\nfirst\n\n"+form("a", "1")).save("2.md", "no form\n").
		save("3.wiki", "<pre class=\"form\">\nform: a\nfields: [{id: f, type: textfield, label: F}]\n</pre>").open()
	text := func(id int64) string {
		t.Helper()
		page, err := s.Page(context.Background(), id)
		s.must(err)
		if page.Text == nil {
			return "none"
		}
		return string(page.Text.Source)
	}
	for id, want := range map[int64]string{1: "first\n\n" + form("a", "1"), 2: "none", 3: "none"} {
		if got := text(id); got != want {
			t.Errorf("text of page %d is %q, want %q", id, got, want)
		}
	}
	broken := "second\n\n" + broken("a")
	for _, step := range []struct{ name, now, want string }{
		{"its form is broken", broken, broken},
		{"the front matter is broken", "---\nresults: nobody\n---\nthird\n" + form("a", "1"), broken},
		{"the page is unreadable, but for its front matter", "---\ntitle: T\n---\n\xff" + form("a", "1"), broken},
		{"mended", "fourth\n" + form("a", "2"), "fourth\n" + form("a", "2")},
		{"no form", "fifth\n", "none"},
	} {
		s.save("1.md", step.now)
		s.update()
		if got := text(1); got != step.want {
			t.Errorf("%s: text is %q, want %q", step.name, got, step.want)
		}
	}
}
