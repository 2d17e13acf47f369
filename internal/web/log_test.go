package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store/enginetest"
)

// noted is what the access log would say about a request.
type noted struct {
	*httptest.ResponseRecorder
	user      string
	anonymous bool
}

func (n *noted) SetUser(name string) { n.user, n.anonymous = name, false }
func (n *noted) Anonymous()          { n.anonymous = true }
func (n *noted) RequestID() string   { return "" }
func (n *noted) Working()            {}

// Who has to sign in before they fill in an anonymous form must not be found by
// their address in the log.
func TestSignInForAFormIsLoggedWithoutAddress(t *testing.T) {
	e := newEnv(t, enginetest.SQLite, wiki)
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

// leaving signs its user out while the body is on its way.
type leaving struct {
	*strings.Reader
	leave func()
}

func (l *leaving) Read(p []byte) (int, error) {
	l.leave()
	return l.Reader.Read(p)
}

// A user who is removed while they send a form is told so in words for people,
// and nothing is stored.
func TestRemovedWhileSending(t *testing.T) {
	e := newEnv(t, enginetest.SQLite, wiki)
	b := e.signedIn(t, "bob")
	const body = "--b\r\nContent-Disposition: form-data; name=\"comment\"\r\n\r\nhello\r\n--b--\r\n"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, survey, &leaving{strings.NewReader(body), func() { delete(e.users, "bob") }})
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	r.AddCookie(&http.Cookie{Name: cookieName, Value: b.cookie()})
	w := httptest.NewRecorder()
	e.site.ServeHTTP(w, r)
	page := w.Body.String()
	if w.Code != http.StatusForbidden || !strings.Contains(page, "not signed in any more") || strings.Contains(page, "Basic") {
		t.Errorf("status %d:\n%s", w.Code, page)
	}
	if n := e.count(t, "bob", 1, "survey"); n != 0 {
		t.Errorf("%d submissions are stored", n)
	}
}

func TestAllow(t *testing.T) {
	e := newEnv(t, enginetest.SQLite, wiki)
	for path, want := range map[string]string{survey: "GET, HEAD, POST", "/page/1": "GET, HEAD", "/logout": "POST"} {
		w := httptest.NewRecorder()
		e.site.ServeHTTP(w, httptest.NewRequest(http.MethodPut, path, http.NoBody))
		if got := w.Header().Get("Allow"); w.Code != http.StatusMethodNotAllowed || got != want {
			t.Errorf("PUT %s: status %d, Allow %q", path, w.Code, got)
		}
	}
}
