package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// noted is what the access log would say about a request.
type noted struct {
	*httptest.ResponseRecorder
	what      string
	user      string
	anonymous bool
}

func (n *noted) SetUser(name string) { n.user, n.anonymous = name, false }
func (n *noted) Anonymous()          { n.user, n.anonymous = "", true }
func (n *noted) RequestID() string   { return "" }
func (n *noted) Working()            {}

// Who has to sign in before they fill in an anonymous form must not be found by
// their address in the log.
func TestSignInForAFormIsLoggedWithoutAddress(t *testing.T) {
	e := newEnv(t, wiki)
	const ballot = "/page/3/form/ballot"
	ask := func(method, path string, form url.Values) *noted {
		r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		n := &noted{ResponseRecorder: httptest.NewRecorder()}
		e.site.ServeHTTP(n, r)
		return n
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
		{"open the page", ask(http.MethodGet, "/page/3", nil), http.StatusSeeOther, true},
		{"open the form", ask(http.MethodGet, ballot, nil), http.StatusSeeOther, true},
		{"send the form", ask(http.MethodPost, ballot, url.Values{"vote": {"yes"}}), http.StatusForbidden, true},
		{"sign in", ask(http.MethodPost, ballot, signIn("alice-secret")), http.StatusSeeOther, true},
		{"wrong password", ask(http.MethodPost, ballot, signIn("wrong")), http.StatusUnprocessableEntity, false},
		{"another page", ask(http.MethodGet, "/author", nil), http.StatusSeeOther, false},
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
		below string // prefix of the paths
	}{{"http://forms.example", ""}, {"https://forms.example", ""}, {"https://forms.example", embedPrefix}, {"http://forms.example", embedPrefix}} {
		e := newEnv(t, wiki)
		v := &visitor{e: e, at: c.at}
		form := c.below + ballot
		v.ask(http.MethodGet, form, nil)
		v.ask(http.MethodGet, c.below+"/login?next="+url.QueryEscape(form), nil)
		v.ask(http.MethodPost, c.below+"/login", url.Values{"username": {"alice"}, "password": {"alice-secret"}, "next": {form}})
		v.ask(http.MethodGet, c.below+"/login?"+signedInMark+"&next="+url.QueryEscape(form), nil)
		if c.below == "" || strings.HasPrefix(c.at, "https:") {
			if page := v.ask(http.MethodGet, form, nil).Body.String(); !strings.Contains(page, `name="vote"`) {
				t.Fatalf("%s%s: no form:\n%s", c.at, form, page)
			}
		}
		for name := range e.site.static.content {
			path, err := e.site.static.path(name)
			if err != nil {
				t.Fatal(err)
			}
			v.ask(http.MethodGet, path, nil)
		}
		for _, path := range []string{"/embed.js", "/favicon.ico", staticPrefix + "none.js", c.below + "/pages/3", form + "/results", form + "/results?part=summary"} {
			v.ask(http.MethodGet, path, nil)
		}
		v.ask(http.MethodPost, form, url.Values{"vote": {"yes"}})
		v.ask(http.MethodPut, form, nil)
		v.ask(http.MethodGet, form+"/sent", nil)
		v.ask(http.MethodPost, c.below+"/logout", nil)
		v.ask(http.MethodGet, c.below+"/login", nil)
		for _, n := range v.noted {
			if !n.anonymous || n.user != "" {
				t.Errorf("%s: %s: status %d, anonymous %v, user %q", c.at, n.what, n.Code, n.anonymous, n.user)
			}
		}
	}
}

// Who does not go on to a form is named. Who fails is not, but their address is.
func TestSignInIsLogged(t *testing.T) {
	for _, c := range []struct {
		user, password, next string
		status               int
		noted                string
		anonymous            bool
	}{
		{"alice", "alice-secret", "/", http.StatusSeeOther, "alice", false},
		{"alice", "alice-secret", "/author", http.StatusSeeOther, "alice", false},
		{"alice", "alice-secret", "/page/3", http.StatusSeeOther, "", true},
		{"alice", "alice-secret", "/x/../page/3", http.StatusSeeOther, "", true},
		{"alice", "alice-secret", "/%2e/page/3", http.StatusSeeOther, "", true},
		{"alice", "wrong", "/page/3", http.StatusUnprocessableEntity, "", false},
		{"throttled", "wrong", "/page/3", http.StatusTooManyRequests, "", false},
	} {
		v := &visitor{e: newEnv(t, wiki), at: "http://forms.example"}
		n := v.ask(http.MethodPost, "/login", url.Values{"username": {c.user}, "password": {c.password}, "next": {c.next}})
		if n.Code != c.status || n.user != c.noted || n.anonymous != c.anonymous {
			t.Errorf("%s to %s: status %d, user %q, anonymous %v", c.password, c.next, n.Code, n.user, n.anonymous)
		}
	}
}

// visitor is a browser whose requests are noted as the access log would.
type visitor struct {
	e       *env
	at      string
	cookies []*http.Cookie
	noted   []*noted
}

func (v *visitor) ask(method, path string, form url.Values) *noted {
	r := httptest.NewRequest(method, v.at+path, strings.NewReader(form.Encode()))
	r.URL.Scheme, r.TLS = strings.TrimSuffix(v.at, "://forms.example"), nil
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range v.cookies {
		r.AddCookie(c)
	}
	n := &noted{ResponseRecorder: httptest.NewRecorder(), what: method + " " + path}
	v.e.site.ServeHTTP(n, r)
	if set := n.Result().Cookies(); len(set) > 0 {
		v.cookies = set
	}
	v.noted = append(v.noted, n)
	return n
}

func TestAllow(t *testing.T) {
	e := newEnv(t, wiki)
	for path, want := range map[string]string{survey: "GET, HEAD, POST", "/page/1": "GET, HEAD", "/logout": "POST"} {
		w := httptest.NewRecorder()
		e.site.ServeHTTP(w, httptest.NewRequest(http.MethodPut, path, http.NoBody))
		if got := w.Header().Get("Allow"); w.Code != http.StatusMethodNotAllowed || got != want {
			t.Errorf("PUT %s: status %d, Allow %q", path, w.Code, got)
		}
	}
}
