package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// Who has to sign in before they fill in an anonymous form must not be found by
// their address in the log.
func TestSignInForAFormIsLoggedWithoutAddress(t *testing.T) {
	e := newEnv(t, wiki)
	const ballot = "/page/3/form/ballot"
	ask := func(method, path string, form url.Values) *noted {
		b := e.browser().stay()
		b.request(method, path, urlencoded, strings.NewReader(form.Encode()))
		return b.last()
	}
	signIn := func(password string) url.Values {
		return url.Values{nameControl: {"alice"}, passwordControl: {password}, "vote": {"yes"}}
	}
	for _, c := range []struct {
		name      string
		noted     *noted
		status    int
		anonymous bool
	}{
		{"open the page", ask(http.MethodGet, "/page/3", nil), 303, true},
		{"open the form", ask(http.MethodGet, ballot, nil), 303, true},
		{"send the form", ask(http.MethodPost, ballot, url.Values{"vote": {"yes"}}), 403, true},
		{"sign in", ask(http.MethodPost, ballot, signIn("alice-secret")), 303, true},
		{"wrong password", ask(http.MethodPost, ballot, signIn("wrong")), 422, false},
		{"another page", ask(http.MethodGet, "/author", nil), 303, false},
	} {
		if c.noted.Code != c.status || c.noted.anonymous != c.anonymous || c.noted.user != "" {
			t.Errorf("%s: status %d, anonymous %v, user %q", c.name, c.noted.Code, c.noted.anonymous, c.noted.user)
		}
	}
}

// A browser that comes to an anonymous form asks for much beside it. No line of
// the log may tell who, or where from.
func TestFirstVisitOfAnAnonymousFormIsNotLogged(t *testing.T) {
	const ballot = "/page/3/form/ballot"
	for _, c := range []struct {
		at    string // where the pages are served
		base  string
		below string // prefix of the paths
	}{
		{"http://forms.example", "", ""},
		{"https://forms.example", "", ""},
		{"https://forms.example", "", embedPrefix},
		{"http://forms.example", "", embedPrefix},
		{"https://forms.example", base, base},
		{"https://forms.example", base, base + embedPrefix},
	} {
		e := newEnv(t, wiki, func(o *envOptions) { o.request.BasePath = c.base })
		b := e.browserAt(c.at).stay()
		form := c.below + ballot
		b.get(form)
		b.get(c.below + "/login?next=" + url.QueryEscape(form))
		b.postForm(c.below+"/login", credentials("alice", form))
		b.get(c.below + "/login?" + signedInMark + "&next=" + url.QueryEscape(form))
		if c.below == "" || strings.HasPrefix(c.at, "https:") {
			b.get(form).wantHTML(`name="vote"`)
		}
		for name := range e.site.static.content {
			path, err := e.site.static.path(name, english)
			testkit.Must(t, err)
			b.get(c.base + path)
		}
		for _, path := range []string{
			c.base + "/embed.js", c.base + "/favicon.ico", c.base + staticPrefix + "none.js", c.base + "/page/3", c.below + "/pages/3",
			form + "/results", form + "/results?part=summary",
		} {
			b.get(path)
		}
		b.postForm(form, url.Values{"vote": {"yes"}})
		b.request(http.MethodPut, form, "", nil)
		b.get(form + "/sent")
		b.postForm(c.below+"/logout", nil)
		b.get(c.below + "/login")
		b.wantAnonymous()
	}
}

// wantAnonymous checks that the log tells nobody's name or address.
func (b *browser) wantAnonymous() {
	b.t.Helper()
	for _, n := range b.asked {
		if !n.anonymous || n.user != "" {
			b.t.Errorf("%s: status %d, anonymous %v, user %q", n.what, n.Code, n.anonymous, n.user)
		}
	}
}

// Who does not go on to a form is named. Who fails is not, but their address is.
func TestSignInIsLogged(t *testing.T) {
	e := newEnv(t, wiki)
	for _, c := range []struct {
		user, password, next string
		status               int
		noted                string
		anonymous            bool
	}{
		{"alice", "alice-secret", "/", 303, "alice", false},
		{"alice", "alice-secret", "/author", 303, "alice", false},
		{"alice", "alice-secret", "/page/3", 303, "", true},
		{"alice", "alice-secret", "/x/../page/3", 303, "", true},
		{"alice", "alice-secret", "/%2e/page/3", 303, "", true},
		{"alice", "wrong", "/page/3", 422, "", false},
		{"throttled", "wrong", "/page/3", 429, "", false},
	} {
		b := e.browser().stay()
		b.postForm("/login", url.Values{"username": {c.user}, "password": {c.password}, "next": {c.next}})
		n := b.last()
		if n.Code != c.status || n.user != c.noted || n.anonymous != c.anonymous {
			t.Errorf("%s to %s: status %d, user %q, anonymous %v", c.password, c.next, n.Code, n.user, n.anonymous)
		}
	}
}

func TestAllow(t *testing.T) {
	e := newEnv(t, wiki)
	for path, want := range map[string]string{survey: "GET, HEAD, POST", "/page/1": "GET, HEAD", "/logout": "POST"} {
		p := e.browser().request(http.MethodPut, path, "", nil)
		p.want(405)
		p.wantHeader("Allow", want)
	}
}
