package pages

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/markup"
)

// What people read in place of a form's id.
func TestFormTitles(t *testing.T) {
	titled := strings.Replace(form("b", "x"), "fields:", "title: The second\nfields:", 1)
	long := strings.Repeat("x", markup.MaxTextBytes+1)
	for _, tt := range []struct{ name, file, text, want string }{
		{"its own", "1.md", "---\ntitle: Page\n---\n" + titled, "The second"},
		{"the page's, for the only form", "1.md", "---\ntitle: ' Page '\n---\n" + form("a", "x"), "Page"},
		{"the page's, made from the file's name", "1-team-feedback.md", form("a", "x"), "team-feedback"},
		{"the id, on a page with several", "1.md", "---\ntitle: Page\n---\n" + form("a", "x") + titled, "a, The second"},
		{"the id, where another is broken", "1.md", "---\ntitle: Page\n---\n" + form("a", "x") + broken("b"), "a"},
		{"the id, where the page's is too long", "1.md", "---\ntitle: " + long + "\n---\n" + form("a", "x"), "a"},
	} {
		s := newSite(t).save(tt.file, tt.text).open()
		page, err := s.Page(t.Context(), 1)
		s.must(err)
		var titles []string
		for _, f := range page.Forms {
			titles = append(titles, f.Title)
		}
		if got := strings.Join(titles, ", "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
