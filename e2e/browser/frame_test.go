package browser

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

// TestFrame has all pages begin at one line, with a wide and a narrow font, in windows of three widths, and in both directions.
func TestFrame(t *testing.T) {
	t.Parallel()
	for _, font := range []string{"DejaVu Sans", "Inter"} {
		brand := filepath.Join(t.TempDir(), "brand.css")
		testkit.WriteFile(t, brand, fmt.Sprintf(":root { --font: %q; }", font))
		s := newSite(t, browsertest.Options{}, "--brand-css", brand)
		s.store(t, ann, ann+"-secret", expense, map[string]string{"what": "Train", "amount": "12", "centre": "Sales", "day": "2026-01-31"})
		t.Run(font, func(t *testing.T) {
			p := s.as(t, eve, "/")
			if !browsertest.Eval[bool](p.Page, hasFont(font)) {
				t.Fatalf("the font %s is not installed", font)
			}
			inFrame(t, p, "en")
			inFrame(t, p, "ar")
		})
	}
}

// hasFont tells whether the browser has a font: a text then has another width than without it.
func hasFont(font string) string {
	return fmt.Sprintf(`["serif", "monospace"].some(other => {
		const context = document.createElement("canvas").getContext("2d");
		const width = font => (context.font = "40px " + font, context.measureText("Formulary").width);
		return width("%s, " + other) !== width(other);
	})`, font)
}

// shape has the places of the parts of the frame: the distances of letters and pictures from the start and the top of the window. A
// missing part is 0.
type shape struct{ Brand, Crumb, Title, Header, CrumbTop, Tab, TabTop, Primary int }

const shapeScript = `(() => {
	const rtl = document.dir === "rtl", end = document.documentElement.getBoundingClientRect().right;
	const drawn = selector => {
		const element = document.querySelector(selector), range = document.createRange();
		if (element) range.selectNodeContents(element);
		return element && range.getBoundingClientRect();
	};
	const start = box => box ? Math.round(rtl ? end - box.right : box.left) : 0, top = box => box ? Math.round(box.top) : 0;
	const crumb = drawn(".crumbs a"), tab = drawn(".tabs a");
	return {
		Brand: start(document.querySelector(".brand img").getBoundingClientRect()), Crumb: start(crumb), Title: start(drawn("main h1")),
		Header: Math.round(document.querySelector(".top").getBoundingClientRect().bottom), CrumbTop: top(crumb),
		Tab: start(tab), TabTop: top(tab),
		Primary: [...document.querySelectorAll("main :is(button, .button):not(.secondary, .quiet, .plain, [hidden], [aria-pressed], .swagger-ui *)")]
			.filter(button => button.checkVisibility() && !button.closest("[popover]")).length,
	};
})()`

// inFrame fails the test unless all pages have their parts at the same places.
func inFrame(t *testing.T, p *page, lang string) {
	t.Helper()
	tabs := map[int]shape{} // by the width of the window
	for _, path := range []string{
		"/?lang=" + lang, "/page/1", trip, "/page/12", expense, expense + "/results?view=table", expense + "/results?view=summary",
		expense + "/submission/1", expense + "/submission/1/change", expense + "/submission/1/delete", words, "/author", "/docs", "/none",
	} {
		p.goTo(path)
		for _, width := range []int{360, 768, 1280} {
			p.Resize(width)
			at := browsertest.Eval[shape](p.Page, shapeScript)
			if tabs[width].Tab == 0 {
				tabs[width] = at
			}
			for _, fault := range at.faults(tabs[width]) {
				t.Errorf("%s, %s: %s", lang, p, fault)
			}
			if wide := p.Overflow(); wide > 0 {
				t.Errorf("%s, %s: %d wider than the window", lang, p, wide)
			}
		}
	}
}

// faults lists the parts of a page at wrong places. Tabs are compared with the first page that has some.
func (at shape) faults(tabs shape) (faults []string) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for part, begins := range map[string]int{"breadcrumb": at.Crumb, "title": at.Title} {
		if begins != 0 && (begins < at.Brand-1 || begins > at.Brand+1) {
			add("the %s begins at %d, the brand at %d", part, begins, at.Brand)
		}
	}
	if at.CrumbTop > at.Header+24 {
		add("the breadcrumb is %d below the header", at.CrumbTop-at.Header)
	}
	if at.Primary > 1 {
		add("%d primary buttons", at.Primary)
	}
	if at.Tab != 0 && (at.Tab != tabs.Tab || at.TabTop != tabs.TabTop) {
		add("tabs are at %d, %d, in the other view at %d, %d", at.Tab, at.TabTop, tabs.Tab, tabs.TabTop)
	}
	return faults
}

// TestMenu has the menu of the header open and close as menus do, and Escape give the focus back.
func TestMenu(t *testing.T) {
	t.Parallel()
	s := newSite(t, browsertest.Options{})
	for _, script := range []bool{true, false} {
		s.options.NoScript = !script
		p := s.as(t, ann, "/")
		want := func(after string, open bool) {
			t.Helper()
			if got := browsertest.Eval[bool](p.Page, `document.querySelector("#menu").matches(":popover-open")`); got != open {
				t.Fatalf("script %t, after %s: the menu is open: %t", script, after, got)
			}
		}
		want("loading", false)
		p.openMenu()
		want("a click", true)
		p.want("Write a form", "API", "Sign out")
		p.Press("Escape")
		want("Escape", false)
		testkit.Same(t, "focus", p.Focused(), `button "ann"`)
		p.Press("Enter")
		want("Enter", true)
		p.Press("Tab")
		want("Tab", true)
		if script {
			p.Press("Tab", "Tab", "Tab")
			want("Tab past the last item", false)
			p.openMenu()
		}
		p.Click("heading", "Forms")
		want("a click elsewhere", false)
	}
}
