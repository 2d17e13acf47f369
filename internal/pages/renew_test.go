package pages

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/reload"
	"github.com/formulary/formulary/internal/testkit"
)

func TestBrokenBlockKeepsItsLastGoodForm(t *testing.T) {
	old := form("a", "old") + form("b", "old") + form("c", "old")
	for _, tt := range []struct{ name, now, want string }{
		{"one broken, in page order", form("a", "new") + broken("b") + form("c", "new"), "a=new b=old c=new"},
		{"one broken, one removed", form("a", "new") + broken("b"), "a=new b=old"},
		{"a new one broken", old + broken("d"), "a=old b=old c=old"},
		{"all broken", broken("a") + broken("b") + broken("c"), "a=old b=old c=old"},
		{"all removed", "nothing here any more", ""},
		{"nameless: what is missing may be it", form("a", "new") + nameless, "a=new b=old c=old"},
		{"nameless and a broken one", nameless + broken("c") + form("a", "new"), "c=old a=new b=old"},
		{"nameless, and none is missing", old + nameless, "a=old b=old c=old"},
		{"the second of one id", form("a", "new") + form("a", "second"), "a=new"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t).save("1.md", old).open()
			s.save("1.md", tt.now)
			s.update()
			s.wants(1, tt.want, "after the edit")
			s.save("2.md", form("x", "y")) // another page's edit changes nothing here
			s.update()
			s.wants(1, tt.want, "after another page's edit")
			s.save("1.md", form("c", "good"))
			s.update()
			s.wants(1, "c=good", "after the repair")
		})
	}
}

// While a block without a readable id is on the page, it may be any of the forms
// that the page had.
func TestNamelessBlockKeepsWhatIsRemoved(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "1")+form("b", "1")+nameless).open()
	for _, step := range []struct{ name, now, want string }{
		{"one removed", form("a", "1") + nameless, "a=1 b=1"},
		{"one added", form("c", "1") + nameless, "c=1 a=1 b=1"},
		{"unreadable", "---\nresults: nobody\n---\n" + nameless, "c=1 a=1 b=1"},
		{"mended", form("b", "2"), "b=2"},
		{"all removed", "nothing", ""},
		{"broken anew", nameless, ""},
	} {
		s.save("1.md", step.now).save("2.md", form("x", step.name)).update()
		s.wants(1, step.want, step.name)
	}
}

func TestBrokenFromTheStart(t *testing.T) {
	s := newSite(t).save("1.md", broken("a")+form("b", "one")).save("2.md", nameless).open()
	s.wants(1, "b=one", "one form broken, the others work")
	s.wants(2, "", "a page of which no form can be used is still a page")
	testkit.Same(t, "the problem was logged times with file and line", s.logged("level=ERROR", "page problem", "1.md", "line=4"), 1)
	s.save("1.md", broken("a")+form("b", "one")) // a new time stamp, the same text
	s.update()
	testkit.Same(t, "the same problem was logged times again", s.logged("page problem"), 0)
	s.save("1.md", form("a", "whole")+form("b", "one"))
	s.update()
	s.wants(1, "a=whole b=one", "after the repair")
}

func user(name string, groups ...string) User {
	return User{Name: name, Groups: groups}
}

// rights returns what a user may do on page 1.
func (s *site) rights(u User) Rights {
	s.t.Helper()
	page, err := s.Page(s.t.Context(), u, 1)
	if !errors.Is(err, ErrNotFound) {
		s.must(err)
	}
	return page.Rights
}

// Viewers see all submissions where the page says so, and only viewers do.
func TestResultsForViewers(t *testing.T) {
	all, results := Rights{View: true, SeeAll: true, Edit: true}, Rights{View: true, SeeAll: true}
	named := all
	named.Save = true
	for front, want := range map[string][2]Rights{ // of ann, and of sara in the group staff
		"edit: [ann]\nresults: viewers":                   {named, results},
		"view: ['@staff']\nedit: [ann]\nresults: viewers": {named, results},
		"view: [bob]\nedit: [ann]\nresults: viewers":      {named, {}},
		"results: viewers":                                {all, all},
	} {
		s := newSite(t).save("1.md", "---\n"+front+"\n---\n").open()
		testkit.Same(t, front, [2]Rights{s.rights(user("ann")), s.rights(user("sara", "staff"))}, want)
	}
}

// allowed is the names who may view, and who may edit, page 1.
func (s *site) allowed() (view, edit string) {
	s.t.Helper()
	for _, name := range []string{"ann", "bob", "eve"} {
		rights := s.rights(user(name))
		if rights.View {
			view += name + " "
		}
		if rights.Edit {
			edit += name + " "
		}
	}
	return strings.TrimSpace(view), strings.TrimSpace(edit)
}

func TestBrokenFrontMatterKeepsTheOldPage(t *testing.T) {
	const closed = "---\nview: [ann, bob]\nedit: [ann]\n---\n"
	for _, tt := range []struct{ name, front string }{
		{"bad YAML", "---\nview: [ann\n---\n"},
		{"never closed", "---\nview: [ann]\n"},
		{"wrong type", "---\nview: {ann: bob}\n---\n"},
		{"not UTF-8", "---\nview: [\xff]\n---\n"},
		{"too large", "---\n" + strings.Repeat("#", markup.MaxPageBytes) + "\n---\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t).save("1.md", closed+form("a", "old")).open()
			s.save("1.md", tt.front+form("a", "new"))
			s.update()
			s.wants(1, "a=old", "front matter broken")
			if view, edit := s.allowed(); view != "ann bob" || edit != "ann" {
				t.Errorf("view: %s; edit: %s; the permissions must not change", view, edit)
			}
			s.save("1.md", "---\nedit: [bob]\n---\n"+form("a", "new"))
			s.update()
			s.wants(1, "a=new", "after the repair")
			if view, edit := s.allowed(); view != "ann bob eve" || edit != "bob" {
				t.Errorf("view: %s; edit: %s; after the repair everybody views and bob edits", view, edit)
			}

			fresh := newSite(t).save("1.md", tt.front+form("a", "new")).open()
			fresh.wants(1, "-", "no good page before: closed to all")
		})
	}
}

func TestBrokenFrontMatterKeepsTheIDThatStoodInIt(t *testing.T) {
	s := newSite(t).save("notes.md", "---\nid: 42\n---\n"+form("a", "old")).save("7.md", "---\nid: 43\n---\n"+form("b", "old")).open()
	s.wants(42, "a=old", "id from the front matter")
	for range 2 { // broken twice in different ways
		s.save("notes.md", "---\nid: 42\nview: [\n---\n"+strings.Repeat("\n", s.saves))
		s.save("7.md", "---\nid: [\n---\n"+strings.Repeat("\n", s.saves))
		s.update()
		s.wants(42, "a=old", "front matter broken")
		s.wants(43, "b=old", "front matter broken")
		s.wants(7, "-", "the id of the name does not take over")
	}
}

func TestPageIDClash(t *testing.T) {
	s := newSite(t).save("1-a.md", form("a", "first")).save("1-b.md", form("b", "second")).open()
	s.wants(1, "a=first", "the first stands")
	s.save("3.md", form("c", "elsewhere"))
	s.update()
	s.wants(3, "c=elsewhere", "another page was made")
	testkit.Same(t, "logged times", s.logged("level=ERROR", "two files have one page id", "1-a.md", "1-b.md"), 1)
	s.save("1-b.md", "---\nid: 2\n---\n"+form("b", "second"))
	s.update()
	s.wants(1, "a=first", "the second has another id")
	s.wants(2, "b=second", "the second has another id")
	s.save("1-b.md", form("b", "second"))
	s.update()
	s.remove("1-a.md")
	s.update()
	s.wants(1, "b=second", "the first is gone")
}

func TestPageIDClashOfThree(t *testing.T) {
	front := "---\nid: 5\n---\n"
	s := newSite(t).save("1-a.md", front+form("a", "x")).save("3-b.md", front+form("b", "x")).save("5.md", form("c", "x")).open()
	s.wants(5, "c=x", "the one whose name has the id")
	testkit.Same(t, "logged times that 5.md stands", s.logged("level=ERROR", "two files have one page id", "5.md ignored="), 2)
}

// pagestest has the other rules.
func TestNamesOfUsersAndGroupsAreComparedExactly(t *testing.T) {
	for name, permitted := range map[string]markup.Principals{
		"another name":       {Users: []string{"Ann", "ann ", "an"}, Groups: []string{"Staff", "staf"}},
		"a group is no user": {Users: []string{"staff", "@staff"}},
		"a user is no group": {Groups: []string{"ann"}},
	} {
		testkit.Same(t, name, rightsOf(&markup.Meta{View: &permitted, Edit: &permitted}, user("ann", "staff", "board")), (Rights{}))
	}
}

// A copy of a page must not take over its submissions, with other permissions.
func TestPageStaysWithTheFileThatHasIt(t *testing.T) {
	s := newSite(t).save("5-b.md", form("a", "original")).open()
	s.save("5-a.md", form("a", "copy"))
	s.update()
	s.wants(5, "a=original", "a copy that sorts first")
	s.remove("5-b.md")
	s.update()
	s.wants(5, "a=copy", "the original is gone")
}

func TestUnreadableFolderKeepsItsPagesAndTheOthersGoOn(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).save("sub/2.md", form("b", "two")).open()
	s.save("1.md", form("a", "changed"))
	state := s.look()
	delete(state, s.path("sub/2.md"))
	state[s.path("sub/")+separator] = reload.File{Err: fs.ErrPermission}
	for range 2 {
		s.must(s.load(state, false))
	}
	s.wants(1, "a=changed", "beside an unreadable folder")
	s.wants(2, "b=two", "in an unreadable folder")
	s.must(s.Ready(t.Context()))
	testkit.Same(t, "logged times", s.logged("level=ERROR", "can't be read", "sub"), 1)
	s.remove("sub/2.md")
	s.update()
	s.wants(2, "-", "readable again, and gone")
}

// Permissions that can be read apply, even where the page can't be read.
func TestPermissionsApplyThoughTheBodyIsBroken(t *testing.T) {
	native := `<ac:structured-macro ac:name="code"><ac:plain-text-body><![CDATA[form: a
fields: [{id: x, type: textfield, label: old}]]]></ac:plain-text-body></ac:structured-macro>`
	s := newSite(t).save("1.xml", native).open()
	if !s.rights(user("alice")).View {
		t.Fatal("an open page is closed")
	}
	s.save("1.xml", "---\nview: [carol]\n---\n<p>"+native)
	s.update()
	page, err := s.served(1)
	s.must(err)
	alice, carol := s.rights(user("alice")).View, s.rights(user("carol")).View
	if alice || !carol || page.Form("a") == nil {
		t.Errorf("alice sees it: %t, carol: %t, the form is there: %t", alice, carol, page.Form("a") != nil)
	}
}

// Edits that break ever new blocks keep what may have been them, but not
// without end.
func TestWhatIsKeptIsBounded(t *testing.T) {
	s := newSite(t).save("1.md", "").open()
	for edit := range 5 {
		var page strings.Builder
		for i := range markup.MaxForms - 1 {
			page.WriteString(form(fmt.Sprintf("f%d-%d", edit, i), "x"))
		}
		fmt.Fprintf(&page, "```form\nform: no id %d\n```\n", edit)
		s.save("1.md", page.String())
		s.update()
	}
	testkit.Same(t, "forms", s.Counts().Forms, 2*markup.MaxForms)
}

func TestSizeOfWhatIsKeptIsBounded(t *testing.T) {
	label, page, room := strings.Repeat("x", markup.MaxPageDefinitionBytes/3), &Page{}, markup.MaxPageDefinitionBytes
	for i, want := range []bool{true, true, false, false} {
		f := &forms.Form{ID: fmt.Sprint(i), Fields: []*forms.Field{{ID: "f", Label: label}}}
		page.keep(f, &room)
		testkit.Same(t, i, page.Form(f.ID) != nil, want)
	}
}

// The log says of every broken form whether people can still fill it in.
func TestTheLogSaysWhetherABrokenFormIsServed(t *testing.T) {
	const good, no = `served="last good definition"`, "served=no"
	s := newSite(t).save("1.md", form("a", "A")+broken("b")).open()
	testkit.Same(t, "broken from the start: lines", s.logged("level=ERROR", `msg="form is broken"`, "1.md", "page=1", "form=b", no), 1)
	for _, tt := range []struct {
		text string
		want [][]string
	}{
		{broken("a") + broken("b"), [][]string{{`msg="form is broken"`, "form=a", good}, {`msg="form is broken"`, "form=b", no}}},
		{form("a", "A"), nil},
		{nameless, [][]string{{"may be the one without an id", "form=a", good}, {`msg="form without an id is broken"`, no}}},
		{"", nil},
		{nameless, [][]string{{`msg="form without an id is broken"`, no}}},
		{form("a", "A"), nil},
		{"---\nid: [\n---\n" + form("a", "B"), [][]string{{`msg="page is broken"`, good}}},
	} {
		s.log.Reset()
		s.save("1.md", tt.text).update()
		log := s.log.String()
		if n := strings.Count(log, "served="); n != len(tt.want) {
			t.Errorf("%q: %d lines:\n%s", tt.text, n, log)
		}
		for _, words := range tt.want {
			if n := s.logged(append(words, "level=ERROR", "1.md", "page=1")...); n != 1 {
				t.Errorf("%q: %d lines with %q:\n%s", tt.text, n, words, log)
			}
			s.log.WriteString(log)
		}
	}
}

func TestADirectoryWithoutAPageIsAWarning(t *testing.T) {
	s := newSite(t).save("notes.txt", "").open()
	testkit.Same(t, "lines", s.logged("level=WARN", "holds no page file", "names end in .md", "directory="+s.dir), 1)
	if s = newSite(t).save("1.md", "").open(); s.log.Len() > 0 {
		t.Error(s.log.String())
	}
}
