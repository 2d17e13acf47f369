package browser

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

// The users of testdata/pages. Everybody's password is their name with "-secret"
// after it. eve edits the pages.
const (
	ann = "ann"
	ben = "ben"
	eve = "eve"
)

// Forms of testdata/pages.
const (
	tripPage    = "/page/1"
	trip        = "/page/1/form/trip"
	shirt       = "/page/2/form/shirt"
	vote        = "/page/3/form/vote"
	suggestions = "/page/3/form/suggestions"
	words       = "/page/4/form/words"
	idea        = "/page/7/form/idea"
)

// site is a server with the pages of testdata/pages, as people with one kind of
// browser see it.
type site struct {
	url     string
	pages   string   // directory
	data    string   // directory
	args    []string // of the server, without --data
	kill    func()   // ends the server at once
	options browsertest.Options
}

func newSite(t *testing.T, options browsertest.Options, args ...string) *site {
	t.Helper()
	return newSiteOf(t, "testdata/pages", options, args...)
}

// newSiteOf is a site with the pages of a directory.
func newSiteOf(t *testing.T, dir string, options browsertest.Options, args ...string) *site {
	t.Helper()
	var users strings.Builder
	for _, name := range []string{ann, ben, eve} {
		hash, err := bcrypt.GenerateFromPassword([]byte(name+"-secret"), bcrypt.MinCost)
		testkit.Must(t, err)
		users.WriteString(name + ":" + string(hash) + "\n")
	}
	file := filepath.Join(t.TempDir(), "users.htpasswd")
	testkit.WriteFile(t, file, users.String())
	pages := filepath.Join(t.TempDir(), "pages")
	testkit.Must(t, os.CopyFS(pages, os.DirFS(dir)))
	options.Shell = true
	s := &site{pages: pages, data: t.TempDir(), args: append([]string{"--pages", pages, "--users", file}, args...), options: options}
	s.url, s.kill = startIn(t, s.data, s.args...)
	return s
}

// page is a tab with a few words for what people do there.
type page struct {
	*browsertest.Page
	t    testing.TB
	site *site
}

// open opens a page in a new browser without a session.
func (s *site) open(t testing.TB, path string) *page {
	t.Helper()
	return &page{browsertest.Open(t, s.url+path, s.options), t, s}
}

// as opens a page in a new browser where somebody is signed in.
func (s *site) as(t testing.TB, user, path string) *page {
	t.Helper()
	signedIn := *s
	signedIn.options.Cookies = login(t, s.url, user, user+"-secret")
	p := signedIn.open(t, path)
	p.site = s
	p.wantPath(path)
	return p
}

// login signs in without a browser, and returns the cookies of the session.
func login(t testing.TB, server, user, password string) []*http.Cookie {
	t.Helper()
	body := strings.NewReader(url.Values{"username": {user}, "password": {password}}.Encode())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server+"/login", body)
	testkit.Must(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultTransport.RoundTrip(request)
	testkit.Must(t, err)
	testkit.Must(t, response.Body.Close())
	testkit.Same(t, "status of the sign-in", response.StatusCode, http.StatusSeeOther)
	return response.Cookies()
}

func (p *page) signIn(user string) {
	p.t.Helper()
	p.Fill("User name", user)
	p.Fill("Password", user+"-secret")
	p.press("Sign in")
}

// tab opens a page in another tab of the same browser.
func (p *page) tab(path string) *page {
	p.t.Helper()
	return &page{p.Tab(p.site.url + path), p.t, p.site}
}

func (p *page) goTo(path string) {
	p.t.Helper()
	p.Go(p.site.url + path)
}

// press clicks a button that leads to another document.
func (p *page) press(button string) {
	p.t.Helper()
	p.Loads(func() { p.Click("button", button) })
}

// signOut uses the menu of the header.
func (p *page) signOut() {
	p.t.Helper()
	p.openMenu()
	p.press("Sign out")
}

// openMenu opens the menu of the header, whose button has the person's name.
func (p *page) openMenu() {
	p.t.Helper()
	p.Click("button", browsertest.Eval[string](p.Page, `document.querySelector("header button").textContent`))
}

// follow clicks a link.
func (p *page) follow(link string) {
	p.t.Helper()
	p.Loads(func() { p.Click("link", link) })
}

// back presses the browser's button, and waits until it shows a page whose
// buttons can be pressed. It may have kept that page in memory, in which case
// nothing is loaded.
func (p *page) back(path string) {
	p.t.Helper()
	p.Back()
	p.Wait("the browser is back at "+path, func() bool { return p.path() == path })
	const usable = `document.readyState === "complete" && !document.querySelector("main button:disabled:not([hidden] *)")`
	p.Wait("the page can be used", func() bool { return browsertest.Eval[bool](p.Page, usable) })
}

// path is the address without the server.
func (p *page) path() string {
	p.t.Helper()
	return strings.TrimPrefix(p.Address(), p.site.url)
}

func (p *page) wantPath(want string) {
	p.t.Helper()
	if got := p.path(); got != want {
		p.t.Fatalf("at %s, want %s: %s", got, want, p.Text())
	}
}

// want fails the test unless the page shows all texts.
func (p *page) want(texts ...string) {
	p.t.Helper()
	shown := p.Text()
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			p.t.Errorf("%s: it does not show %q: %s", p, text, shown)
		}
	}
}

func (p *page) wantNot(texts ...string) {
	p.t.Helper()
	shown := p.Text()
	for _, text := range texts {
		if strings.Contains(shown, text) {
			p.t.Errorf("%s: it shows %q: %s", p, text, shown)
		}
	}
}

func (p *page) wantStatus(want int) {
	p.t.Helper()
	if got := p.Status(); got != want {
		p.t.Fatalf("%s: status %d, want %d: %s", p, got, want, p.Text())
	}
}

func (p *page) wantValue(label, want string) {
	p.t.Helper()
	if got := p.Value(label); got != want {
		p.t.Errorf("%s: %s is %q, want %q", p, label, got, want)
	}
}

// wantProblems fails the test unless the page is one with errors, as pages with
// errors are: title, summary with the focus, links to the fields and the same
// words beside them.
func (p *page) wantProblems(problems ...string) {
	p.t.Helper()
	p.want("There is a problem")
	if title := p.Title(); !strings.HasPrefix(title, "Error: ") {
		p.t.Errorf("%s: the title is %q", p, title)
	}
	if !browsertest.Eval[bool](p.Page, `document.activeElement?.matches("[data-error-summary]")`) {
		p.t.Errorf("%s: %s has the focus", p, p.Focused())
	}
	for _, problem := range problems {
		if !p.Has("link", problem) {
			p.t.Errorf("%s: there is no link %q: %s", p, problem, p.Text())
		}
		if n := strings.Count(p.Text(), problem); n != 2 {
			p.t.Errorf("%s: %q is there %d times: %s", p, problem, n, p.Text())
		}
	}
}

// edit replaces a text in the file of a form's page, and waits until the server has
// read it. The end of the test brings the page back.
func (s *site) edit(t testing.TB, form, file, before, after string) {
	t.Helper()
	path := filepath.Join(s.pages, file)
	old, err := os.ReadFile(path)
	testkit.Must(t, err)
	put := func(text string) {
		served := s.get(t, form)
		testkit.WriteFile(t, path, text)
		testkit.Eventually(t, "the edit is served", func() bool { return s.get(t, form) != served })
	}
	put(strings.Replace(string(old), before, after, 1))
	t.Cleanup(func() { put(string(old)) })
}

// get returns what the API answers to eve.
func (s *site) get(t testing.TB, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.url+"/rest/forms/1.0"+path, nil)
	testkit.Must(t, err)
	request.SetBasicAuth(eve, eve+"-secret")
	response, err := http.DefaultClient.Do(request)
	testkit.Must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("read %s: status %d, %v", path, response.StatusCode, err)
	}
	return string(body)
}

// count returns how many submissions a form has.
func (s *site) count(t testing.TB, form string) int {
	t.Helper()
	var list []json.RawMessage
	testkit.Must(t, json.Unmarshal([]byte(s.get(t, form+"/result")), &list))
	return len(list)
}
