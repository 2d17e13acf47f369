package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/durable"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/testkit"
)

var alice = User{Name: "alice", Groups: []string{"hr"}}

// managed is a page that alice manages.
func managed(text string) string { return "---\nedit: [alice]\n---\n" + text }

// to replaces the label of the form a.
func to(label string) func(Draft) ([]byte, error) {
	return func(Draft) ([]byte, error) {
		return []byte(managed(form("a", label))), nil
	}
}

// changes is the error of a change.
func (s *site) changes(id int64, change func(Draft) ([]byte, error)) error {
	return s.Change(s.t.Context(), alice, id, change)
}

func (s *site) reads(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.path(name))
	s.must(err)
	return string(text)
}

func TestChange(t *testing.T) {
	s := newSite(t).save("sub/1.md", managed(form("a", "one"))).open()
	s.must(errors.Join(os.Chmod(s.path("sub/1.md"), 0o640), os.Chown(s.path("sub/1.md"), -1, os.Getgid())))
	s.must(s.changes(1, to("two")))
	s.wants(1, "a=two", "at once")
	testkit.Same(t, "former", s.reads("sub/.1.md.bak"), managed(form("a", "one")))
	for _, name := range []string{"sub/1.md", "sub/.1.md.bak"} {
		info, err := os.Stat(s.path(name))
		s.must(err)
		testkit.Same(t, "mode of "+name, info.Mode(), 0o640)
	}
	if got, at := s.Former(1, "a"); !strings.Contains(got, "label: one") || at.IsZero() {
		t.Errorf("formerly %q at %v", got, at)
	}
	s.update().wants(1, "a=two", "when the watcher looks")

	for range 20 { // a wait that may be given up is chosen at random
		ctx, leave := context.WithCancel(t.Context())
		s.must(s.Change(ctx, alice, 1, func(Draft) ([]byte, error) { leave(); return to("three")(Draft{}) }))
		s.wants(1, "a=three", "although the caller has left")
		s.must(s.changes(1, to("two")))
	}

	s.must(s.changes(1, func(Draft) ([]byte, error) { return nil, nil }))
	s.wants(1, "-", "removed")
	s.update().wants(1, "-", "when the watcher looks")
}

// Each refusal leaves the page as it is.
func TestChangeIsRefused(t *testing.T) {
	elsewhere := errors.New("an error of the caller")
	for name, tt := range map[string]struct {
		prepare func(s *site)
		change  func(s *site) func(Draft) ([]byte, error)
		want    error
	}{
		"not named":           {prepare: func(s *site) { s.save("1.md", "---\nedit: [bob]\n---\n") }, want: ErrConflict},
		"a group":             {prepare: func(s *site) { s.save("1.md", "---\nedit: \"@hr\"\n---\n") }},
		"nobody named":        {prepare: func(s *site) { s.save("1.md", "") }, want: ErrConflict},
		"broken front matter": {prepare: func(s *site) { s.save("1.md", "---\nedit: [\n---\n") }, want: ErrConflict},
		"another id":          {prepare: func(s *site) { s.save("1.md", "---\nid: 2\nedit: [alice]\n---\n") }, want: ErrConflict},
		"gone":                {prepare: func(s *site) { s.remove("1.md") }, want: ErrConflict},
		"two files":           {prepare: func(s *site) { s.save("1-too.md", ""); s.update() }, want: ErrReadOnly},
		"a link inside":       {prepare: func(s *site) { s.rename("1.md", "x.txt"); s.link("x.txt", "1.md") }},
		"a link to elsewhere": {prepare: func(s *site) { s.rename("1.md", "../1.md"); s.link("../1.md", "1.md") }, want: ErrReadOnly},
		"an error of change":  {change: func(*site) func(Draft) ([]byte, error) { return func(Draft) ([]byte, error) { return nil, elsewhere } }, want: elsewhere},
		"written by an editor": {change: func(s *site) func(Draft) ([]byte, error) {
			return func(now Draft) ([]byte, error) { s.save("1.md", managed("mine")); return to("two")(now) }
		}, want: ErrConflict},
		"removed by an editor": {change: func(s *site) func(Draft) ([]byte, error) {
			return func(now Draft) ([]byte, error) { s.remove("1.md"); return to("two")(now) }
		}, want: ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t).save("1.md", managed(form("a", "one"))).open()
			change := to("two")
			if tt.prepare != nil {
				tt.prepare(s)
			}
			if tt.change != nil {
				change = tt.change(s)
			}
			err := s.changes(1, change)
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			source, _ := os.ReadFile(s.path("1.md"))
			if wrote := string(source) == managed(form("a", "two")); wrote != (tt.want == nil) {
				t.Errorf("written is %t", wrote)
			}
			if link, _ := os.Lstat(s.path("1.md")); tt.want == nil && name == "a link inside" && link.Mode()&os.ModeSymlink == 0 {
				t.Error("the link is a file now")
			}
		})
	}
}

// Three servers on one folder replace the same form at the same moment.
func TestOneOfSeveralSavesWins(t *testing.T) {
	s := newSite(t).save("1.md", managed(form("a", "one"))).open()
	servers := []*Directory{s.Directory, newServer(s), newServer(s)}
	tag := markup.Tag("form: a\nfields:\n  - {id: f, type: textfield, label: one}\n")
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() {
			text := fmt.Sprintf("form: a\nfields:\n  - {id: f, type: textfield, label: by-%d}\n", i)
			errs[i] = server.Change(t.Context(), alice, 1, func(now Draft) ([]byte, error) {
				return now.Replace("a", tag, text)
			})
		})
	}
	all.Wait()
	won := 0
	for i, err := range errs {
		_, conflict := errors.AsType[*markup.Conflict](err)
		switch {
		case err == nil:
			won++
			testkit.Contains(t, "page", s.reads("1.md"), fmt.Sprintf("by-%d", i))
		case !conflict:
			t.Error(err)
		}
	}
	testkit.Same(t, "saves that won", won, 1)
}

func newServer(s *site) *Directory {
	d, err := OpenDirectory(s.dir, nil, s.Directory.log)
	s.must(err)
	return d
}

func TestNothingIsWrittenWithoutTheLock(t *testing.T) {
	s := newSite(t).save("1.md", managed("")).open()
	lock, err := durable.Lock(t.Context(), s.dir)
	s.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	testkit.ErrorIs(t, "locked by another", s.Change(ctx, alice, 1, to("two")), ErrUnavailable)
	s.must(lock.Close())
	s.must(s.CheckWritable(t.Context()))
	s.must(os.RemoveAll(s.dir))
	testkit.ErrorIs(t, "no folder", s.CheckWritable(t.Context()), ErrUnavailable)
}

func TestCreate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	s := newSite(t).save("7.md", "").save("sub/notes.md", "---\nid: 9\n---\n").save("sub/.8.md.bak", "---\nid: 12\n---\n").
		save(".13.swp.md", "").open()
	behind := newServer(s) // it has not seen what follows
	s.mkdir("16.md")       // not a page, but its name is taken
	for _, tt := range []struct{ last, want int64 }{{0, 13}, {15, 17}, {4, 18}} {
		id, err := s.Create(t.Context(), tt.last, 99, []byte(form("a", "new")))
		s.must(err)
		testkit.Same(t, "id", id, tt.want)
		s.wants(id, "a=new", "at once")
		info, err := os.Stat(s.path(fmt.Sprintf("%d.md", id)))
		s.must(err)
		testkit.Same(t, "mode", info.Mode(), 0o644)
	}
	// A page that is sent twice is one page, on another server, too.
	for _, server := range []*Directory{s.Directory, newServer(s), behind} {
		id, err := server.Create(t.Context(), 15, 17, []byte(form("a", "new")))
		testkit.Same(t, "id of the second", id, 18)
		s.must(err)
	}
	s.update().wants(13, "a=new", "when the watcher looks")
}

func TestRestore(t *testing.T) {
	one, two := managed(form("a", "one")), managed("")
	for name, tt := range map[string]struct {
		after   string
		between func(s *site)
		want    error
	}{
		"changed":                  {two, nil, nil},
		"removed":                  {"", nil, nil},
		"changed since":            {two, func(s *site) { s.save("1.md", two+"x") }, ErrConflict},
		"the former has gone":      {two, func(s *site) { s.save(".1.md.bak", two) }, ErrConflict},
		"the former has gone, too": {"", func(s *site) { s.remove(".1.md.bak") }, ErrConflict},
		"the name is taken":        {"", func(s *site) { s.save("1.md", two) }, ErrConflict},
		"the id is taken":          {"", func(s *site) { s.save("1-b.md", two).update() }, ErrConflict},
		"named no more":            {two, func(s *site) { s.save("1.md", "") }, ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t).save("1.md", one).open()
			after := ""
			s.must(s.changes(1, func(Draft) ([]byte, error) {
				if tt.after == "" {
					return nil, nil
				}
				after = markup.Tag(tt.after)
				return []byte(tt.after), nil
			}))
			if tt.between != nil {
				tt.between(s)
			}
			err := s.Restore(t.Context(), alice, 1, markup.Tag(one), after)
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if tt.want == nil {
				s.wants(1, "a=one", "put back")
			}
		})
	}
	s := newSite(t).save("1.md", one).open()
	s.must(s.changes(1, func(Draft) ([]byte, error) { return nil, nil }))
	err := s.Restore(t.Context(), User{Name: "bob"}, 1, markup.Tag(one), "")
	testkit.ErrorIs(t, "by another person", err, ErrConflict)
	s.must(s.Restore(t.Context(), alice, 1, markup.Tag(one), ""))
	s.remove("1.md")
	s.update()
	testkit.ErrorIs(t, "once more", s.Restore(t.Context(), alice, 1, markup.Tag(one), ""), ErrConflict)
}

// The former file stands beside a link, too, with the id in its name. Two files may have one text.
func TestRestoreALink(t *testing.T) {
	one := managed(form("a", "one"))
	s := newSite(t).save("x.txt", one).save(".3.md.bak", one)
	s.link("x.txt", "5.md")
	s.save(".7.md.bak", one).open()
	s.must(s.changes(5, func(Draft) ([]byte, error) { return nil, nil }))
	s.wants(5, "-", "removed")
	s.must(s.Restore(t.Context(), alice, 5, markup.Tag(one), ""))
	s.wants(5, "a=one", "put back")
	info, err := os.Lstat(s.path("5.md"))
	s.must(err)
	testkit.Same(t, "mode", info.Mode(), 0o644)
}

// TestMain runs a process that writes pages, if it is asked to.
func TestMain(m *testing.M) {
	dir := os.Getenv("TEST_WRITE_PAGES")
	if dir == "" {
		os.Exit(m.Run())
	}
	d, err := OpenDirectory(dir, nil, slog.New(slog.DiscardHandler))
	for i := 0; err == nil; i++ {
		err = d.Change(context.Background(), alice, 1, to(strings.Repeat(fmt.Sprint(i%10), 1000)))
		if i == 0 {
			fmt.Println("begun")
		}
	}
	fmt.Println(err)
}

// writer starts a process that writes page 1 until it fails.
func (s *site) writer(name string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "TEST_WRITE_PAGES="+s.dir)
	out := &bytes.Buffer{}
	cmd.Stderr = out
	return cmd, out
}

var whole = regexp.MustCompile(`(?s)^---\nedit.*label: (one|again|0{1000}|1{1000}|2{1000}|3{1000}|4{1000}|5{1000}|6{1000}|7{1000}|8{1000}|9{1000})}\n.*\n\n$`)

// When the process is killed, the page is an old one or a new one, as a whole.
func TestKillLeavesAWholePage(t *testing.T) {
	s := newSite(t).save("1.md", managed(form("a", "one"))).open()
	self, err := os.Executable()
	s.must(err)
	for range testkit.Rounds(10, 100) {
		cmd, _ := s.writer(self)
		out, err := cmd.StdoutPipe()
		s.must(errors.Join(err, cmd.Start()))
		_, err = out.Read(make([]byte, 10)) // it has begun
		s.must(errors.Join(err, cmd.Process.Kill()))
		_ = cmd.Wait()
		for _, name := range []string{"1.md", ".1.md.bak"} {
			text := s.reads(name)
			if !whole.MatchString(text) {
				t.Fatalf("%s is %q", name, text)
			}
		}
		s.must(s.changes(1, to("again"))) // the lock is free
	}
}
