package pages

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/reload"
	"github.com/formulary/formulary/internal/testkit"
)

// start calls Run until the test ends. When the files have been looked at twice, only
// an event, or the rescan after ten seconds, shows an edit. It returns the number of
// looks.
func (s *site) start() *atomic.Int64 {
	var looks atomic.Int64
	s.watcher.Look = func(enter func(string)) reload.State {
		defer looks.Add(1)
		return s.look(enter)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	s.t.Cleanup(func() { stop(); <-ended })
	return &looks
}

// beforeRescan is time enough on a busy machine, and less than the rescan takes.
const beforeRescan = 6 * time.Second

// All directories are watched at the same time: the test waits, and hardly works.
func TestEventsShowEdits(t *testing.T) {
	cases := map[string]struct {
		setUp, edit func(s *site)
		want        string // of page 1
		dir         string // where there are events afterwards
	}{
		"written in place, in a folder": {func(s *site) { s.rename("1.md", "sub/1.md") }, func(s *site) { s.save("sub/1.md", form("a", "new")) }, "a=new", "sub/"},
		"replaced from elsewhere":       {nil, func(s *site) { s.save("../9.md", form("a", "new")); s.rename("../9.md", "1.md") }, "a=new", ""},
		"removed":                       {nil, func(s *site) { s.remove("1.md") }, "-", ""},
		"in a new folder":               {func(s *site) { s.remove("1.md") }, func(s *site) { s.save("made/later/1.md", form("a", "new")) }, "a=new", "made/later/"},
		"folder removed":                {func(s *site) { s.rename("1.md", "sub/1.md") }, func(s *site) { s.must(os.RemoveAll(s.path("sub"))) }, "-", ""},
		"link to a file elsewhere": {
			func(s *site) { s.rename("1.md", "../linked.md"); s.link("../linked.md", "1.md") },
			func(s *site) { s.save("../linked.md", form("a", "new")) }, "a=new", "",
		},
		"swap of a mounted ConfigMap": {
			func(s *site) {
				s.save("..v1/1.md", form("a", "old"))
				s.link("..v1", "..data")
				s.remove("1.md")
				s.link("..data/1.md", "1.md")
			},
			func(s *site) {
				s.save("..v2/1.md", form("a", "new"))
				s.link("..v2", "..tmp")
				s.rename("..tmp", "..data")
			}, "a=new", "",
		},
		"a link to the directory is moved": {
			func(s *site) { s.must(errors.Join(os.Rename(s.dir, s.dir+"-v1"), os.Symlink(s.dir+"-v1", s.dir))) },
			func(s *site) {
				s.save("../v2/1.md", form("a", "new"))
				s.must(errors.Join(os.Symlink("v2", s.dir+".tmp"), os.Rename(s.dir+".tmp", s.dir)))
			}, "a=new", "",
		},
	}
	sites, looks := map[string]*site{}, map[string]*atomic.Int64{}
	for name, tt := range cases {
		s := newSite(t).save("1.md", form("a", "old")).save("sub/5.md", form("b", "b"))
		if tt.setUp != nil {
			tt.setUp(s)
		}
		sites[name], looks[name] = s, s.open().start()
	}
	for name, tt := range cases {
		testkit.Eventually(t, "the files are watched: "+name, func() bool { return looks[name].Load() >= 2 })
		tt.edit(sites[name])
	}
	for name, tt := range cases {
		testkit.EventuallyWithin(t, beforeRescan, name+": page 1 shows "+tt.want, func() bool { return sites[name].shows(1) == tt.want })
		// Directories that are new, or in place of others, send events, too.
		sites[name].save(tt.dir+"7.md", form("c", "c"))
	}
	for name := range cases {
		testkit.EventuallyWithin(t, beforeRescan, name+": page 7 is there", func() bool { return sites[name].shows(7) == "c=c" })
	}
}

// With polling the time is that of the bubble.
func TestPolledEditsShowWithinTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := filepath.Join(t.TempDir(), "1.md")
		testkit.WriteFile(t, page, form("a", "zero"))
		d, err := OpenDirectory(filepath.Dir(page), true, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { d.Run(ctx); close(ended) }()
		for _, label := range []string{"first", "second", "third"} {
			time.Sleep(3 * time.Second)
			testkit.WriteFile(t, page, form("a", label))
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if p, err := d.Page(ctx, User{}, 1); err != nil || p.Forms[0].Fields[0].Label != label {
				t.Errorf("the %s edit does not show after two seconds: %v", label, err)
			}
		}
		stop()
		<-ended
	})
}

// A disk that does not answer makes the source unready, and the last known pages
// are served.
func TestStuckLook(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one"))
	s.mkdir("")
	synctest.Test(t, func(t *testing.T) {
		log := &strings.Builder{}
		d, err := OpenDirectory(s.dir, true, nil, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		d.watcher.Look = func(enter func(string)) reload.State {
			<-release
			return d.look(enter)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { d.Run(ctx); close(ended) }()
		time.Sleep(7 * time.Second) // of the bubble
		if err := d.Ready(ctx); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "stuck for 7 seconds") {
			t.Errorf("a look that takes seven seconds: %v", err)
		}
		if _, err := d.Page(ctx, User{}, 1); err != nil {
			t.Errorf("the last known page: %v", err)
		}
		stop()
		<-ended // or the test is a deadlock
		close(release)
	})
}
