package browser

import (
	"path/filepath"
	"slices"
	"strings"
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

// TestLanguageKeepsAnswers has people change the language of forms that are half filled in.
func TestLanguageKeepsAnswers(t *testing.T) {
	t.Parallel()
	s := newSiteOf(t, "testdata/filling", browsertest.Options{})
	t.Run("signed in", func(t *testing.T) { languageKeepsAnswers(t, s) })
	t.Run("anonymous", func(t *testing.T) { languageKeepsAnonymousAnswers(t, s) })
	plain := *s
	plain.options.NoScript = true
	t.Run("without a script", func(t *testing.T) { languageWithoutScript(t, &plain) })
}

// speak chooses a language, and waits until the page speaks it.
func (p *page) speak(label, language, tag string) {
	p.t.Helper()
	p.Select(label, language)
	p.Wait("the page speaks "+language, func() bool {
		return browsertest.Eval[string](p.Page, `document.documentElement.lang + " " + document.activeElement.id`) == tag+" language"
	})
}

func languageKeepsAnswers(t *testing.T, s *site) {
	p := s.as(t, ann, order)
	offer := filepath.Join(t.TempDir(), "offer.txt")
	testkit.WriteFile(t, offer, "An offer")
	p.Fill("Item", "Desk")
	p.Fill("Price", "150")
	p.Fill("Why so much?", "It is large.")
	p.Fill("Price", "50") // the reason is hidden
	p.Select("Size", "large")
	p.In("Extras").Click("checkbox", "express")
	p.Attach("Offer", offer)
	key := keyOf(p)
	p.speak("Language", "Deutsch", "de")
	p.want("Senden", "offer.txt")
	p.wantPath(order)
	p.wantValue("Item", "Desk")
	p.wantValue("Size", "large")
	if p.Value("express") != "on" || keyOf(p) != key {
		t.Error("a box is not ticked, or the key is another one")
	}
	p.Check()
	p.Fill("Price", "120")
	p.Wait("scripts speak German", func() bool {
		return strings.HasPrefix(browsertest.Eval[string](p.Page, `document.querySelector("[role=status]").textContent`), "1 Frage kam hinzu")
	})
	p.wantValue("Why so much?", "It is large.")
	p.Fill("Item", "Lamp") // the draft goes on
	p.Reload()
	p.wantValue("Item", "Lamp")
	p.wantValue("Why so much?", "It is large.")
	p.Attach("Offer", offer)
	p.press("Senden")
	p.want("Lamp", "120", "It is large.", "express", "offer.txt")
	p.Loads(func() { p.Select("Sprache", "English") }) // nothing is filled in here
	p.want("Language")
}

func languageKeepsAnonymousAnswers(t *testing.T, s *site) {
	p := s.as(t, ann, "/page/20?lang=en") // with another form
	p.Fill("Word", "hush")
	p.Fill("Item", "Desk")
	p.speak("Language", "Deutsch", "de")
	p.wantPath("/page/20")
	p.wantValue("Word", "hush")
	p.wantValue("Item", "Desk")
	kept := browsertest.Eval[string](p.Page, `JSON.stringify([{...localStorage}, {...sessionStorage}, history.state, name])`)
	if strings.Contains(kept, "hush") {
		t.Errorf("the browser keeps %s", kept)
	}
	p.goTo("/page/20/form/secret")
	p.want("Senden")
	p.wantValue("Word", "")
}

func languageWithoutScript(t *testing.T, s *site) {
	p := s.open(t, order)
	p.Fill("User name", ann)
	p.Select("Language", "Deutsch")
	p.press("Change language")
	p.wantValue("Benutzername", ann)
	p.Fill("Passwort", ann+"-secret")
	p.Loads(func() { p.Press("Enter") })
	p.wantPath(order)
	p.Fill("Item", "Chair")
	p.Select("Sprache", "English")
	p.press("Sprache wechseln")
	p.wantValue("Item", "Chair")
	p.Check()
	p.Fill("Item", "Stool")
	p.Loads(func() { p.Press("Enter") }) // sends the form
	p.want("Sent", "Stool")
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
	const sticks = `const box = find(".scroll"); box.style.minWidth = 0; box.style.width = "200px"; box.scrollLeft = -100;
		return box.scrollLeft < 0 && Math.abs(right(box) - right(find("tbody th"))) <= 1`
	want("", "the first column of the split summary", sticks)
	want(form+"/results?view=table", "the first column of the table", sticks)
	want(form+"/submission/1", "an answer in Latin letters", `const d = find(".answers dd"), r = document.createRange();
		r.selectNodeContents(d); return right(r) === right(d)`)
	want("/author", "the text beside the numbers of its lines", `const left = (s) => find(s).getBoundingClientRect().left;
		find(".author").dataset.tab = "text";
		return left(".gutter div") > left(".editor") + 40`)
}
