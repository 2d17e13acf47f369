package pages

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/testkit"
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
		page, err := s.served(1)
		s.must(err)
		var titles []string
		for _, f := range page.Forms {
			titles = append(titles, f.Title)
		}
		testkit.Same(t, tt.name, strings.Join(titles, ", "), tt.want)
	}
}

// What is wrong with the page as it is written now is known, whatever is in force.
func TestDiagnostics(t *testing.T) {
	front := "---\nedit: [ann]\nlang: de\n---\n"
	s := newSite(t).save("1.md", front+form("a", "old")).open()
	for _, step := range []struct {
		name, text string
		lines      string
	}{
		{"good", front + form("a", "old"), "[]"},
		{"a broken form", front + broken("a"), "[8]"},
		{"front matter that can't be read", "---\nedit: {a: b}\n---\n" + form("a", "new"), "[2]"},
		{"unreadable, but for its front matter", front + "\xff", "[5]"},
		{"many", front + "```form\nform: a\nfields: [" + strings.Repeat("x, ", 100) + "]\n```\n", fmt.Sprint(slices.Repeat([]int{7}, maxDiagnostics))},
		{"repaired", front + form("a", "old"), "[]"},
	} {
		s.save("1.md", step.text).update()
		s.save("2.md", form("x", step.name)).update() // another page's edit changes nothing here
		page, err := s.served(1)
		s.must(err)
		lines := []int{}
		for _, q := range page.Diagnostics {
			lines = append(lines, q.Line)
		}
		testkit.Same(t, step.name, fmt.Sprint(lines), step.lines)
		if s.shows(1) != "a=old" || page.Lang != "de" {
			t.Errorf("%s: page 1 shows %s in language %q", step.name, s.shows(1), page.Lang)
		}
	}
}

// An address that gets no mail is told to editors, and the form is served.
func TestNoMail(t *testing.T) {
	s := newSite(t).save("1.md", strings.Replace(form("a", "old"), "form: a\n", "form: a\nnotify: hr@example.org\n", 1))
	var log bytes.Buffer
	d, err := OpenDirectory(s.dir, &markup.Options{NoMail: true}, slog.New(slog.NewTextHandler(&log, nil)))
	s.must(err)
	s.Directory = d
	page, err := s.served(1)
	s.must(err)
	if len(page.Diagnostics) != 1 || !strings.Contains(page.Diagnostics[0].Message, "gets no mail") || !strings.Contains(log.String(), "gets no mail") || s.shows(1) != "a=old" {
		t.Errorf("diagnostics %v, log %q, forms %s", page.Diagnostics, log.String(), s.shows(1))
	}
}

// Readers says in advance what Rights grants.
func TestReaders(t *testing.T) {
	var everybody *markup.Principals
	for front, want := range map[string]*markup.Principals{
		"title: x":                             everybody,
		"view: [ann, bob]":                     everybody,
		"results: viewers":                     everybody,
		"edit: [ann, '@hr']\nresults: viewers": everybody,
		"edit: [ann, '@hr']":                   {Users: []string{"ann"}, Groups: []string{"hr"}},
		"view: [bob]\nedit: [ann]":             {Users: []string{"ann"}},
		"edit: []":                             {},
	} {
		s := newSite(t).save("1.md", "---\n"+front+"\n---\n"+form("a", "x")).open()
		page, err := s.served(1)
		s.must(err)
		testkit.Diff(t, front, page.Readers, want)
		for _, u := range []User{user("ann"), user("bob"), user("eve", "hr"), user("sam")} {
			rights := s.rights(u)
			if rights.SeeAll != (want == nil && rights.View || want != nil && includes(want, u)) {
				t.Errorf("%s: %s may %+v", front, u.Name, rights)
			}
		}
	}
}
