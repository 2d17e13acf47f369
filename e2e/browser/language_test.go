package browser

import (
	"slices"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

// TestLanguages looks at each page in languages with long words, with other characters, and from right to left.
func TestLanguages(t *testing.T) {
	t.Parallel()
	s := newSite(t, browsertest.Options{})
	const expense = "/page/12/form/expense"
	for _, amount := range []string{"12", "1234.5", "7"} {
		s.store(t, ann, ann+"-secret", expense, map[string]string{"what": "Train", "amount": amount, "centre": "Sales", "day": "2026-01-31"})
	}
	for tag, dir := range map[string]string{"de": "ltr", "ja": "ltr", "ar": "rtl"} {
		t.Run(tag, func(t *testing.T) {
			p := s.as(t, eve, trip)
			look := func(path string) {
				t.Helper()
				if path != "" {
					p.goTo(path)
				}
				testkit.Same(t, path,
					browsertest.Eval[string](p.Page,
						`document.documentElement.lang + " " + getComputedStyle(document.body).direction`),
					tag+" "+dir,
				)
				if dir == "rtl" {
					p.CheckAxe() // the elements are the same in all languages, and the places are not
				}
				p.Check()
			}
			look(trip + "?lang=" + tag)
			p.Loads(func() { browsertest.Eval[bool](p.Page, `document.querySelector("[data-send]").click() ?? true`) })
			look("") // with errors
			if dir == "rtl" {
				wantNotesAtTheRight(t, p)
			}
			for _, path := range []string{
				"/", "/page/3", "/page/5", expense + "/results?view=table", expense + "/results?view=summary&by=centre", expense + "/results?print=true",
				expense + "/submission/1", expense + "/submission/1/change", expense + "/submission/1/delete", "/author", "/none",
			} {
				look(path)
			}
			if dir == "rtl" {
				wantMirrored(t, p, expense)
			}
		})
	}
}

// wantNotesAtTheRight fails the test unless Arabic hints and errors below Latin labels begin at the right.
func wantNotesAtTheRight(t *testing.T, p *page) {
	t.Helper()
	got := browsertest.Eval[[]float64](p.Page, `[...document.querySelectorAll(".field:dir(ltr) > :is([id$=-hint], [id$=-error])")].map((e) => {
		const text = document.createRange();
		text.selectNodeContents(e);
		return Math.round(e.getBoundingClientRect().right - text.getBoundingClientRect().right);
	})`)
	if len(got) < 3 || slices.Max(got) != 0 {
		t.Errorf("hints and errors end %v pixels beside the right", got)
	}
}

// wantMirrored fails the test unless charts, columns that stick and answers are where a page from right to left has them.
func wantMirrored(t *testing.T, p *page, form string) {
	t.Helper()
	const right = `const right = (e) => Math.round(e.getBoundingClientRect().right), find = (s) => document.querySelector(s); `
	want := func(path, what, script string) {
		t.Helper()
		if path != "" {
			p.goTo(path)
		}
		if !browsertest.Eval[bool](p.Page, "(() => {"+right+script+"})()") {
			t.Errorf("%s: %s is at the wrong place", path, what)
		}
	}
	want(form+"/results?view=summary&by=centre", "a bar", `return right(find(".bars rect")) === right(find(".bars svg"))`)
	want("", "a chart of columns", `return right(find(".columns rect")) === right(find(".columns"))`)
	const sticks = `const box = find(".scroll"); box.style.width = "200px"; box.scrollLeft = -100;
		return box.scrollLeft < 0 && Math.abs(right(box) - right(find("tbody th"))) <= 1`
	want("", "the first column of the split summary", sticks)
	want(form+"/results?view=table", "the first column of the table", sticks)
	want(form+"/submission/1", "an answer in Latin letters", `const d = find(".answers dd"), r = document.createRange();
		r.selectNodeContents(d); return right(r) === right(d)`)
	want("/author", "the text beside the numbers of its lines", `return right(find(".gutter")) <= Math.round(find("#text").getBoundingClientRect().left)`)
}
