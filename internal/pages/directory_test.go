package pages

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestPagesComeAndGo(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).open()
	s.wants(1, "a=one", "at the start")

	s.save("2-team.md", form("b", "two"))
	s.Poll()
	s.wants(2, "-", "seen for the first time, may be half-written")
	s.Poll()
	s.wants(2, "b=two", "seen for the second time")
	if got, want := s.Counts(), (Counts{Pages: 2, Forms: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}

	s.remove("1.md")
	s.Poll()
	s.wants(1, "a=one", "missing for one poll")
	s.Poll()
	s.wants(1, "-", "missing for two polls")
	s.wants(2, "b=two", "after the other one went")

	s.save("1.md", form("a", "again"))
	s.polls(2)
	s.wants(1, "a=again", "back")
}

func TestRenamedPageNeverGoesAway(t *testing.T) {
	s := newSite(t).save("1-old.md", form("a", "one")).open()
	s.rename("1-old.md", "1-new.md")
	for range 4 {
		s.Poll()
		s.wants(1, "a=one", "renamed")
	}
	s.rename("1-new.md", "3-new.md")
	s.polls(2)
	s.wants(1, "-", "renamed to another id")
	s.wants(3, "a=one", "renamed to another id")
}

func TestWrittenInPlace(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).open()
	s.save("1.md", form("a", "one more"))
	s.Poll()
	s.wants(1, "a=one", "changed since the last poll")
	s.Poll()
	s.wants(1, "a=one more", "kept still for a poll")
	s.save("1.md", form("a", "one less")) // of the same size
	s.polls(2)
	s.wants(1, "a=one less", "same size, another time stamp")
	info, err := os.Stat(s.path("1.md"))
	s.must(err)
	s.saveAt("1.md", form("a", "one"), info.ModTime())
	s.polls(2)
	s.wants(1, "a=one", "another size, same time stamp")
}

// On a file system that counts in seconds, two saves may have one time stamp.
func TestSameSizeAndTimeStamp(t *testing.T) {
	s := newSite(t)
	justNow := s.clock.Add(-time.Second)
	s.saveAt("1.md", form("a", "one"), justNow).open()
	s.saveAt("1.md", form("a", "two"), justNow)
	s.Poll()
	s.wants(1, "a=two", "within the slack of the time stamp")

	s.clock = justNow.Add(timestampSlack)
	s.Poll() // the last look that the slack asks for
	s.saveAt("1.md", form("a", "six"), justNow)
	s.polls(5)
	s.wants(1, "a=two", "settled: a page is not read again at every poll")
	s.saveAt("1.md", form("a", "six"), s.clock)
	s.polls(2)
	s.wants(1, "a=six", "with a new time stamp")
}

// A clock that runs ahead of the server's must not hide a change either.
func TestTimeStampFromTheFuture(t *testing.T) {
	s := newSite(t)
	soon := s.clock.Add(time.Second)
	s.saveAt("1.md", form("a", "one"), soon).open()
	s.saveAt("1.md", form("a", "two"), soon)
	s.Poll()
	s.wants(1, "a=two", "time stamp a second ahead")

	far := s.clock.Add(time.Hour)
	s.saveAt("1.md", form("a", "six"), far)
	s.polls(2)
	s.wants(1, "a=six", "time stamp an hour ahead")
	s.saveAt("1.md", form("a", "ten"), far)
	s.polls(5)
	s.wants(1, "a=six", "a wrong clock is no reason to read the page at every poll")
}

func TestRenamedIntoPlace(t *testing.T) {
	s := newSite(t)
	longAgo := s.clock.Add(-24 * time.Hour)
	s.saveAt("1.md", form("a", "one"), longAgo).open()
	s.saveAt(".1.md.swp", form("a", "two"), longAgo) // same size, same time stamp: only the file is another
	s.rename(".1.md.swp", "1.md")
	s.Poll()
	s.wants(1, "a=one", "replaced since the last poll")
	s.Poll()
	s.wants(1, "a=two", "seen twice")
}

// Two looks in a row means that none between them saw something else.
func TestPageThatChangesBackAndForth(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).save(".other", form("a", "two")).open()
	swap := func() {
		t.Helper()
		s.rename("1.md", ".kept")
		s.rename(".other", "1.md")
		s.rename(".kept", ".other")
	}
	for range 3 {
		swap()
		s.Poll()
		s.wants(1, "a=one", "the other file, seen once")
		swap()
		s.Poll()
		s.wants(1, "a=one", "the known file again")
	}
}

func TestHalfWrittenPageIsWaitedFor(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")+form("b", "two")).open()
	whole := form("a", "new") + form("b", "new")
	for _, size := range []int{0, len(whole) / 2} {
		s.save("1.md", whole[:size])
		s.Poll()
		s.wants(1, "a=one b=two", "half-written")
	}
	s.save("1.md", whole)
	s.Poll()
	s.wants(1, "a=one b=two", "whole, but only just")
	s.Poll()
	s.wants(1, "a=new b=new", "whole and still")
}

// Some page may be written to all the time. It is not waited for for ever.
func TestUnsteadyPageIsTakenInTheEnd(t *testing.T) {
	for _, first := range []string{form("a", "0"), ""} { // a known page, and a new one
		s := newSite(t)
		if first != "" {
			s.save("1.md", first)
		}
		s.open()
		before := s.shows(1)
		var taken []int
		for poll := 1; poll <= 2*(unsteadyPolls+1); poll++ {
			s.save("1.md", form("a", strings.Repeat("x", poll)))
			s.Poll()
			if now := s.shows(1); now != before {
				taken, before = append(taken, poll), now
				s.wants(1, "a="+strings.Repeat("x", poll), "taken")
			}
		}
		if want := []int{unsteadyPolls + 1, 2 * (unsteadyPolls + 1)}; len(taken) != 2 || taken[0] != want[0] || taken[1] != want[1] {
			t.Errorf("first %q: taken at polls %v, want %v", first, taken, want)
		}
	}
}

func TestMissingForOnePoll(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).open()
	for range 3 {
		s.rename("1.md", "away")
		s.Poll()
		s.wants(1, "a=one", "away for a poll")
		s.rename("away", "1.md")
		s.Poll()
		s.wants(1, "a=one", "back")
	}
}

func TestDirectoryThatCannotBeRead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after func(s *site)
	}{
		{"gone", func(*site) {}},
		{"a file now", func(s *site) { s.must(os.WriteFile(s.dir, nil, 0o600)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t).save("1.md", form("a", "one")).open()
			s.must(s.Ready(t.Context()))
			s.must(os.Rename(s.dir, s.dir+".away"))
			tt.after(s)
			s.polls(5)
			s.wants(1, "a=one", "directory away")
			if err := s.Ready(t.Context()); !errors.Is(err, ErrUnavailable) {
				t.Errorf("Ready is %v, want %v", err, ErrUnavailable)
			}
			if n := s.logged("level=ERROR", "pages can't be read"); n != 1 {
				t.Errorf("logged %d times, want once", n)
			}

			s.must(os.RemoveAll(s.dir))
			s.must(os.Rename(s.dir+".away", s.dir))
			s.save("1.md", form("a", "two"))
			s.polls(2)
			s.must(s.Ready(t.Context()))
			s.wants(1, "a=two", "directory back")
			if n := s.logged("level=INFO", "pages can be read again"); n != 1 {
				t.Errorf("logged %d times that it is back, want once", n)
			}
		})
	}
}

func TestPageThatCannotBeReadIsLoggedOnce(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).open()
	s.mkdir("2.md") // opens, but does not read
	f := &file{}
	for range 3 {
		if s.read(s.path("2.md"), f) {
			t.Error("a directory was read as a page")
		}
	}
	if n := s.logged("level=ERROR", "page can't be read", "2.md"); n != 1 {
		t.Errorf("logged %d times, want once", n)
	}
	s.remove("2.md")
	s.read(s.path("2.md"), f)
	if n := s.logged("page can't be read"); n != 1 {
		t.Errorf("another reason: logged %d times, want once", n)
	}
	s.save("2.md", form("b", "two"))
	if !s.read(s.path("2.md"), f) {
		t.Error("not read although it can be")
	}
	s.remove("2.md")
	s.read(s.path("2.md"), f)
	if n := s.logged("page can't be read"); n != 1 {
		t.Errorf("the same reason after it went well: logged %d times, want once", n)
	}
}

// A page that is no regular file is not waited for, and is logged.
func TestIrregularFilesAreLoggedOnce(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).save("4.md", form("d", "four"))
	s.must(syscall.Mkfifo(s.path("2.md"), 0o600))
	s.link("nowhere", "3.md")
	s.link("1.md", "5-linked.md") // another page with the same form
	s.open()
	s.polls(3)
	s.wants(1, "a=one", "beside a pipe")
	s.wants(5, "a=one", "a link to a file")
	for _, name := range []string{"2.md", "3.md"} {
		if n := strings.Count(s.log.String(), name); n != 1 {
			t.Errorf("%s was logged %d times, want once:\n%s", name, n, s.log.String())
		}
	}
	if n := s.logged("level=ERROR", "not a regular file"); n != 2 {
		t.Errorf("logged %d times, want twice", n)
	}

	s.remove("2.md")
	s.save("2.md", form("b", "two"))
	s.remove("4.md")
	s.polls(3)
	s.wants(2, "b=two", "a file in place of the pipe")
	s.wants(4, "-", "gone")
	if n := s.logged("regular"); n != 0 {
		t.Errorf("what is gone was logged %d times", n)
	}
}

// What can't even be looked at may be as it was: it is not taken for removed.
func TestPageThatCannotBeLookedAtStays(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).open()
	s.remove("1.md")
	s.link("1.md", "1.md") // for ever
	s.polls(5)
	s.wants(1, "a=one", "behind a link that can't be followed")
	if n := s.logged("level=ERROR", "page can't be read", "1.md"); n != 1 {
		t.Errorf("logged %d times, want once", n)
	}
	s.remove("1.md")
	s.polls(2)
	s.wants(1, "-", "gone")
}

func TestEachOutageOfAPageIsLogged(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).open()
	for range 2 {
		s.rename("1.md", "away")
		s.link("1.md", "1.md")
		s.polls(3)
		if n := s.logged("level=ERROR", "page can't be read"); n != 1 {
			t.Errorf("logged %d times, want once", n)
		}
		s.remove("1.md")
		s.rename("away", "1.md")
		s.polls(3)
		s.wants(1, "a=one", "back as it was")
	}
}

func TestOpenDirectoryRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "1.md")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{filepath.Join(dir, "missing"), file, ""} {
		if _, err := OpenDirectory(root, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%q was opened as a directory of pages", root)
		}
	}
}

// A file that is written while it is read is left for the next poll, though
// not for ever.
func TestFileWrittenWhileReadIsNotTaken(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).open()
	steadily := s.load
	s.load = func(path string) ([]byte, readVersion, error) {
		source, v, err := steadily(path)
		v.steady = false
		return source, v, err
	}
	s.save("1.md", form("a", "two"))
	s.polls(unsteadyPolls)
	s.wants(1, "a=one", "written while it was read")
	s.polls(1)
	s.wants(1, "a=two", "never at rest")
}

// Reload takes a change that polls would look at twice, or not see at all.
func TestReloadTakesPagesAtOnce(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "A")).save("2.md", form("b", "B")).save("4.md", form("d", "D")).open()
	s.save("1.md", form("a", "X")).save("3.md", form("c", "C"))
	info, err := os.Stat(s.path("4.md"))
	s.must(err)
	s.saveAt("4.md", form("d", "Y"), info.ModTime())
	s.remove("2.md")
	s.Reload(t.Context())
	s.wants(1, "a=X", "edited")
	s.wants(2, "-", "removed")
	s.wants(3, "c=C", "new")
	s.wants(4, "d=Y", "edited, with the old time stamp and size")
}

// A reload and a poll never look at the same time; the race detector says so.
func TestReloadWhilePolling(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "A")).open()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				s.Reload(t.Context())
				s.Poll()
			}
		})
	}
	wg.Wait()
	s.wants(1, "a=A", "after all")
}
