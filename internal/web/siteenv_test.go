package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
)

// ask is a GET by a user, who signs in at the first time. Without a user it has no
// session. It follows no redirects.
func (e *env) ask(t testing.TB, user, path string) *answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		if e.sessions[user] == "" {
			if e.sessions[user], _, err = e.site.Sessions.SignIn(t.Context(), user, user+"-secret", "192.0.2.1:1"); err != nil {
				t.Fatalf("sign in %s: %v", user, err)
			}
		}
		r.AddCookie(&http.Cookie{Name: cookieName, Value: e.sessions[user]})
	}
	return e.serve(t, r)
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
func (e *env) get(t testing.TB, user, path string) string {
	t.Helper()
	return e.expect(t, http.StatusOK, user, path).body
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
		err = encode.SendList(w, c, access, encode.Flat, encode.JSON, encode.NDJSON, encode.CSV, encode.XLSX)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.Body.String()
}

// submit stores a submission, from field ids and values in turn.
func (e *env) submit(t testing.TB, user string, page int64, form string, idsAndValues ...string) int64 {
	t.Helper()
	access, err := e.site.Backend.Service.Form(t.Context(), e.Users.Identity(user), page, form)
	if err != nil {
		t.Fatal(err)
	}
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
