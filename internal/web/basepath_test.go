package web

import (
	"io/fs"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/formulary/formulary/internal/testkit"
)

// base is the base path of the tests in this file.
const base = "/team/forms"

func belowBase(o *envOptions) {
	o.request.BasePath, o.FrameAncestors, o.BrandCSS = base, []string{wikiSite}, []byte("/* brand */")
}

// TestEverythingIsBelowTheBasePath takes people through all pages, follows every link,
// and looks at every address in every answer.
func TestEverythingIsBelowTheBasePath(t *testing.T) {
	e := newEnv(t, wiki, belowBase)
	alone, framed := e.browser(), e.browserAt("https://forms.example")
	reached := map[string]bool{}
	for _, v := range []struct {
		*browser
		user  string
		below string // the pages that it opens
	}{{alone, "carol", base}, {framed, "alice", base + embedPrefix}} {
		v.visit(v.user, v.below)
		v.crawl(base+"/", base+"/embed.js", base+survey+"/results?sort=rating&limit=1", v.below+"/none",
			v.below+survey+"?comment=a", v.below+survey+"/submission/1", v.below+"/page/3/form/ballot/sent")
		v.postForm(v.below+"/logout", nil).want(200, "Sign in")
		v.postForm(v.below+survey, url.Values{"comment": {"typed"}}).want(403, "not signed in any more")
		for _, n := range v.asked {
			checkAddresses(t, n)
			if n.Code == 200 {
				reached[n.pattern] = true
			}
		}
	}
	for _, r := range routes {
		path, isGet := strings.CutPrefix(r.pattern, "GET ")
		if isGet && !reached["GET "+base+path] {
			t.Errorf("no link led to a page %s", path)
		}
		if isGet && r.framed && !reached["GET "+base+embedPrefix+path] {
			t.Errorf("no link led to a framed page %s", path)
		}
	}
}

// visit signs in, and sends, changes and sees the answers to a form at pages below a
// path.
func (b *browser) visit(user, below string) {
	b.t.Helper()
	b.get(below+survey).want(200, "Sign in")
	next := credentials(user, below+survey)
	b.postForm(below+"/login", with(next, "password", "wrong")).want(422)
	p := b.postForm(below+"/login", next)
	p.want(200, "Survey")
	b.send(below+survey, p.values()).want(422, "There is a problem")
	for range 2 {
		p = b.get(below + survey)
		b.send(below+survey, with(p.values(), "comment", "c", "rating", "2", "state", "open"), chosenFile{"paper", "a b.txt", "text"}).want(200, "Sent")
	}
	p = b.get(below + "/page/3/form/ballot")
	b.send(below+"/page/3/form/ballot", with(p.values(), "vote", "yes")).want(200)
	if strings.HasSuffix(below, embedPrefix) {
		return
	}
	b.fill(below+"/author", "text", "form: a\nfields: [").want(200, "problem")
	b.get(below+survey+"/results?filter[rating]=9").want(200, "No submission matches")
	last := below + survey + "/submission/2"
	b.postForm(last+"/delete", b.get(last+"/delete").values()).want(200, "Submissions")
}

// crawl opens pages, and those that they have links to.
func (b *browser) crawl(from ...string) {
	b.t.Helper()
	const most = 400
	seen := map[string]bool{}
	for len(from) > 0 && len(seen) < most {
		var address string
		address, from = from[0], from[1:]
		if seen[address] || strings.HasPrefix(address, base+"/rest/") { // the API
			continue
		}
		seen[address] = true
		p := b.get(address)
		if p.status >= 400 && address != base+"/none" && address != base+embedPrefix+"/none" {
			b.t.Errorf("GET %s: status %d", address, p.status)
		}
		if strings.HasPrefix(p.header.Get("Content-Type"), "text/html") {
			from = append(from, linksOf(p.root)...)
		}
	}
}

// linksOf are the addresses on this server that the elements of a page load or lead to.
func linksOf(root *html.Node) (links []string) {
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			isAddress := slices.Contains([]string{"href", "src", "action", "formaction", "srcset", "data"}, a.Key)
			isNext := a.Key == "value" && attribute(n, "name") == "next"
			to, _, _ := strings.Cut(a.Val, "#")
			if (isAddress && attribute(n, "method") != "post" || isNext) && to != "" {
				links = append(links, to)
			}
		}
	}
	return links
}

// checkAddresses checks that no address in an answer leads out of the base path.
func checkAddresses(t *testing.T, n *noted) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(n.Body.String()))
	testkit.Must(t, err)
	var addresses []string
	if strings.HasPrefix(n.Header().Get("Content-Type"), "text/html") {
		addresses = linksOf(root)
	}
	for n := range root.Descendants() {
		if n.Data == "form" {
			addresses = append(addresses, attribute(n, "action"))
		}
	}
	if to := n.Header().Get("Location"); to != "" {
		addresses = append(addresses, to)
	}
	for _, a := range slices.Clone(addresses) {
		if u, err := url.Parse(a); err == nil && u.Query().Has("next") {
			addresses = append(addresses, u.Query().Get("next"))
		}
	}
	for _, a := range addresses {
		if !strings.HasPrefix(a, base+"/") && a != "" {
			t.Errorf("%s (%d) leads to %q, which is not below %s", n.what, n.Code, a, base)
		}
	}
}

// TestNoAddressIsWrittenOut: templates and scripts have no path that begins at the
// root. Templates call path and static, and scripts take addresses from elements.
func TestNoAddressIsWrittenOut(t *testing.T) {
	for pattern, files := range map[string]fs.FS{`="/|url\(/`: templateFiles, "[\"'`(]/[a-z]+[/?\"'`]": staticFS} {
		address := regexp.MustCompile(pattern)
		err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(files, name)
			if found := address.Find(text); found != nil {
				t.Errorf("%s: %s", name, found)
			}
			return err
		})
		testkit.Must(t, err)
	}
}

// TestCookiesOfTwoServersOnOneHost: neither gets the session of the other, nor ends it.
func TestCookiesOfTwoServersOnOneHost(t *testing.T) {
	for at, want := range map[string][]string{
		"http://forms.example":  {"formulary=", "; Path=" + base + ";"},
		"https://forms.example": {"__Host-formulary+team+forms=", "; Path=/;"},
	} {
		for _, user := range []string{"alice", ""} {
			b := newEnv(t, wiki, belowBase).browserAt(at).stay()
			a := b.postForm(base+"/login", credentials("alice", ""))
			if user == "" {
				a = b.postForm(base+"/logout", nil)
			}
			set := a.header.Get("Set-Cookie")
			if !strings.HasPrefix(set, want[0]) || !strings.Contains(set, want[1]) {
				t.Errorf("%s: %q", at, set)
			}
			set = b.get(base + "/login?lang=de").header.Get("Set-Cookie")
			if !strings.HasPrefix(set, strings.Replace(want[0], "formulary", "formulary-lang", 1)+"de;") || !strings.Contains(set, want[1]) {
				t.Errorf("%s: %q", at, set)
			}
		}
	}
}
