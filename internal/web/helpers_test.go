package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// ask is a GET by a user, who signs in at the first time. Without a user it has no
// session. It follows no redirects.
func (e *env) ask(t testing.TB, user, path string) *answer {
	t.Helper()
	if e.users[user] == nil {
		b := e.browser(t)
		if user != "" {
			b = e.signedIn(t, user)
		}
		e.users[user] = b.stay()
	}
	return e.users[user].get(path)
}

// expect is a page with one status only.
func (e *env) expect(t testing.TB, status int, user, path string) *answer {
	t.Helper()
	a := e.ask(t, user, path)
	if a.status != status {
		t.Fatalf("GET %s by %q: status %d, want %d\n%s", path, user, a.status, status, a.body)
	}
	return a
}

// get is a page that must be there.
func (e *env) get(t testing.TB, user, path string) *answer {
	t.Helper()
	return e.expect(t, 200, user, path)
}

// list is the list of a form that the API sends.
func (e *env) list(t testing.TB, user, form, query string) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/?"+query, http.NoBody)
	r.SetPathValue("pageId", "1")
	r.SetPathValue("formId", form)
	w := httptest.NewRecorder()
	c := e.site.Backend.NewCall(w, r, e.Users.Identity(user))
	defer c.End()
	access, err := c.Form()
	if err == nil {
		err = encode.SendList(w, c, access, encode.ListView{Params: request.ReadParams(query)}, encode.Flat, encode.JSON, encode.NDJSON, encode.CSV, encode.XLSX)
	}
	testkit.Must(t, err)
	return w.Body.String()
}

// submit stores a submission, from pairs of a field id and a value.
func (e *env) submit(t testing.TB, user string, page int64, form string, idsAndValues ...string) int64 {
	t.Helper()
	access, err := e.site.Backend.Service.Form(t.Context(), e.Users.Identity(user), page, form)
	testkit.Must(t, err)
	var answers []forms.Answer
	for i := 0; i < len(idsAndValues); i += 2 {
		answers = append(answers, forms.Answer{FieldID: idsAndValues[i], Value: idsAndValues[i+1]})
	}
	sub, _, err := access.Create(t.Context(), answers, "")
	if err != nil {
		t.Fatalf("submit %q: %v", idsAndValues, err)
	}
	return sub.ID
}

// page1 is a file of page 1 with a form.
func page1(front, form string) map[string]string {
	return map[string]string{"1.md": fmt.Sprintf("---\ntitle: Feedback\n%s---\n```form\n%s```\n", front, form)}
}

// cookie is the id of the session.
func (b *browser) cookie() string {
	b.t.Helper()
	u, _ := url.Parse(b.at)
	for _, c := range b.client.Jar.Cookies(u) {
		if c.Name == cookieName {
			return c.Value
		}
	}
	b.t.Fatal("no session")
	return ""
}

func (b *browser) setCookie(id string) {
	u, _ := url.Parse(b.at)
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
	testkit.Must(t, err)
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

// stored are the values of the latest submission of alice to a form of page 1.
func (e *env) stored(t testing.TB, form string) map[string]string {
	t.Helper()
	return valuesOf(t, e.latest(t, "alice", 1, form))
}

func valuesOf(t testing.TB, s forms.Submission) map[string]string {
	t.Helper()
	entries, err := s.Entries.Decode()
	testkit.Must(t, err)
	values := map[string]string{}
	for _, e := range entries {
		values[e.FieldID] = e.Value
	}
	return values
}
