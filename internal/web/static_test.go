package web

import (
	"bytes"
	"compress/gzip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// maxWeight is what a page may weigh with all that it loads, compressed,
// besides what users wrote.
const maxWeight = 60_000

func TestWeight(t *testing.T) {
	_, b := newAlice(t, wiki, func(o *envOptions) { o.BrandCSS = []byte("h1 { color: teal }") })
	b.fill(survey, "comment", "c")
	for _, path := range []string{"/", "/page/1", survey, survey + "/results", survey + "/submission/1", survey + "/submission/1/change", "/author", "/login"} {
		page := b.get(path)
		weight, files := compressed(page.body), b.loads(page)
		for _, content := range files {
			weight += compressed(content)
		}
		if weight > maxWeight {
			t.Errorf("%s weighs %d bytes", path, weight)
		}
	}
	more := 0 // script of home that only authors load
	_, author := newAuthors(t, wiki)
	for path, content := range author.loads(author.get("/")) {
		if strings.HasSuffix(path, "/home.js") || strings.HasSuffix(path, "/dom.js") {
			more += compressed(content)
		}
	}
	if more == 0 || more > 760 {
		t.Errorf("home loads %d bytes of script for authors", more)
	}
	script := b.get("/embed.js")
	if script.status != 200 || compressed(script.body) > 5000 {
		t.Errorf("/embed.js: %d, %d bytes", script.status, compressed(script.body))
	}
	for name, want := range map[string]string{ // without these, browsers do not run it in the page of a wiki
		"Content-Type": "text/javascript; charset=utf-8", "Cross-Origin-Resource-Policy": "cross-origin",
		"Cache-Control": "public, max-age=3600",
	} {
		if got := script.header.Get(name); got != want {
			t.Errorf("/embed.js: %s is %q, want %q", name, got, want)
		}
	}
}

// loads are the static files that a page loads, with the modules that its
// modules import, by path. Each must be there, and be kept for a year.
func (b *browser) loads(page *answer) map[string]string {
	b.t.Helper()
	files := map[string]string{}
	var load func(path string)
	load = func(path string) {
		if _, known := files[path]; known {
			return
		}
		file := b.get(path)
		if file.status != 200 || file.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || !fingerprinted.MatchString(path) {
			b.t.Errorf("%s: %d, %q", path, file.status, file.header.Get("Cache-Control"))
		}
		files[path] = file.body
		for _, imported := range regexp.MustCompile(`from "\./([^"]+)"`).FindAllStringSubmatch(file.body, -1) {
			load(path[:strings.LastIndex(path, "/")+1] + imported[1])
		}
	}
	for _, n := range slices.Concat(page.find("link[href]"), page.find("img"), page.find("script[src]")) {
		if attribute(n, "rel") != "expect" {
			load(attribute(n, "href") + attribute(n, "src"))
		}
	}
	if len(files) < 2 {
		b.t.Errorf("%s loads %d files", page.path, len(files))
	}
	return files
}

// The head of a page names all modules that its modules import. So browsers ask for all at once.
func TestModulesAreLoadedAhead(t *testing.T) {
	_, b := newAlice(t, wiki)
	b.fill(survey, "comment", "c")
	for _, path := range []string{
		"/", "/page/1", survey, survey + "?lang=de", "/embed" + survey, survey + "/results", survey + "/submission/1/change", "/author", "/none",
	} {
		page := b.get(path)
		var modules, want, got []string
		for _, n := range page.find(`script[type="module"]`) {
			modules = append(modules, attribute(n, "src"))
		}
		own := len(modules)
		for i := 0; i < len(modules); i++ {
			dir := modules[i][:strings.LastIndex(modules[i], "/")+1]
			for _, m := range regexp.MustCompile(`(?s)(?:\A|\n)(?:im|ex)port\b[^;]*?"\./([^"]+)"`).FindAllStringSubmatch(b.get(modules[i]).body, -1) {
				if !slices.Contains(modules, dir+m[1]) {
					modules = append(modules, dir+m[1])
				}
			}
		}
		want = modules[own:]
		for _, n := range page.find(`link[rel="modulepreload"]`) {
			got = append(got, attribute(n, "href"))
		}
		slices.Sort(want)
		slices.Sort(got)
		testkit.Same(t, path, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if links := newEnv(t, wiki).browser().get("/login").find(`link[rel="modulepreload"]`); len(links) > 0 {
		t.Error("a page without modules loads some")
	}
}

var fingerprinted = regexp.MustCompile(`^/static/[0-9a-f]{16}/[a-z-]+\.(css|js|svg)$`)

func compressed(text string) int {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Len()
}

func TestStaticFiles(t *testing.T) {
	e := newEnv(t, wiki)
	b := e.browser()
	for _, path := range []string{"/static/style.css", "/static/", "/static/0000000000000000/gone.css", "/static/0000000000000000/brand.css", "/static/..%2fweb.go"} {
		b.get(path).want(404, "There is no page at this address.")
	}
	// What a page of another version asks for.
	for name, want := range map[string]string{"style.css": ":root", "form.js": "import", "icon.svg": "<svg"} {
		file := b.get("/static/0000000000000000-de/" + name)
		if file.status != 200 || file.header.Get("Cache-Control") != "no-cache" || !strings.Contains(file.body, want) {
			t.Errorf("%s of another version: %d, %q", name, file.status, file.header.Get("Cache-Control"))
		}
	}
	if page := b.get("/login"); strings.Contains(page.body, "brand.") {
		t.Error("a stylesheet that nobody gave is loaded")
	}
}

func TestBrand(t *testing.T) {
	e := newEnv(t, wiki, func(o *envOptions) { o.BrandName, o.BrandCSS = "Acme & Sons", []byte("h1 { color: teal }") })
	page := e.browser().get("/login")
	testkit.Same(t, "title", page.title(), "Sign in – Acme & Sons")
	found := false
	for path, content := range e.browser().loads(page) {
		found = found || strings.Contains(path, "brand.") && content == "h1 { color: teal }"
	}
	if !found {
		t.Error("the stylesheet of the team is not loaded")
	}
}
