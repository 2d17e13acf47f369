package pages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A disk that does not answer is logged, and does not keep Run from ending.
func TestStuckLook(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one"))
	s.mkdir("")
	synctest.Test(t, func(t *testing.T) {
		log := &strings.Builder{}
		d, err := OpenDirectory(s.dir, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		stuck, release := make(chan struct{}), make(chan struct{})
		d.find = func(root string, enter func(string)) (listing, error) {
			stuck <- struct{}{}
			<-release
			return list(root, enter)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { d.Run(ctx); close(ended) }()

		<-stuck
		time.Sleep(4 * time.Second) // of the bubble
		if err := d.Ready(ctx); err != nil {
			t.Errorf("a look that takes four seconds: %v", err)
		}
		time.Sleep(3 * time.Second)
		if err := d.Ready(ctx); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "has been stuck for 7 seconds") {
			t.Errorf("a look that takes seven seconds: %v", err)
		}
		if _, err := d.Page(ctx, 1); err != nil {
			t.Errorf("the last known page: %v", err)
		}

		release <- struct{}{}
		<-stuck // in the next one
		if err := d.Ready(ctx); err != nil {
			t.Errorf("the look has ended: %v", err)
		}
		time.Sleep(10 * time.Second)
		stop()
		<-ended // or the test is a deadlock
		if n := strings.Count(log.String(), "a look at the pages does not end"); n != 2 {
			t.Errorf("two stuck looks are logged %d times:\n%s", n, log)
		}
		if n := strings.Count(log.String(), "has ended after all"); n != 1 {
			t.Errorf("the end of one is logged %d times:\n%s", n, log)
		}
		close(release)
	})
}

// An open that waits for a writer would hang here, and fail by the time limit
// of the tests.
func TestPipeInPlaceOfAFileThatWasLookedAt(t *testing.T) {
	s := newSite(t).save("1.md", form("a", "one")).save("2.md", form("b", "two")).open()
	s.load = func(path string) ([]byte, readVersion, error) {
		if path == s.path("1.md") {
			s.remove("1.md")
			s.must(syscall.Mkfifo(path, 0o600))
		}
		return readLimited(path)
	}
	s.save("1.md", form("a", "new"))
	s.save("2.md", form("b", "new"))
	s.polls(2)
	s.wants(1, "a=one", "a pipe now")
	s.wants(2, "b=new", "beside the pipe")
	if n := s.logged("level=ERROR", "page can't be read", "not a regular file"); n != 1 {
		t.Errorf("logged %d times, want once", n)
	}
}

// However many files are odd, a look logs few lines, and says how many it left out.
func TestLinesOfALookAreBounded(t *testing.T) {
	const many = 500
	for _, tt := range []struct {
		name, message string
		file          func(s *site, i int)
	}{
		{"links to nowhere", "not a regular file", func(s *site, i int) { s.link("nowhere", fmt.Sprintf("%d.md", i)) }},
		{"links to themselves", "page can't be read", func(s *site, i int) { s.link(fmt.Sprintf("%d.md", i), fmt.Sprintf("%d.md", i)) }},
		{"copies", "two files have one page id", func(s *site, i int) { s.save(fmt.Sprintf("7-copy-%d.md", i), form("a", "copy")) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t).save("7.md", form("a", "one")).save("8.md", form("b", "one")).open()
			for i := range many {
				tt.file(s, 1000+i)
			}
			s.polls(3)
			if n := strings.Count(s.log.String(), "\n"); n != maxLogged+1 {
				t.Errorf("%d lines, want %d", n, maxLogged+1)
			}
			if n := s.logged("level=ERROR", tt.message, fmt.Sprintf("more=%d", many-maxLogged)); n != 1 {
				t.Errorf("what was left out was logged %d times, want once", n)
			}
			s.save("8.md", form("b", "new"))
			s.polls(2)
			s.wants(8, "b=new", "among many odd files")
			if n := s.logged(); n != 0 {
				t.Errorf("%d lines, though nothing is new", n)
			}
			tt.file(s, 3000)
			s.polls(2)
			if n := s.logged("level=ERROR", tt.message, "3000"); n != 1 {
				t.Errorf("another one was logged %d times, want once", n)
			}
		})
	}
}

func TestFilesInUnreadableFolders(t *testing.T) {
	d := &Directory{unreadable: map[string]bool{"pages/a": true, "/b": true}}
	for path, want := range map[string]bool{
		"pages/a/1.md": true, "pages/a/x/y/1.md": true, "pages/ab/1.md": false, "pages/1.md": false, "1.md": false, "/b/1.md": true, "/1.md": false,
	} {
		if got := d.inUnreadable(path); got != want {
			t.Errorf("%s: got %t", path, got)
		}
	}
}
