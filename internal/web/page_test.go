package web

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/testkit"
)

// editedSource is a source whose pages are edited right after each look at one.
type editedSource struct {
	pages.Source
	looks atomic.Int64
	edit  func()
}

func (s *editedSource) Page(ctx context.Context, user pages.User, id int64) (pages.View, error) {
	page, err := s.Source.Page(ctx, user, id)
	if s.looks.Add(1); s.edit != nil {
		s.edit()
	}
	return page, err
}

// A page is shown in one version with all its forms, also while it is edited.
func TestPageIsOneVersion(t *testing.T) {
	text := func(forms ...string) string {
		var b strings.Builder
		b.WriteString("---\ntitle: Many\n---\nText.\n\n")
		for _, id := range forms {
			fmt.Fprintf(&b, "```form\nform: %s\nfields:\n  - {id: a, type: textfield, label: Label of %s}\n```\n", id, id)
		}
		return b.String()
	}
	source := &editedSource{}
	e := newEnv(t, map[string]string{"1.md": text("first", "second", "third")}, func(o *envOptions) {
		source.Source = o.service.Pages
		o.service.Pages = source
	})
	b := e.signedIn("alice")
	source.looks.Store(0)
	source.edit = func() { e.Write(t, "1.md", text("first")) }
	b.get("/page/1").want(200, "Label of first", "Label of second", "Label of third")
	testkit.Same(t, "the page was looked up times", source.looks.Load(), 1)
	source.edit = nil
	p := b.get("/page/1")
	if p.want(200, "Label of first"); strings.Contains(p.body, "Label of second") {
		t.Error("a form that has left the page is shown")
	}
}

// A page reads the submission that it shows once, however large it is.
func TestSubmissionIsReadOnce(t *testing.T) {
	e := newEnv(t, wiki)
	var reads atomic.Int64
	e.Store.FailWith(func(_ context.Context, operation string) error {
		if operation == "get" {
			reads.Add(1)
		}
		return nil
	})
	b := e.signedIn("alice")
	const form = "/page/2/form/once"
	path := strings.TrimSuffix(b.fill(form, "text", "mine").path, "?sent")
	for _, tt := range []struct {
		path string
		want int64
	}{{path, 1}, {path + "/change", 1}, {form, 1}, {"/page/2", 0}} { // the form leads to its submission
		reads.Store(0)
		b.get(tt.path).want(200)
		testkit.Same(t, tt.path, reads.Load(), tt.want)
	}
}
