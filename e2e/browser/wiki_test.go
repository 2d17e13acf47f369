package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki/mediawikitest"
)

// documented returns the first block of docs/wikis.md in a language.
func documented(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/wikis.md")
	testkit.Must(t, err)
	found := regexp.MustCompile("(?s)\n```" + language + "\n(.*?\n)```\n").FindSubmatch(text)
	if found == nil {
		t.Fatalf("docs/wikis.md has no block in %s", language)
	}
	return string(found[1])
}

// liveWiki is a MediaWiki and a server with its pages and its users, on one host
// without TLS. It has a page with the form of docs/wikis.md, which Sara edits.
type liveWiki struct {
	*site
	wiki   *mediawikitest.Server
	origin string
	id     int64  // of the page
	form   string // path
}

func newLiveWiki(t *testing.T, options browsertest.Options) *liveWiki {
	t.Helper()
	wiki := mediawikitest.Start(t)
	mux := http.NewServeMux()
	host := httptest.NewServer(mux)
	t.Cleanup(host.Close)
	wiki.SetAddress(host.URL)
	server := start(t, "--pages", "mediawiki+"+wiki.API, "--users", "wiki", "--base-path", "/forms", "--wiki-recheck", "1s", "--trusted-proxies", "127.0.0.1")
	mux.Handle("/forms/", proxyTo(t, strings.TrimSuffix(server, "/forms")))
	mux.Handle("/", proxyTo(t, wiki.URL))
	mux.HandleFunc("/favicon.ico", func(http.ResponseWriter, *http.Request) {}) // this MediaWiki has none

	w := &liveWiki{wiki: wiki, origin: host.URL}
	w.site = &site{url: w.origin + "/forms", options: options}
	wiki.Write("MediaWiki:Common.js", documented(t, "js"))
	w.id = wiki.Write("Summer party", documented(t, "mediawiki"))
	wiki.SetRights(w.id, nil, []string{"Sara"})
	w.form = fmt.Sprintf("/page/%d/form/party", w.id)
	return w
}

func proxyTo(t *testing.T, address string) http.Handler {
	t.Helper()
	to, err := url.Parse(address)
	testkit.Must(t, err)
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.SetXForwarded()
		r.Out.Host = r.In.Host
	}}
}

func (w *liveWiki) page() string { return w.origin + "/index.php?title=Summer_party" }

// signIn signs in to the wiki itself, and goes on to its page.
func (w *liveWiki) signIn(p *page, user string) {
	p.t.Helper()
	p.Go(w.origin + "/index.php?title=Special:UserLogin&returnto=Summer_party")
	p.Fill("Username", user)
	p.Fill("Password", mediawikitest.Password(user))
	p.press("Log in")
	p.WaitText("Summer party")
}

func TestMediaWiki(t *testing.T) {
	t.Parallel()
	w := newLiveWiki(t, browsertest.Options{})
	t.Run("form", func(t *testing.T) { formInMediaWiki(t, w) })
	t.Run("without form", func(t *testing.T) { mediaWikiWithoutForm(t, w) })
}

// People without a password sign in at the wiki itself, and continue where they were.
func TestSignInAtTheWiki(t *testing.T) {
	t.Parallel()
	w := newLiveWiki(t, browsertest.Options{Shell: true})
	p := w.open(t, w.form)
	p.Check()
	address := fmt.Sprintf("%s/index.php?returnto=Special%%3ARedirect%%2Fpage%%2F%d&title=Special%%3AUserLogin", w.origin, w.id)
	if source := p.Source(); !strings.Contains(source, strings.ReplaceAll(address, "&", "&amp;")) {
		t.Errorf("no link to %s in %s", address, source)
	}
	p.Click("link", "Sign in at the wiki")
	wiki := &page{p.Tab(address), t, w.site}
	wiki.Fill("Username", "Ann")
	wiki.Fill("Password", mediawikitest.Password("Ann"))
	wiki.press("Log in")
	wiki.WaitText("Summer party") // the page with the form
	p.Front()
	p.WaitText("Will you be there?")
	p.wantPath(w.form)
}

// formInMediaWiki has readers of a real MediaWiki fill in a form on its page.
// Whoever is signed in to the wiki need not sign in again.
func formInMediaWiki(t *testing.T, w *liveWiki) {
	p := &page{browsertest.Open(t, w.page(), w.options), t, w.site}
	frame := p.InnerFrame()
	frame.WaitText("Open the form in a new tab")
	p.goTo(w.form)
	p.want("Sign in", "With your account of "+mediawikitest.Title+".")

	w.signIn(p, "Ann")
	frame.WaitText("Signed in as Ann")
	p.Wait("the form is in the place of the block", func() bool { return !strings.Contains(p.Text(), "form: party") })
	if shown := frame.Text(); strings.Contains(shown, "Sign out") || !strings.Contains(shown, "Visible to everybody who may edit this page in the wiki") {
		t.Errorf("the frame shows: %s", shown)
	}
	frame.In("Will you be there?").Click("radio", "yes")
	frame.Fill("How many people do you bring?", "2")
	frame.Click("button", "Send")
	frame.WaitText("See you at the lake!")
	p.goTo(w.form + "/results")
	p.want("My submissions")

	p.Go(w.origin + "/index.php?title=Special:UserLogout")
	p.press("Submit")
	p.Go(w.page())
	frame.WaitText("Open the form in a new tab") // now, or when the answer about the session no longer counts
	w.signIn(p, "Sara")
	frame.WaitText("Signed in as Sara")
	p.goTo(w.form + "/results?view=table")
	p.want("Results", "Ann")
	p.Check()
}

// mediaWikiWithoutForm looks at pages that show the block itself: without
// JavaScript, and where its text is being edited.
func mediaWikiWithoutForm(t *testing.T, w *liveWiki) {
	off := browsertest.Open(t, w.page(), browsertest.Options{NoScript: true})
	testkit.Contains(t, "without JavaScript", off.Text(), "form: party")

	p := &page{browsertest.Open(t, w.page(), w.options), t, w.site}
	w.signIn(p, "Sara")
	p.Go(w.page() + "&action=edit")
	p.Loads(func() { browsertest.Eval[any](p.Page, `document.getElementById("wpPreview").click()`) })
	p.want("this is only a preview", "form: party")
	testkit.Same(
		t, "the preview has a form", browsertest.Eval[int](p.Page, `document.querySelectorAll("iframe").length`), 0,
	)
}
