package pages

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/testkit"
)

func TestFind(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{
		"1.md", "sub/deep/2.wiki", "3.xml", "4.MD", "a space.md", // pages
		".5.md", ".git/6.md", "sub/.hidden/7.md", "8.txt", "9", "10.md~", "11.md.bak", "#12.md#", "lost+found/15.md", // none
	} {
		s.save(name, "")
	}
	s.mkdir("13.md/") // a directory's name makes it no page
	s.save("13.md/14.md", "")
	for _, root := range []string{s.dir, s.dir + "/", s.dir + "//"} {
		got, _, err := Find(root)
		testkit.Must(t, err)
		for i := range got {
			got[i], err = filepath.Rel(s.dir, got[i])
			s.must(err)
		}
		want := []string{"1.md", "13.md/14.md", "3.xml", "4.MD", "a space.md", "sub/deep/2.wiki"}
		testkit.Diff(t, root, got, want)
	}
	if _, _, err := Find(filepath.Join(s.dir, "missing")); err == nil {
		t.Error("a directory that is not there was listed")
	}
}

// The way Kubernetes mounts a ConfigMap: every page is a link through
// "..data", which is swapped for another in one step.
func TestSwapOfAMountedVolume(t *testing.T) {
	s := newSite(t).save("..v1/1.md", form("a", "one")).save("..v1/2.md", form("b", "one"))
	s.link("..v1", "..data")
	s.link("..data/1.md", "1.md")
	s.link("..data/2.md", "2.md")
	s.open()
	s.wants(1, "a=one", "through two links")
	testkit.Same(t, "pages, those behind links once", s.Counts().Pages, 2)

	s.save("..v2/1.md", form("a", "two"))
	s.link("..v2", "..data_tmp")
	s.rename("..data_tmp", "..data")
	s.update()
	s.wants(1, "a=two", "swapped")
	s.wants(2, "-", "not in the new volume: its link leads nowhere")
	s.must(s.Ready(t.Context()))
}

func TestNameID(t *testing.T) {
	for name, want := range map[string]int64{
		"123.md": 123, "123-team-feedback.md": 123, "dir/7.wiki": 7, "9/x.md": 0, "5 notes.md": 5,
		"9223372036854775807.md": 1<<63 - 1, "9223372036854775808.md": 0, "99999999999999999999999.md": 0,
		"0.md": 0, "0123.md": 0, "-1.md": 0, "+1.md": 0, "notes.md": 0, "notes-12.md": 0, "１２.md": 0, ".md": 0,
	} {
		testkit.Same(t, name, nameID(name), want)
	}
}

func TestRead(t *testing.T) {
	s := newSite(t).save("5.md", form("a", "one")).save("6.txt", "").save("8.md", "x")
	page, source, err := Read(s.path("5.md"), nil)
	if err != nil || page.ID != 5 || len(page.Blocks) != 1 || string(source) != form("a", "one") {
		t.Errorf("got page %d with %d blocks, source %q, %v", page.ID, len(page.Blocks), source, err)
	}
	for _, name := range []string{"6.txt", "7.md"} {
		if _, _, err := Read(s.path(name), nil); err == nil {
			t.Errorf("%s was read as a page", name)
		}
	}
	s.must(os.Truncate(s.path("8.md"), 1<<30)) // sparse
	page, source, err = Read(s.path("8.md"), nil)
	if err != nil || !page.Unreadable || len(source) != markup.MaxPageBytes+1 {
		t.Errorf("a huge file: unreadable %t, %d bytes read, %v; want the page to say so after one byte over the limit",
			page.Unreadable, len(source), err)
	}
}

func TestTitles(t *testing.T) {
	s := newSite(t).save("1-team-feedback.md", "").save("2.md", "").save("3-x.md", "---\ntitle: Lunch\n---\n").save("notes.v2.md", "---\nid: 4\n---\n").
		save("5_ .md", "---\ntitle: ' '\n---\n").save("6-\xff.md", "").save("0007-x.md", "---\nid: 7\n---\n").open()
	for id, want := range map[int64]string{
		1: "team-feedback", 2: "Page 2", 3: "Lunch", 4: "notes.v2", 5: "Page 5", 6: "\ufffd", 7: "0007-x",
	} {
		page, err := s.served(id)
		s.must(err)
		testkit.Same(t, id, page.Title, want)
	}
	s.save("3-x.md", "---\ntitle: [\n---\n")
	s.update()
	if page, err := s.served(3); err != nil || page.Title != "Lunch" {
		t.Errorf("front matter broken: %+v, %v; want the last good title", page, err)
	}
}

func TestBrokenFormsAreCounted(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "1")+broken("b")+nameless).save("2.md", "---\nid: [\n---\n").save("3.md", form("c", "3")).
		save("3z-copy.md", broken("d")).open()
	if got, want := s.Counts(), (Counts{Pages: 2, Forms: 2, Broken: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	s.save("1.md", broken("a"))
	s.save("2.md", "")
	s.update()
	testkit.Same(t, "the last good form is served, and broken", s.Counts(), (Counts{Pages: 3, Forms: 2, Broken: 1}))
}
