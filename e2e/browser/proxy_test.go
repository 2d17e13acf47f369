package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

// newProxiedSite is a site behind a proxy that signs in everybody who opens /company/in,
// and keeps them in a cookie of its own.
func newProxiedSite(t *testing.T, options browsertest.Options) *site {
	t.Helper()
	s := &site{pages: "testdata/filling", options: options}
	server, err := url.Parse(start(t, "--pages", s.pages,
		"--user-header", "X-User", "--trusted-proxies", "127.0.0.1", "--logout-url", "/company/out"))
	testkit.Must(t, err)
	const cookie = "company"
	forms := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(server)
		r.Out.Host = r.In.Host
		r.Out.Header.Del("X-User")
		if c, err := r.In.Cookie(cookie); err == nil {
			r.Out.Header.Set("X-User", c.Value)
		}
	}}
	mux := http.NewServeMux()
	mux.Handle("/", forms)
	mux.HandleFunc("/company/in", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: cookie, Value: ann, Path: "/"})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	mux.HandleFunc("/company/out", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: cookie, Path: "/", MaxAge: -1})
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!DOCTYPE html><html lang="en"><title>Out</title><link rel="icon" href="data:,"><p>Signed out by the company`)
	})
	proxy := httptest.NewServer(mux)
	t.Cleanup(proxy.Close)
	s.url = proxy.URL
	return s
}

// TestBehindASignInProxy has somebody sign in with a proxy, send a form, and sign out
// by its link.
func TestBehindASignInProxy(t *testing.T) {
	t.Parallel()
	s := newProxiedSite(t, browsertest.Options{})
	p := s.open(t, order)
	p.wantStatus(http.StatusUnauthorized)
	p.want("You are not signed in")
	p.wantNot("Sign out", "Password")
	p.Check()

	p.goTo("/company/in")
	p.wantPath("/")
	p.want(ann)
	p.Check()
	p.goTo(order)
	p.Fill("Item", "Desk")
	p.Fill("Price", "12")
	p.press("Send")
	p.want("Desk", "12")

	// What is typed and not sent is gone with its author.
	p.goTo(order)
	p.Fill("Item", "Lamp")
	drafted := func() bool {
		return strings.Contains(browsertest.Eval[string](p.Page, `JSON.stringify(localStorage)`), "Lamp")
	}
	p.Wait("the draft is stored", drafted)
	p.openMenu()
	p.follow("Sign out")
	p.want("Signed out by the company")
	if drafted() {
		t.Error("the draft is still there")
	}
	p.goTo("/")
	p.wantStatus(http.StatusUnauthorized)
}
