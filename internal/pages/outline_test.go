package pages_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/pages/pagestest"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki"
)

// After a restart, a list has the pages of before with their forms, as far as the wiki lets the user read them. They are
// read behind it. A page whose forms are gone is forgotten.
func TestWikiIsListedAfterRestart(t *testing.T) {
	confluence, mediaWiki := newConfluence(t, false), newMediaWiki(t)
	for name, on := range map[string]struct {
		pagestest.Wiki
		client wiki.Wiki
		format markup.Format
	}{
		"mediawiki":  {mediaWiki, mediaWiki.client, markup.Wikitext},
		"confluence": {confluence, confluence.client, markup.Confluence},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := enginetest.Default().Open(t)
			start := func() *pages.Wiki {
				w := newWiki(on.client, time.Minute, time.Now)
				w.Memory, w.Format = memory, on.format
				return w
			}
			ann, bob := on.User("ann"), on.User("bob")
			ids := []int64{
				on.Write(pagestest.Page{Title: "Lunch", Forms: []string{"menu", "guests"}}),
				on.Write(pagestest.Page{Title: "Gone", Forms: []string{"a"}}),
				on.Write(pagestest.Page{Title: "Emptied", Forms: []string{"a"}}),
				on.Write(pagestest.Page{Title: "Secret", Forms: []string{"a"}, View: []string{ann.Name}, Edit: []string{ann.Name}}),
			}
			for _, id := range ids {
				_, err := start().Page(t.Context(), ann, id)
				testkit.Must(t, err)
			}
			testkit.Eventually(t, "the pages are remembered", func() bool { return outlines(t, memory) == len(ids) })
			on.Remove(ids[1])
			on.Write(pagestest.Page{ID: ids[2], Title: "Emptied"})

			again := start()
			testkit.Same(t, "bob sees", listed(t, again, bob), "Lunch: menu guests (not read); Emptied: a (not read)")
			testkit.Eventually(t, "bob's pages are read", func() bool { return listed(t, again, bob) == "Lunch: menu guests" })
			testkit.Same(t, "ann sees", listed(t, again, ann), "Lunch: menu guests; Secret: a (not read)")
			testkit.Eventually(t, "a page without forms is forgotten", func() bool { return outlines(t, memory) == len(ids)-1 })
		})
	}
}

// panicking is a memory of one page, and a wiki whose texts can't be read.
type panicking struct {
	wiki.Wiki
	id int64
}

func (panicking) SetOutline(context.Context, int64, string) error { panic("at the disco") }

func (p panicking) Outlines(context.Context) ([]string, error) {
	return []string{fmt.Sprintf(`{"Page":%d,"Forms":[["a","en","A"]]}`, p.id)}, nil
}

func (panicking) Text(context.Context, wiki.Caller, int64) (wiki.Text, error) { panic("at the disco") }

// logged are the lines of a log.
type logged chan string

func (l logged) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// A panic while a page is remembered, or read behind a list, is logged. It does not end the process.
func TestPanicBehindRequestIsLogged(t *testing.T) {
	for want, call := range map[string]func(l *live){
		"can't be remembered": func(l *live) { l.wants("the page", caller("ann"), "a") },
		"read behind a list": func(l *live) {
			l.Wiki.Wiki = panicking{l.fake, l.id}
			listed(l.T, l.Wiki, caller("ann"))
		},
	} {
		l, log := newLive(t), make(logged, 100)
		l.Memory, l.Logger = panicking{id: l.id}, slog.New(slog.NewTextHandler(log, nil))
		call(l)
		for line := ""; !strings.Contains(line, want) || !strings.Contains(line, "at the disco"); {
			line = <-log
		}
	}
}

func outlines(t *testing.T, memory pages.Memory) int {
	t.Helper()
	all, err := memory.Outlines(t.Context())
	testkit.Must(t, err)
	return len(all)
}

func listed(t *testing.T, w *pages.Wiki, user pages.User) string {
	t.Helper()
	list, err := w.List(t.Context(), user)
	testkit.Must(t, err)
	var texts []string
	for _, page := range list {
		text := page.Title + ":"
		for _, f := range page.Forms {
			text += " " + f.ID
		}
		if page.IsOutline {
			text += " (not read)"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}
