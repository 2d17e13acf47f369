package browsertest

import (
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/testkit"
)

// Each fault is found, and only that one.
func TestFaultsAreFound(t *testing.T) {
	site := newSite(t)
	for name, want := range map[string]string{
		"axe":     "axe: color-contrast: Elements must meet minimum color contrast ratio thresholds",
		"console": "on the console: a message 7",
		"throw":   "on the console: Uncaught Error: an exception",
		"csp":     "Content Security Policy",
		"missing": "on the console: Failed to load resource: the server responded with a status of 404 (Not Found) " + site + "/none.png",
		"shift":   "the layout has shifted by 0.",
		"wide":    "pixels wider than the window",
	} {
		t.Run(name, func(t *testing.T) {
			got := failures(t, func(t testing.TB) {
				p := Open(t, site+"/"+name, Options{})
				if name == "shift" {
					p.Wait("it has moved", func() bool { return p.Title() == "moved" })
				}
				p.Check()
			})
			if len(got) != 1 || !strings.Contains(got[0], want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// A page without faults has none in any kind of browser.
func TestNothingIsFoundOnACleanPage(t *testing.T) {
	site := newSite(t)
	for _, options := range []Options{
		{}, {Width: 360}, {Dark: true}, {Width: 360, Dark: true, NoScript: true}, {Zoom: 4}, {Print: true},
	} {
		for _, name := range []string{"clean", "form"} {
			Open(t, site+"/"+name, options).Check()
		}
	}
}

// What axe-core finds tells the rule, the reason and the element.
func TestAxeNamesTheElement(t *testing.T) {
	p := Open(t, newSite(t)+"/axe", Options{NoScript: true})
	list := p.Axe()
	if len(list) != 1 {
		t.Fatalf("%q", list)
	}
	for _, want := range []string{"color-contrast", "https://dequeuniversity.com/", `[p]: <p class="pale">A pale text.</p>`, "Fix any of the following"} {
		if !strings.Contains(list[0], want) {
			t.Errorf("%s: not in %s", want, list[0])
		}
	}
}

// A test that expects errors reads them, and does not fail.
func TestExpectedConsoleErrors(t *testing.T) {
	p := Open(t, newSite(t)+"/console", Options{ConsoleErrors: true})
	p.Go(p.Address())
	if got := p.ConsoleErrors(); len(got) != 2 || !strings.HasPrefix(got[1], "a message 7") {
		t.Errorf("%q", got)
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

func TestOptions(t *testing.T) {
	site := newSite(t)
	for name, test := range map[string]struct {
		options    Options
		expression string
	}{
		"default": {Options{}, `innerWidth === 1280 && !matchMedia("(prefers-color-scheme: dark)").matches`},
		"narrow":  {Options{Width: 360, Height: 700}, `innerWidth === 360 && innerHeight === 700`},
		"zoom":    {Options{Zoom: 4}, `innerWidth === 320 && devicePixelRatio === 4`},
		"dark":    {Options{Dark: true}, `getComputedStyle(document.body).backgroundColor === "rgb(17, 17, 17)"`},
		"print":   {Options{Print: true}, `getComputedStyle(document.body).marginTop === "48px"`},
		"script":  {Options{}, `document.getElementById("script").textContent === "JavaScript is on"`},
		"none":    {Options{NoScript: true}, `document.getElementById("script").textContent === "JavaScript is off"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := Open(t, site+"/form", test.options)
			p.Check() // axe-core must leave JavaScript off
			p.Reload()
			if !Eval[bool](p, test.expression) {
				t.Errorf("not so: %s", test.expression)
			}
		})
	}
}

func TestFormsByLabels(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.txt")
	testkit.WriteFile(t, file, "text")
	for _, options := range []Options{{}, {NoScript: true, Width: 360}} {
		p := Open(t, newSite(t)+"/form", options)
		p.Fill("Name", "somebody")
		p.Fill("Name", "Ada")
		p.Fill("Day", "2026-03-01")
		p.Select("Colour", "Green")
		p.Attach("File", file)
		p.In("Tea").Click("radio", "Yes")
		p.In("Milk").Click("radio", "No")
		if p.Value("Name") != "Ada" || p.Value("Day") != "2026-03-01" || p.Value("Colour") != "g" ||
			p.In("Tea").Value("Yes") != "on" || p.In("Milk").Value("Yes") != "off" {
			t.Error("the fields do not hold what was filled in")
		}
		p.Loads(func() { p.Click("button", "Send") })
		if want := "Ada, 2026-03-01, g, yes, no, a.txt"; !strings.Contains(p.Text(), want) || p.Status() != 200 || p.Title() != "Sent" {
			t.Errorf("%d %s: %s, want %s", p.Status(), p.Title(), p.Text(), want)
		}
		p.Back()
		if p.Address() != Eval[string](p, "location.origin")+"/form" || !p.Has("button", "Send") {
			t.Errorf("back is at %s: %s", p.Address(), p.Text())
		}
		p.Fill("Name", "")
		p.Loads(func() { p.Click("button", "Send") })
		if p.Status() != 422 { // which is no error of the page
			t.Errorf("status %d: %s", p.Status(), p.Text())
		}
		p.Go(p.Address()) // 200 at the same address makes the 422 no error either
	}
}

// What people do not perceive is not found.
func TestHiddenElements(t *testing.T) {
	p := Open(t, newSite(t)+"/form", Options{})
	if p.Has("button", "Secret") || !p.Has("link", "Elsewhere") || p.Has("button", "Elsewhere") {
		t.Error("hidden elements are found, or others are not")
	}
}

func TestUnknownOptionsAndKeys(t *testing.T) {
	site := newSite(t)
	for want, act := range map[string]func(p *Page){
		`"Colour" has no option "Blue"`: func(p *Page) { p.Select("Colour", "Blue") },
		`there is no key "Any"`:         func(p *Page) { p.Press("Any") },
	} {
		got := failures(t, func(t testing.TB) { act(Open(t, site+"/form", Options{})) })
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Who has no chromium is told how to get it.
func TestMissingBrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := new(browser).start(); err == nil || !strings.Contains(err.Error(), "make test-deps") {
		t.Error(err)
	}
}

func TestKeyboard(t *testing.T) {
	p := Open(t, newSite(t)+"/form", Options{NoScript: true})
	p.Press("Tab")
	p.Type("Ada")
	if got := p.Focused(); got != `textbox "Name"` {
		t.Errorf("%s has the focus", got)
	}
	var seen []string
	for p.Focused() != `button "Send"` {
		p.Press("Tab")
		seen = append(seen, p.Focused())
		if len(seen) > 20 {
			t.Fatalf("the button is not reached: %q", seen)
		}
	}
	if !slices.Contains(seen, `combobox "Colour"`) {
		t.Errorf("%q", seen)
	}
	p.Press("Shift+Tab")
	if got := p.Focused(); got != `radio "Yes"` && got != `radio "No"` {
		t.Errorf("%s has the focus", got)
	}
	p.Press("Space", "Tab")
	p.Loads(func() { p.Press("Enter") })
	if !strings.Contains(p.Text(), "Ada, ") {
		t.Error(p.Text())
	}
}

// Tests share no cookies. Tabs of one test do.
func TestCookiesStayInTheirContext(t *testing.T) {
	site := newSite(t)
	p := Open(t, site+"/form", Options{})
	p.Fill("Name", "Ada")
	p.Loads(func() { p.Click("button", "Send") })
	p.Tab(site + "/whoami").WaitText("You are Ada.")
	Open(t, site+"/whoami", Options{}).WaitText("You are nobody.")
}

// Names below .test are this machine, and nothing else is reachable.
func TestOtherSites(t *testing.T) {
	site := newSite(t)
	Open(t, strings.Replace(site, "127.0.0.1", "wiki.test", 1)+"/clean", Options{}).WaitText("All is well.")
	got := failures(t, func(t testing.TB) { Open(t, "http://example.org/", Options{}) })
	if len(got) == 0 || !strings.Contains(got[0], "ERR_NAME_NOT_RESOLVED") {
		t.Errorf("%q", got)
	}
}

func TestScreenshots(t *testing.T) {
	dir, site := t.TempDir(), newSite(t)
	Screenshots(t, dir, []Shot{
		{Name: "clean", Address: site + "/clean", Options: Options{Width: 360, Height: 600, Dark: true}},
		{Name: "form", Address: site + "/clean", Prepare: func(p *Page) { p.Go(site + "/form") }},
	})
	for name, width := range map[string]int{"clean": 360, "form": 1280} {
		file, err := os.Open(filepath.Join(dir, name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if picture, err := png.Decode(file); err != nil || picture.Bounds().Dx() != width {
			t.Errorf("%s: %v, %v, want a width of %d", name, picture.Bounds(), err, width)
		}
	}
}
