package pages

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/reload"
	"github.com/formulary/formulary/internal/testkit"
)

// A look finds each kind of edit.
func TestEditsAreFound(t *testing.T) {
	for name, tt := range map[string]struct {
		setUp, edit func(s *site)
		want        string // of page 1
	}{
		"written in place, in a folder": {func(s *site) { s.rename("1.md", "sub/1.md") }, func(s *site) { s.save("sub/1.md", form("a", "new")) }, "a=new"},
		"replaced from elsewhere":       {nil, func(s *site) { s.save("../9.md", form("a", "new")); s.rename("../9.md", "1.md") }, "a=new"},
		"removed":                       {nil, func(s *site) { s.remove("1.md") }, "-"},
		"in a new folder":               {func(s *site) { s.remove("1.md") }, func(s *site) { s.save("made/later/1.md", form("a", "new")) }, "a=new"},
		"folder removed":                {func(s *site) { s.rename("1.md", "sub/1.md") }, func(s *site) { s.must(os.RemoveAll(s.path("sub"))) }, "-"},
		"link to a file elsewhere": {
			func(s *site) { s.rename("1.md", "../linked.md"); s.link("../linked.md", "1.md") },
			func(s *site) { s.save("../linked.md", form("a", "new")) }, "a=new",
		},
		"a link to the directory is moved": {
			func(s *site) { s.must(errors.Join(os.Rename(s.dir, s.dir+"-v1"), os.Symlink(s.dir+"-v1", s.dir))) },
			func(s *site) {
				s.save("../v2/1.md", form("a", "new"))
				s.must(errors.Join(os.Symlink("v2", s.dir+".tmp"), os.Rename(s.dir+".tmp", s.dir)))
			}, "a=new",
		},
	} {
		s := newSite(t).save("1.md", form("a", "old")).save("sub/5.md", form("b", "b"))
		if tt.setUp != nil {
			tt.setUp(s)
		}
		s.open()
		tt.edit(s)
		s.update()
		s.wants(1, tt.want, name)
	}
}

// The time is that of the bubble.
func TestEditsShowWithinTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := filepath.Join(t.TempDir(), "1.md")
		testkit.WriteFile(t, page, form("a", "zero"))
		d, err := OpenDirectory(filepath.Dir(page), nil, slog.New(slog.DiscardHandler))
		testkit.Must(t, err)
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
		d, err := OpenDirectory(s.dir, nil, slog.New(slog.NewTextHandler(log, nil)))
		testkit.Must(t, err)
		release := make(chan struct{})
		d.watcher.Look = func() reload.State {
			<-release
			return d.look()
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { d.Run(ctx); close(ended) }()
		time.Sleep(7 * time.Second) // of the bubble
		if err := d.Ready(ctx); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "stuck for 7 seconds") {
			t.Errorf("a look that takes seven seconds: %v", err)
		}
		testkit.ErrorIs(t, "the last known page", testkit.ErrorOf(d.Page(ctx, User{}, 1)), nil)
		stop()
		<-ended // or the test is a deadlock
		close(release)
	})
}
