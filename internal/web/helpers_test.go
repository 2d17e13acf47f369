package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

func postLogin(e *env, scheme, path string) *httptest.ResponseRecorder {
	return postTo(e, scheme, path, url.Values{"username": {"alice"}, "password": {"alice-secret"}, "next": {"/"}})
}

func postLoginNext(e *env, next string) *httptest.ResponseRecorder {
	return postTo(e, "http", "/login", url.Values{"username": {"alice"}, "password": {"alice-secret"}, "next": {next}})
}

func postTo(e *env, scheme, path string, values url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(values.Encode()))
	r.URL.Scheme, r.TLS = scheme, nil
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	e.site.ServeHTTP(w, r)
	return w
}

// cookie is the id of the session.
func (b *browser) cookie() string {
	b.t.Helper()
	u, _ := url.Parse(b.env.url)
	for _, c := range b.client.Jar.Cookies(u) {
		if c.Name == cookieName {
			return c.Value
		}
	}
	b.t.Fatal("no session")
	return ""
}

func (b *browser) setCookie(id string) {
	u, _ := url.Parse(b.env.url)
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: cookieName, Value: id, Path: "/"}})
}

// own are the submissions that are stored under a name.
func (e *env) own(t testing.TB, user string, pageID int64, formID string) []forms.Submission {
	t.Helper()
	var list []forms.Submission
	err := e.Store.Scan(t.Context(), store.Query{PageID: pageID, FormID: formID, Username: &user}, func(s forms.Submission) error {
		s.Entries = append(forms.Entries(nil), s.Entries...)
		list = append(list, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (e *env) count(t testing.TB, user string, pageID int64, formID string) int {
	t.Helper()
	return len(e.own(t, user, pageID, formID))
}

func (e *env) latest(t testing.TB, user string, pageID int64, formID string) forms.Submission {
	t.Helper()
	list := e.own(t, user, pageID, formID)
	if len(list) == 0 {
		t.Fatalf("%s has sent nothing", user)
	}
	return list[len(list)-1]
}

func valuesOf(t testing.TB, s forms.Submission) map[string]string {
	t.Helper()
	entries, err := s.Entries.Decode()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, e := range entries {
		values[e.FieldID] = e.Value
	}
	return values
}
