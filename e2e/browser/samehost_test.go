package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
)

// wikiOnHost is a page of a wiki that has the host in common with the forms.
const wikiOnHost = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Lunch – Wiki</title><link rel="icon" href="data:,">
<style>body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font-family: sans-serif }</style>
<script src="/forms/embed.js" data-formulary-page="6" async></script></head>
<body><main><h1>Lunch</h1><p>What do you want for lunch?</p><pre class="form">form: lunch</pre><p>Thank you!</p></main></body></html>`

// newSiteBesideAWiki is a site below /forms of a host whose other pages are a wiki's,
// without TLS.
func newSiteBesideAWiki(t *testing.T, options browsertest.Options) (s *site, wiki string) {
	t.Helper()
	mux := http.NewServeMux()
	host := httptest.NewUnstartedServer(mux)
	origin := "http://" + host.Listener.Addr().String()
	s = newSite(t, options, "--base-path", "/forms", "--frame-ancestors", origin)
	mux.Handle("/forms/", proxyTo(t, strings.TrimSuffix(s.url, "/forms")))
	mux.HandleFunc("/wiki/Lunch", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, wikiOnHost)
	})
	host.Start()
	t.Cleanup(host.Close)
	s.url = origin + "/forms"
	return s, origin + "/wiki/Lunch"
}

// TestFormBesideAWiki: one sign-in counts for the pages of Formulary and for the form
// within the wiki's page, without TLS.
func TestFormBesideAWiki(t *testing.T) {
	t.Parallel()
	s, wiki := newSiteBesideAWiki(t, browsertest.Options{})
	p := s.open(t, "/")
	p.wantPath("/login?next=%2Fforms%2F")
	p.Go(wiki)
	frame := p.InnerFrame()
	frame.WaitText("is not encrypted") // nobody can sign in there
	if !frame.Has("link", "Open the form in a new tab") {
		t.Error("there is no link")
	}

	p.goTo(lunch)
	p.signIn(ann)
	p.wantPath(lunch)
	p.Go(wiki)
	frame.WaitText("Signed in as ann")
	p.Wait("the page hides the text of the form", func() bool { return !strings.Contains(p.Text(), "form: lunch") })
	frame.Select("Dish", "Stew")
	frame.Fill("Note", "With bread")
	frame.Click("button", "Send")
	frame.WaitText("This is what was sent")
	p.CheckAxe()
	if stored := s.get(t, lunch+"/submission"); !strings.Contains(stored, `"username":"ann"`) || s.count(t, lunch) != 1 {
		t.Errorf("stored: %s", stored)
	}

	frame.Click("button", "Sign out")
	frame.WaitText("is not encrypted")
	p.goTo("/")
	p.wantPath("/login?next=%2Fforms%2F")

	// The author's page shows the form while it is written.
	p = s.as(t, eve, "/author")
	showText(p.Page, false)
	p.Fill("Text of the form", "form: tea\nfields:\n  - {id: kind, type: textfield, label: Which tea?}\n")
	p.WaitText("Which tea?")
	p.wantPath("/author")
}
