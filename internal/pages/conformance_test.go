package pages_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/pages/pagestest"
	"github.com/formulary/formulary/internal/testkit"
)

// files writes Markdown files.
type files struct {
	t    *testing.T
	dir  string
	last int64 // page id
}

func (w *files) must(err error) {
	w.t.Helper()
	testkit.Must(w.t, err)
}

func (w *files) file(id int64) string { return filepath.Join(w.dir, fmt.Sprintf("%d.md", id)) }

func (w *files) Write(p pagestest.Page) int64 {
	if p.ID == 0 {
		w.last++
		p.ID = w.last
	}
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %q\n", p.Title)
	for key, list := range map[string][]string{"view": p.View, "edit": p.Edit} {
		if list != nil {
			fmt.Fprintf(&b, "%s: [%s]\n", key, quoted(list))
		}
	}
	b.WriteString("---\n")
	for _, id := range p.Forms {
		fmt.Fprintf(&b, "```yaml form\nform: %s\nfields:\n  - {id: f, type: textfield, label: F}\n```\n", id)
	}
	w.must(os.WriteFile(w.file(p.ID), []byte(b.String()), 0o600))
	return p.ID
}

func quoted(list []string) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%q, ", s)
	}
	return b.String()
}

func (w *files) Remove(id int64) { w.must(os.Remove(w.file(id))) }

func (w *files) Away(away bool) {
	from, to := w.dir, w.dir+".away"
	if !away {
		from, to = to, from
	}
	w.must(os.Rename(from, to))
}

func (w *files) User(name string) pages.User { return pagestest.FileUser(name) }

func TestDirectoryIsASource(t *testing.T) {
	pagestest.Run(t, func(t *testing.T) (pages.Source, pagestest.Wiki) {
		w := &files{t: t, dir: filepath.Join(t.TempDir(), "pages")}
		w.must(os.Mkdir(w.dir, 0o700))
		source, err := pages.OpenDirectory(w.dir, nil, slog.New(slog.DiscardHandler))
		w.must(err)
		return source, w
	})
}
