package pages

import (
	"testing"
)

// The text of a page is that of its last readable version.
func TestTextOfAPage(t *testing.T) {
	s := newSite(t).save("1.md", "---\ntitle: T\n---\nfirst\n\n"+form("a", "1")).open()
	broken := "second\n\n" + broken("a")
	for _, step := range []struct{ name, now, want string }{
		{"its form is broken", broken, broken},
		{"the front matter is broken", "---\nresults: nobody\n---\nthird\n" + form("a", "1"), broken},
		{"the page is unreadable, but for its front matter", "---\ntitle: T\n---\n\xff" + form("a", "1"), broken},
		{"mended", "fourth\n" + form("a", "2"), "fourth\n" + form("a", "2")},
	} {
		s.save("1.md", step.now).update()
		page, err := s.served(1)
		s.must(err)
		if page.Text == nil || string(page.Text.Source) != step.want {
			t.Errorf("%s: text is %+v, want %q", step.name, page.Text, step.want)
		}
	}
	s.save("1.md", "fifth\n").update()
	if page, err := s.served(1); err != nil || page.Text != nil {
		t.Errorf("without a form: %+v, %v", page, err)
	}
}
