package pages

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/watch"
)

// watched is a site that looks when events say so. The test says when it asks
// for them.
type watched struct {
	*site
	looks int
}

func watchSite(t *testing.T, s *site) *watched {
	t.Helper()
	w := &watched{site: s}
	w.find = func(root string, enter func(string)) (listing, error) {
		w.looks++
		return list(root, enter)
	}
	w.startEvents()
	t.Cleanup(w.stopEvents)
	w.settle("at the start")
	if w.events == nil {
		t.Fatalf("the temporary directory %s has no events:\n%s", s.dir, s.log.String())
	}
	return w
}

// settle asks until an edit must be in force, and then checks that without
// another change there is no further look.
func (w *watched) settle(when string) {
	w.t.Helper()
	for range 4 {
		w.lookIfNeeded()
	}
	before := w.looks
	for range 5 {
		w.lookIfNeeded()
	}
	if w.looks != before {
		w.t.Errorf("%s: %d looks, though nothing changes any more", when, w.looks-before)
	}
}

func TestEventsShowEdits(t *testing.T) {
	w := watchSite(t, newSite(t).save("1.md", form("a", "1")).save("2.md", form("b", "2")).save("sub/3.md", form("c", "3")).open())
	for _, step := range []struct {
		name string
		edit func()
		id   int64
		want string
	}{
		{"written in place", func() { w.save("1.md", form("a", "new")) }, 1, "a=new"},
		{"written in place, in a folder", func() { w.save("sub/3.md", form("c", "new")) }, 3, "c=new"},
		{"replaced by an editor", func() { w.save(".1.md.swp", form("a", "newer")); w.rename(".1.md.swp", "1.md") }, 1, "a=newer"},
		{"replaced from elsewhere", func() { w.save("../9.md", form("a", "newest")); w.rename("../9.md", "1.md") }, 1, "a=newest"},
		{"new", func() { w.save("4.md", form("d", "4")) }, 4, "d=4"},
		{"removed", func() { w.remove("4.md") }, 4, "-"},
		{"renamed", func() { w.rename("2.md", "5.md") }, 5, "b=2"},
		{"in a new folder", func() { w.save("made/later/6.md", form("e", "6")) }, 6, "e=6"},
		{"edited in a new folder", func() { w.save("made/later/6.md", form("e", "new")) }, 6, "e=new"},
		{"new in a new folder", func() { w.save("made/later/8.md", form("g", "8")) }, 8, "g=8"},
		{"folder renamed", func() { w.rename("made", "moved") }, 6, "e=new"},
		{"edited in a renamed folder", func() { w.save("moved/later/6.md", form("e", "newer")) }, 6, "e=newer"},
		{"folder replaced", func() {
			w.rename("moved", ".old")
			w.save("moved/later/6.md", form("e", "other"))
		}, 6, "e=other"},
		{"edited in a replaced folder", func() { w.save("moved/later/6.md", form("e", "last")) }, 6, "e=last"},
		{"folder removed", func() { w.must(os.RemoveAll(w.path("moved"))) }, 6, "-"},
		{"same size and time stamp", func() {
			w.saveAt("1.md", form("a", "111111"), w.clock)
			w.settleYoung()
			w.saveAt("1.md", form("a", "222222"), w.clock)
			w.settleYoung()
			w.clock = w.clock.Add(timestampSlack)
		}, 1, "a=222222"},
	} {
		step.edit()
		w.settle(step.name)
		w.wants(step.id, step.want, step.name)
	}
	if w.events == nil || w.log.Len() > 0 {
		t.Errorf("events in use: %t; log:\n%s", w.events != nil, w.log.String())
	}
}

// settleYoung is for edits that are so new that looks go on.
func (w *watched) settleYoung() {
	for range 4 {
		w.lookIfNeeded()
	}
}

// A folder that is no longer below the pages is not watched.
func TestFolderThatWasMovedAwayIsNotWatched(t *testing.T) {
	w := watchSite(t, newSite(t).save("1.md", form("a", "1")).save("sub/2.md", form("b", "2")).open())
	w.rename("sub", "../elsewhere")
	w.settle("moved away")
	w.wants(2, "-", "moved away")
	before := w.looks
	w.save("../elsewhere/2.md", form("b", "new"))
	w.lookIfNeeded()
	if w.looks != before {
		t.Error("a page elsewhere was edited, and the pages were looked at")
	}
}

// What sends no event in the directory of pages is asked for at every turn.
func TestEditsWithoutEvents(t *testing.T) {
	for _, tt := range []struct {
		name        string
		setUp, edit func(s *site)
	}{
		{
			"link to a file elsewhere",
			func(s *site) {
				s.save("../elsewhere/1.md", form("a", "old"))
				s.mkdir("")
				s.link("../elsewhere/1.md", "1.md")
			},
			func(s *site) { s.save("../elsewhere/1.md", form("a", "new")) },
		},
		{
			"link to a file that comes later",
			func(s *site) { s.mkdir(""); s.link("../elsewhere/1.md", "1.md") },
			func(s *site) { s.save("../elsewhere/1.md", form("a", "new")) },
		},
		{
			"swap of a mounted ConfigMap",
			func(s *site) {
				s.save("..v1/1.md", form("a", "old"))
				s.link("..v1", "..data")
				s.link("..data/1.md", "1.md")
			},
			func(s *site) {
				s.save("..v2/1.md", form("a", "new"))
				s.link("..v2", "..tmp")
				s.rename("..tmp", "..data")
			},
		},
		{
			"another name of the file",
			func(s *site) {
				s.save("../elsewhere/1.md", form("a", "old"))
				s.mkdir("")
				s.must(os.Link(s.path("../elsewhere/1.md"), s.path("1.md")))
			},
			func(s *site) { s.save("../elsewhere/1.md", form("a", "new")) },
		},
		{
			"the directory is replaced",
			func(s *site) { s.save("1.md", form("a", "old")) },
			func(s *site) {
				s.must(os.Rename(s.dir, s.dir+".old"))
				s.save("1.md", form("a", "new"))
			},
		},
		{
			"the directory is a link, which is moved",
			func(s *site) { s.save("../v1/1.md", form("a", "old")); s.must(os.Symlink("v1", s.dir)) },
			func(s *site) {
				s.save("../v2/1.md", form("a", "new"))
				s.must(os.Symlink("v2", s.dir+".tmp"))
				s.must(os.Rename(s.dir+".tmp", s.dir))
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t)
			tt.setUp(s)
			w := watchSite(t, s.open())
			tt.edit(s)
			w.settle("after the edit")
			w.wants(1, "a=new", "after the edit")
			if w.events == nil {
				t.Error("the pages are polled")
			}
			w.save("2.md", form("b", "2"))
			w.settle("after an edit beside it")
			w.wants(2, "b=2", "after an edit beside it")
		})
	}
}

// While the directory is away there is nothing to watch. It is asked for until
// it is back.
func TestDirectoryThatComesBackIsWatched(t *testing.T) {
	w := watchSite(t, newSite(t).save("1.md", form("a", "1")).open())
	w.must(os.Rename(w.dir, w.dir+".away"))
	w.lookIfNeeded()
	if err := w.Ready(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Ready is %v, want %v", err, ErrUnavailable)
	}
	w.must(os.Rename(w.dir+".away", w.dir))
	w.settle("back")
	w.must(w.Ready(t.Context()))
	w.save("1.md", form("a", "new"))
	w.settle("edited")
	w.wants(1, "a=new", "edited after it came back")
}

// A directory that is there and can't be read may send no event when it can be.
func TestFailedLookIsRepeated(t *testing.T) {
	w := watchSite(t, newSite(t).save("1.md", form("a", "1")).open())
	find := w.find
	w.find = func(string, func(string)) (listing, error) { return listing{}, errors.New("does not answer") }
	w.save("1.md", form("a", "new"))
	w.lookIfNeeded()
	w.find = find
	w.settle("answers again")
	w.wants(1, "a=new", "answers again")
	w.must(w.Ready(t.Context()))
}

// A page that is edited after the look has passed it, and before the look ends.
func TestEditDuringALookIsNotLost(t *testing.T) {
	w := watchSite(t, newSite(t).save("1.md", form("a", "1")).save("2.md", form("b", "2")).open())
	edits := 0
	w.load = func(path string) ([]byte, readVersion, error) {
		if path == w.path("2.md") && edits == 0 {
			edits++
			w.save("1.md", form("a", "new"))
		}
		return readLimited(path)
	}
	w.save("2.md", form("b", "new"))
	w.settle("edited")
	w.wants(1, "a=new", "edited during a look")
	if edits != 1 {
		t.Error("the look did not read the other page")
	}
}

// The kernel drops events when too many wait. It says so, and that is enough.
func TestEventsThatTheKernelDropped(t *testing.T) {
	w := watchSite(t, newSite(t).save("1.md", form("a", "1")).save("2.md", "").save("3.md", "").open())
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	w.must(err)
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	w.must(err)
	for i := range limit + 10 { // of two files in turn, because the kernel merges equal events
		w.must(os.Chmod(w.path(strconv.Itoa(2+i%2)+".md"), 0o600))
	}
	w.save("1.md", form("a", "new"))
	w.settle("edited")
	w.wants(1, "a=new", "edited while the queue was full")
}

func TestRescanFindsWhatSentNoEvent(t *testing.T) {
	w := watchSite(t, newSite(t).save("1.md", form("a", "1")).open())
	w.save("1.md", form("a", "new"))
	w.events.Changed() // takes the event
	w.settle("without an event")
	w.wants(1, "a=1", "without an event")
	w.clock = w.clock.Add(rescanInterval)
	w.settle("rescan")
	w.wants(1, "a=new", "after the rescan")
}

// Without events the pages are polled, and the log says so once.
func TestFallbackToPolling(t *testing.T) {
	for _, tt := range []struct {
		name string
		fail func(s *site)
	}{
		{"no events at all", func(s *site) {
			s.newEvents = func() (*watch.Events, error) { return nil, errors.New("too many instances") }
			s.startEvents()
		}},
		{"a directory can't be watched", func(s *site) {
			s.startEvents()
			s.must(s.events.Close()) // as good as a limit that is reached
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t).save("1.md", form("a", "1")).save("sub/2.md", form("b", "2")).open()
			tt.fail(s)
			for _, label := range []string{"new", "newer"} {
				s.save("1.md", form("a", label))
				s.save("sub/2.md", form("b", label))
				s.lookIfNeeded()
				s.lookIfNeeded()
				s.wants(1, "a="+label, "polled")
				s.wants(2, "b="+label, "polled")
			}
			if log := s.log.String(); strings.Count(log, "\n") != 1 || s.logged("level=WARN", "the pages are polled", "reason=") != 1 {
				t.Errorf("want one line of the log:\n%s", log)
			}
		})
	}
}

// With events and without, an edit shows within two seconds. The time is that
// of the bubble.
func TestRunShowsAnEditWithinTwoSeconds(t *testing.T) {
	for _, events := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			page := filepath.Join(t.TempDir(), "1.md")
			write := func(label string) {
				t.Helper()
				if err := os.WriteFile(page, []byte(form("a", label)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("zero")
			d, err := OpenDirectory(filepath.Dir(page), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if !events {
				d.newEvents = func() (*watch.Events, error) { return nil, errors.New("none") }
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { d.Run(ctx); close(ended) }()
			for _, label := range []string{"first", "second", "third"} {
				time.Sleep(10 * time.Second)
				write(label)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if p, err := d.Page(ctx, 1); err != nil || p.Forms[0].Fields[0].Label != label {
					t.Errorf("events %t: the %s edit does not show after two seconds: %v", events, label, err)
				}
			}
			stop()
			<-ended
			if d.events != nil {
				t.Error("Run ended, and its events are still there")
			}
		})
	}
}
