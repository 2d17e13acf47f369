package browsertest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each fault is found, and only that one: also a fault of a dark page, or of a
// narrow one.
func TestFaultsAreFound(t *testing.T) {
	site := newSite(t)
	Open(t, site+"/clean", Options{}) // ends the test if there is no browser
	for name, want := range map[string]string{
		"axe":     "axe: color-contrast: Elements must meet minimum color contrast ratio thresholds",
		"dark":    "(1280 px, dark true, JavaScript true): axe: color-contrast",
		"narrow":  "(360 px, dark false, JavaScript true): it is",
		"console": "on the console: a message 7",
		"throw":   "on the console: Uncaught Error: an exception",
		"csp":     "Content Security Policy",
		"missing": "on the console: Failed to load resource: the server responded with a status of 404 (Not Found) " + site + "/none.png",
		"shift":   "the layout has shifted by 0.00",
		"parsing": "the layout has shifted by 0.0000, and by 0.",
	} {
		t.Run(name, func(t *testing.T) {
			got := failures(t, func(t testing.TB) {
				p := Open(t, site+"/"+name, Options{})
				if name == "shift" || name == "parsing" {
					p.Wait("it has moved", func() bool { return p.Title() == "moved" })
				}
				p.Check()
			})
			// What depends on the width or the colours is there in two of four looks.
			if len(got) == 0 || len(got) > 2 || !strings.Contains(got[0], want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// A page without faults has none in any kind of browser, and Check leaves the
// browser as it was.
func TestNothingIsFoundOnACleanPage(t *testing.T) {
	site := newSite(t)
	for want, options := range map[string]Options{
		`innerWidth === 1280 && !matchMedia("(prefers-color-scheme: dark)").matches`:                  {},
		`innerWidth === 360 && innerHeight === 700`:                                                   {Width: 360, Height: 700},
		`getComputedStyle(document.body).backgroundColor === "rgb(17, 17, 17)"`:                       {Dark: true},
		`innerWidth === 360 && document.getElementById("script").textContent === "JavaScript is off"`: {Width: 360, Dark: true, NoScript: true},
		`innerWidth === 320 && devicePixelRatio === 4`:                                                {Zoom: 4},
		`getComputedStyle(document.body).marginTop === "48px"`:                                        {Print: true},
	} {
		p := Open(t, site+"/form", options)
		for range 2 {
			p.Check()
		}
		p.Reload()
		if !Eval[bool](p, want) {
			t.Errorf("%+v: not so: %s", options, want)
		}
	}
}

// html-validate reads the document that the server sent, not what the browser
// has made of it.
func TestInvalidHTMLIsFound(t *testing.T) {
	site := newSite(t)
	p := Open(t, site+"/html", Options{})
	var list sources
	for range 2 { // the same document counts once
		list.add("bad", p.Source())
	}
	p.Go(site + "/form")
	list.add("good", p.Source())
	got, err := list.validate(t.Context())
	want := []string{
		"bad:14:2: Element <p> is implicitly closed by adjacent <div> (no-implicit-close)",
		"bad:14:39: Stray end tag '</p>' (close-order)",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	var out strings.Builder
	if code := report(&list, &out); code != 1 || out.String() != strings.Join(want, "\n")+"\n" {
		t.Errorf("exit code %d: %s", code, &out)
	}
}

// Check keeps the document for Run.
func TestCheckKeepsTheDocument(t *testing.T) {
	p := Open(t, newSite(t)+"/clean", Options{})
	p.Check()
	documents.mu.Lock()
	defer documents.mu.Unlock()
	if !documents.seen[p.Source()] {
		t.Error("it is not kept")
	}
}
