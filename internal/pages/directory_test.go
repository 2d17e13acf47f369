package pages

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/testkit"
)

func TestRenamedPageNeverGoesAway(t *testing.T) {
	s := newSite(t).save("1-old.md", form("a", "one")).open()
	s.rename("1-old.md", "1-new.md")
	s.update().wants(1, "a=one", "renamed")
	s.rename("1-new.md", "3-new.md")
	s.update().wants(1, "-", "renamed to another id")
	s.wants(3, "a=one", "renamed to another id")
}

// loadsWithError looks and loads, where some file can't be read.
func (s *site) loadsWithError() {
	s.t.Helper()
	if err := s.load(s.look(), false); err == nil {
		s.t.Error("the load went well, so it is not repeated")
	}
}

// A page that is no regular file is not waited for, and is logged.
func TestIrregularFilesAreLoggedOnce(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).save("4.md", form("d", "four"))
	s.must(syscall.Mkfifo(s.path("2.md"), 0o600))
	s.link("nowhere", "3.md")
	s.link("1.md", "5-linked.md") // another page with the same form
	s.open()
	s.update().update()
	s.wants(1, "a=one", "beside a pipe")
	s.wants(5, "a=one", "a link to a file")
	for _, name := range []string{"2.md", "3.md"} {
		if n := strings.Count(s.log.String(), name); n != 1 {
			t.Errorf("%s was logged %d times, want once:\n%s", name, n, s.log.String())
		}
	}
	testkit.Same(t, "logged times", s.logged("level=ERROR", "not a regular file"), 2)

	s.remove("2.md")
	s.save("2.md", form("b", "two"))
	s.remove("4.md")
	s.update()
	s.wants(2, "b=two", "a file in place of the pipe")
	s.wants(4, "-", "gone")
	testkit.Same(t, "what is gone was logged times", s.logged("regular"), 0)
}

// An open that waits for a writer would hang here, and fail by the time limit of the
// tests.
func TestPipeInPlaceOfAFileThatWasLookedAt(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).save("2.md", form("b", "two")).open()
	s.save("1.md", form("a", "new"))
	s.save("2.md", form("b", "new"))
	state := s.look()
	s.remove("1.md")
	s.must(syscall.Mkfifo(s.path("1.md"), 0o600))
	if err := s.load(state, false); err == nil {
		t.Error("the load went well, so it is not repeated")
	}
	s.wants(1, "a=one", "a pipe now")
	s.wants(2, "b=new", "beside the pipe")
	testkit.Same(t, "logged times", s.logged("level=ERROR", "page can't be read", "not a regular file"), 1)
}

// What can't even be looked at may be as it was: it is not taken for removed.
func TestPageThatCannotBeLookedAtStays(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).open()
	s.remove("1.md")
	s.link("1.md", "1.md") // for ever
	for range 3 {
		s.loadsWithError()
	}
	s.wants(1, "a=one", "behind a link that can't be followed")
	testkit.Same(t, "logged times", s.logged("level=ERROR", "page can't be read", "1.md"), 1)
	s.remove("1.md")
	s.save("1.md", form("a", "back")).update().wants(1, "a=back", "readable again")
	s.remove("1.md")
	s.link("1.md", "1.md")
	s.loadsWithError()
	testkit.Same(t, "a second outage was logged times", s.logged("level=ERROR", "page can't be read"), 1)
	s.remove("1.md")
	s.update().wants(1, "-", "gone")
}

func TestFilesInUnreadableFolders(t *testing.T) {
	d := &Directory{unreadable: map[string]bool{"pages/a": true, "/b": true}}
	for path, want := range map[string]bool{
		"pages/a/1.md": true, "pages/a/x/y/1.md": true, "pages/ab/1.md": false, "pages/1.md": false, "1.md": false, "/b/1.md": true, "/1.md": false,
	} {
		testkit.Same(t, path, d.inUnreadable(path), want)
	}
}

func TestOpenDirectoryRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "1.md")
	testkit.Must(t, os.WriteFile(file, nil, 0o600))
	for _, root := range []string{filepath.Join(dir, "missing"), file, ""} {
		if _, err := OpenDirectory(root, nil, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%q was opened as a directory of pages", root)
		}
	}
}

// Reload reads files that seem unchanged, too.
func TestReloadReadsWhatSeemsUnchanged(t *testing.T) {
	s := newSite(t).save("4.md", form("d", "D")).open()
	info, err := os.Stat(s.path("4.md"))
	s.must(err)
	s.saveAt("4.md", form("d", "Y"), info.ModTime())
	s.Reload(t.Context())
	s.wants(4, "d=Y", "edited, with the old time stamp and size")
}

// A user or a group that the server does not know is a warning while that is so, and the page is served.
func TestUnknownNames(t *testing.T) {
	s := newSite(t).save("1.md", "---\nview: [alice, \"@hr\"]\nedit: hr\n---\n").save("2.md", "---\nedit: \"@hr\"\n---\n")
	hints := map[string]string{"hr": "did you mean it?"}
	options := &markup.Options{UnknownName: func(name string) string { return hints[name] }}
	var err error
	s.Directory, err = OpenDirectory(s.dir, options, slog.New(slog.NewTextHandler(&s.log, nil)))
	s.must(err)
	wants := func(when string, lines int, want ...string) {
		t.Helper()
		var got []string
		for id := range int64(2) {
			page, err := s.update().served(id + 1)
			s.must(err)
			for _, d := range page.Diagnostics {
				got = append(got, fmt.Sprintf("%s %d:%d %s (%s)", d.Severity, d.Line, d.Column, d.Message, d.Hint))
			}
		}
		if logged := s.logged("no user or group"); !slices.Equal(got, want) || logged != lines {
			t.Errorf("%s: got %q and %d lines in the log, want %q and %d", when, got, logged, want, lines)
		}
	}
	const hr = `warning 3:7 this server has no user or group "hr" (did you mean it?)`
	wants("at the start", 1, hr)
	hints["@hr"] = "it has gone"
	wants("later", 1, `warning 2:15 this server has no user or group "@hr" (it has gone)`, hr,
		`warning 2:7 this server has no user or group "@hr" (it has gone)`)
	clear(hints)
	wants("at last", 0)
}
