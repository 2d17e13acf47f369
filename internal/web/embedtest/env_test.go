// Package embedtest has the tests of forms within the pages of other sites.
package embedtest

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/testsite"
	"github.com/formulary/formulary/internal/web"
)

const page = "---\ntitle: Team feedback\nview: [amy, bob]\nedit: [amy]\n---\n" + `
~~~yaml form
form: feedback
fields:
  - {id: comment, type: textbox, label: Comment, required: true}
  - {id: rating, type: dropdown, label: Rating, options: [1, 2, 3, 4, 5]}
  - {id: reason, type: textfield, label: "What went wrong?", help: In a few words, showIf: {field: rating, equals: [1, 2]}}
~~~

~~~yaml form
form: ballot
anonymous: true
oneSubmission: true
fields:
  - {id: vote, type: radio, label: Your vote, options: ["yes", "no"], required: true}
~~~
`

const formPath = "/page/101/form/feedback"

// newSite makes the pages on a new database. Only the ancestors may embed them.
func newSite(t *testing.T, ancestors ...string) *web.Site {
	t.Helper()
	s := testsite.New(t, map[string]string{"101.md": page})
	s.Users.Set(testsite.People{"amy": nil, "bob": nil, "eve": nil})
	sessions, err := session.New(session.Options{Store: s.Engine, Users: s.Users, OwnerKey: testsite.Key})
	if err != nil {
		t.Fatal(err)
	}
	svc := service.New(service.Options{
		Pages: s.Pages, Store: s.Store, Files: s.Store, AnonymousKey: testsite.Key, Now: time.Now,
		MaxSubmission: request.DefaultMaxBody, MaxFile: service.DefaultMaxFile,
	})
	backend := request.NewBackend(request.Options{Service: svc, Auth: s.Users, Logger: s.Logger})
	return web.New(web.Options{Backend: backend, Sessions: sessions, Key: testsite.Key, FrameAncestors: ancestors})
}

const wiki = "https://wiki.example.org"

// visitor is a browser as far as cookies go.
type visitor struct {
	t      *testing.T
	server string
	client *http.Client
}

// visit opens the site over TLS.
func visit(t *testing.T, ancestors ...string) *visitor {
	t.Helper()
	server := httptest.NewTLSServer(newSite(t, ancestors...))
	t.Cleanup(server.Close)
	v := &visitor{t: t, server: server.URL, client: server.Client()}
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var err error
	if v.client.Jar, err = cookiejar.New(nil); err != nil {
		t.Fatal(err)
	}
	return v
}

// answer is an answer with its body read.
type answer struct {
	*http.Response
	body string
}

func (a answer) location() string { return a.Header.Get("Location") }

func (v *visitor) do(method, path string, form url.Values, header ...string) answer {
	v.t.Helper()
	body, contentType := encode(form, strings.Contains(path, "/form/"))
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.server+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer{response, string(text)}
}

// encode writes a form as browsers do: questions as multipart, the others not.
func encode(form url.Values, questions bool) (body *bytes.Buffer, contentType string) {
	if !questions {
		return bytes.NewBufferString(form.Encode()), "application/x-www-form-urlencoded"
	}
	body = &bytes.Buffer{}
	parts := multipart.NewWriter(body)
	for name, values := range form {
		for _, value := range values {
			_ = parts.WriteField(name, value) // a buffer takes all
		}
	}
	_ = parts.Close()
	return body, parts.FormDataContentType()
}

func (v *visitor) get(path string) answer {
	v.t.Helper()
	return v.do(http.MethodGet, path, nil, "Sec-Fetch-Site", "cross-site")
}

// post sends a form of the site itself.
func (v *visitor) post(path string, form url.Values) answer {
	v.t.Helper()
	return v.do(http.MethodPost, path, form, "Sec-Fetch-Site", "same-origin")
}

// signIn signs in within a frame, and comes back to the form.
func (v *visitor) signIn(user string) {
	v.t.Helper()
	a := v.post("/embed/login", url.Values{"username": {user}, "password": {user + "-secret"}, "next": {"/embed" + formPath}})
	want(v.t, a, http.StatusSeeOther)
	a = v.get(a.location())
	if want(v.t, a, http.StatusSeeOther); a.location() != "/embed"+formPath {
		v.t.Fatalf("led to %s", a.location())
	}
}

// want checks the status and that a page has texts in it.
func want(t *testing.T, a answer, status int, texts ...string) {
	t.Helper()
	if a.StatusCode != status {
		t.Errorf("%s %s: %d, want %d: %s", a.Request.Method, a.Request.URL.Path, a.StatusCode, status, a.body)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("%s %s: no %q in %s", a.Request.Method, a.Request.URL.Path, text, a.body)
		}
	}
}

// wantNot checks that a page does not have texts in it.
func wantNot(t *testing.T, a answer, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			t.Errorf("%s %s: %q in %s", a.Request.Method, a.Request.URL.Path, text, a.body)
		}
	}
}
