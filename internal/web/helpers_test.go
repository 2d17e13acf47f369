package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// ask is a GET by a user, who signs in at the first time. Without a user it has no
// session. It follows no redirects.
func (e *env) ask(user, path string) *answer {
	e.t.Helper()
	if e.users[user] == nil {
		b := e.browser()
		if user != "" {
			b = e.signedIn(user)
		}
		e.users[user] = b.stay()
	}
	return e.users[user].get(path)
}

// expect is a page with one status only.
func (e *env) expect(status int, user, path string) *answer {
	e.t.Helper()
	a := e.ask(user, path)
	if a.status != status {
		e.t.Fatalf("GET %s by %q: status %d, want %d\n%s", path, user, a.status, status, a.body)
	}
	return a
}

// get is a page that must be there.
func (e *env) get(user, path string) *answer {
	e.t.Helper()
	return e.expect(200, user, path)
}

// list is the list of a form that the API sends.
func (e *env) list(user, form, query string) string {
	e.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/?"+query, http.NoBody)
	r.SetPathValue("pageId", "1")
	r.SetPathValue("formId", form)
	w := httptest.NewRecorder()
	c := e.site.Backend.NewCall(w, r, e.Users.Identity(user))
	defer c.End()
	access, err := c.Form()
	if err == nil {
		err = c.SendList(w, access, request.ListView{Params: request.ReadParams(query)}, encode.Flat, encode.JSON, encode.NDJSON, encode.CSV, encode.XLSX)
	}
	testkit.Must(e.t, err)
	return w.Body.String()
}

// submit stores a submission, from pairs of a field id and a value.
func (e *env) submit(user string, page int64, form string, idsAndValues ...string) int64 {
	e.t.Helper()
	access, err := e.site.Backend.Service.Form(e.t.Context(), e.Users.Identity(user), page, form)
	testkit.Must(e.t, err)
	var answers []forms.Answer
	for pair := range slices.Chunk(idsAndValues, 2) {
		answers = append(answers, forms.Answer{FieldID: pair[0], Value: pair[1]})
	}
	sub, _, err := access.Create(e.t.Context(), answers, "")
	testkit.Must(e.t, err)
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

func (b *browser) setCookie(name, id string) {
	u, _ := url.Parse(b.at)
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: id, Path: "/", Secure: u.Scheme == "https"}})
}

// own are the submissions that are stored under a name.
func (e *env) own(user string, pageID int64, formID string) []forms.Submission {
	e.t.Helper()
	var list []forms.Submission
	query := store.Query{PageID: pageID, FormID: formID, Username: &user}
	err := testkit.Each(e.Store.Scan(e.t.Context(), query), func(s forms.Submission) error {
		s.Entries = append(forms.Entries(nil), s.Entries...)
		list = append(list, s)
		return nil
	})
	testkit.Must(e.t, err)
	return list
}

func (e *env) count(user string, pageID int64, formID string) int {
	e.t.Helper()
	return len(e.own(user, pageID, formID))
}

func (e *env) latest(user string, pageID int64, formID string) forms.Submission {
	e.t.Helper()
	list := e.own(user, pageID, formID)
	if len(list) == 0 {
		e.t.Fatalf("%s has sent nothing", user)
	}
	return list[len(list)-1]
}

// stored are the values of the latest submission of alice to a form of page 1.
func (e *env) stored(form string) map[string]string {
	e.t.Helper()
	return valuesOf(e.t, e.latest("alice", 1, form))
}

// wantStored checks answers of the latest submission of alice to a form of page 1. They are
// pairs of a field id and a value. The value is empty if there is no answer.
func (e *env) wantStored(form string, pairs ...string) {
	e.t.Helper()
	stored := e.stored(form)
	for pair := range slices.Chunk(pairs, 2) {
		testkit.Same(e.t, "stored "+pair[0], stored[pair[0]], pair[1])
	}
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
