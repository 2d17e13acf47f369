package web

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
)

// newProxiedEnv serves the pages behind a proxy that signs people in.
func newProxiedEnv(t *testing.T, logout string) *env {
	t.Helper()
	e := newEnv(t, wiki)
	backend := request.NewBackend(request.Options{
		Auth: auth.NewProxy("X-User", "X-Groups", e.Logger), Logger: e.Logger,
		Service: service.New(service.Options{
			Pages: e.Pages, Store: e.Store, Files: e.Store, AnonymousKey: testsite.Key,
			Now: e.Clock.Now, MaxSubmission: request.DefaultMaxBody, MaxFile: 1 << 20,
		}),
	})
	e.site = New(Options{Key: testsite.Key, Backend: backend, LogoutURL: logout, FrameAncestors: []string{"https://wiki.example"}})
	return e
}

// behindProxy is a browser whose requests a proxy adds a header to.
type behindProxy struct {
	http.RoundTripper
	header http.Header
}

func (p *behindProxy) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range p.header {
		r.Header[name] = values
	}
	return p.RoundTripper.RoundTrip(r)
}

// proxied is a browser of somebody who has signed in with the proxy.
func (e *env) proxied(at, user string, groups ...string) *browser {
	e.t.Helper()
	b := e.browserAt(at)
	b.client.Transport = &behindProxy{b, http.Header{"X-User": {user}, "X-Groups": {strings.Join(groups, ",")}}}
	return b.stay()
}

const plainHTTP = "http://forms.example"

func TestProxySignsPeopleIn(t *testing.T) {
	e := newProxiedEnv(t, "")
	alice := e.proxied(plainHTTP, "alice")
	p := alice.get("/")
	p.want(200, "Survey")
	p.wantHTML("<bdi>alice</bdi>")
	p.wantNoHTML("Sign out", "logout", "/login")
	alice.get("/page/4").want(404)
	p = alice.fill(survey, "comment", "by a proxy")
	p.want(303)
	p.wantHeader("Set-Cookie", "")
	testkit.Same(t, "submissions of alice", e.count("alice", 1, "survey"), 1)
	for _, path := range []string{"/login", "/logout", "/embed/login", "/embed/logout"} {
		alice.get(path).want(404)
		alice.postForm(path, credentials("alice", "")).want(404)
	}

	// The proxy's groups are those of the page.
	e.Write(t, "4-private.md", strings.Replace(wiki["4-private.md"], "[carol]", `["@hr"]`, 1))
	alice.get("/page/4").want(404)
	e.proxied(plainHTTP, "dora", "staff", "hr").get("/page/4").want(200)
}

// Neither credentials nor a session stand for the header of the proxy.
func TestWhomTheProxyDoesNotName(t *testing.T) {
	e := newProxiedEnv(t, "/proxy/sign-out")
	for _, header := range []http.Header{
		{"X-User": {"alice", "alice"}},
		{
			"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("alice:alice-secret"))},
			"Cookie":        {"formulary=" + strings.Repeat("a", 43)},
		},
	} {
		b := e.browser().stay()
		b.client.Transport = &behindProxy{b, header}
		for _, p := range []*answer{
			b.get("/"), b.get("/page/1"), b.get(survey), b.get("/author"), b.get(survey + "/results.csv"),
			b.get("/embed" + survey), b.send(survey, url.Values{"comment": {"x"}}),
			b.send(survey, url.Values{nameControl: {"alice"}, passwordControl: {"alice-secret"}}),
		} {
			p.want(401, "You are not signed in")
			p.wantNoHTML("Sign out", "<input", "Basic")
			p.wantHeader("Location", "", "WWW-Authenticate", "", "Cache-Control", "no-store")
		}
		b.get("/embed" + survey).wantHTML(`href="` + survey + `" target="_blank"`) // where the proxy can ask to sign in
	}
	testkit.Same(t, "submissions", e.count("alice", 1, "survey"), 0)
}

func TestLogoutURL(t *testing.T) {
	e := newProxiedEnv(t, "https://login.example/out?rd=/&x=1")
	b := e.proxied(plainHTTP, "alice")
	p := b.get("/")
	testkit.Same(t, "the link leads", p.link("Sign out"), "https://login.example/out?rd=/&x=1")
	p.wantNoHTML(`method="post"`)
	b.get("/embed" + survey).wantHTML(`<a href="https://login.example/out?rd=/&amp;x=1" target="_blank" rel="noopener" data-sign-out>Sign out</a>`)
}

// A frame needs no cookie of ours. Over plain HTTP, browsers send a proxy's within
// one site.
func TestFramesBehindAProxy(t *testing.T) {
	for _, at := range []string{plainHTTP, "https://forms.example"} {
		e := newProxiedEnv(t, "")
		b := e.proxied(at, "alice")
		p := b.get("/embed" + survey)
		p.want(200, "Comment")
		p.wantNoHTML("logout", "Sign out")
		p = b.send("/embed"+survey, with(p.values(), "comment", "framed"))
		p.want(303)
		p.wantHeader("Set-Cookie", "", "Location", "/embed"+survey+"/submission/1?sent")
	}
}

// The header of the proxy names the person who fills in an anonymous form. The log does not.
func TestProxyNamesNobodyInTheLogOfAnAnonymousForm(t *testing.T) {
	const ballot = "/page/3/form/ballot"
	e := newProxiedEnv(t, "")
	for _, below := range []string{"", embedPrefix} {
		b := e.proxied(plainHTTP, "alice"+strings.TrimPrefix(below, "/"))
		form := below + ballot
		values := b.get(form).values()
		for _, path := range []string{"/page/3", "/embed.js", "/login", below + "/pages/3", "/nothing", "/Page/3", form + "/results"} {
			b.get(path)
		}
		b.send(form, with(values, "vote", "yes")).want(303)
		b.request(http.MethodPut, form, "", nil)
		b.get(form + "/sent")
		b.wantAnonymous()
	}
	w := &noted{ResponseRecorder: httptest.NewRecorder()}
	e.site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if w.Code != 401 || w.anonymous || w.user != "" { // as with any failed login: the address, and no name
		t.Errorf("nobody: %d, %v, %q", w.Code, w.anonymous, w.user)
	}
}
