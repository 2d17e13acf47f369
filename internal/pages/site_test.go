package pages

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// site is a directory of pages that is looked at when the test says so.
type site struct {
	t     *testing.T
	dir   string
	saves int
	log   bytes.Buffer
	*Directory
}

func newSite(t *testing.T) *site {
	return &site{t: t, dir: filepath.Join(t.TempDir(), "pages")}
}

// open starts serving what was saved so far.
func (s *site) open() *site {
	s.t.Helper()
	s.mkdir("")
	d, err := OpenDirectory(s.dir, nil, slog.New(slog.NewTextHandler(&s.log, nil)))
	testkit.Must(s.t, err)
	s.Directory = d
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	testkit.Must(s.t, err)
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) mkdir(name string) { s.t.Helper(); s.must(os.MkdirAll(s.path(name), 0o755)) }

// save writes a file in place. Each save has a time stamp of its own.
func (s *site) save(name, text string) *site {
	s.t.Helper()
	s.saves++
	return s.saveAt(name, text, time.Unix(1_700_000_000+int64(s.saves), 0))
}

func (s *site) saveAt(name, text string, modified time.Time) *site {
	s.t.Helper()
	s.must(os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	s.must(os.WriteFile(s.path(name), []byte(text), 0o644))
	s.must(os.Chtimes(s.path(name), modified, modified))
	return s
}

func (s *site) rename(from, to string) { s.t.Helper(); s.must(os.Rename(s.path(from), s.path(to))) }

func (s *site) remove(name string) { s.t.Helper(); s.must(os.Remove(s.path(name))) }

func (s *site) link(target, name string) { s.t.Helper(); s.must(os.Symlink(target, s.path(name))) }

// update looks at the files, and loads what has changed.
func (s *site) update() *site {
	s.t.Helper()
	s.must(s.load(s.look(), false))
	return s
}

// served returns a page, regardless of rights.
func (s *site) served(id int64) (*Page, error) {
	if page := s.current.Load().pages[id]; page != nil {
		return page, nil
	}
	return nil, ErrNotFound
}

// shows is what is served of a page: its forms, each with the label of its
// first field, in page order; "-" when there is no such page.
func (s *site) shows(id int64) string {
	s.t.Helper()
	page, err := s.served(id)
	if errors.Is(err, ErrNotFound) {
		return "-"
	}
	s.must(err)
	var list []string
	for _, f := range page.Forms {
		testkit.Same(s.t, "a form of page stands on page", f.PageID, id)
		list = append(list, f.ID+"="+f.Fields[0].Label)
	}
	return strings.Join(list, " ")
}

func (s *site) wants(id int64, want, when string) {
	s.t.Helper()
	if got := s.shows(id); got != want {
		s.t.Errorf("%s: page %d shows %q, want %q", when, id, got, want)
	}
}

// logged returns how many lines of the log hold all the words, and forgets them.
func (s *site) logged(words ...string) int {
	n := 0
	for line := range strings.Lines(s.log.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			n++
		}
	}
	s.log.Reset()
	return n
}

// form is a block that holds one form with one field.
func form(id, label string) string {
	return fmt.Sprintf("```yaml form\nform: %s\nfields:\n  - {id: f, type: textfield, label: %s}\n```\n\n", id, label)
}

// broken is a block that names its form and can't be used.
func broken(id string) string {
	return fmt.Sprintf("```yaml form\nform: %s\nfields:\n  - {id: f, type: nonsense}\n```\n\n", id)
}

// nameless is a block that does not even tell which form it is.
const nameless = "```yaml form\nfields:\n  - {id: f, type: textfield}\n```\n\n"
