package web

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store/enginetest"
)

// siteEnv is an env with lists of the API beside the pages, for tests that
// compare both. Its requests follow no redirects.
type siteEnv struct {
	*env
	handler http.Handler
	client  *http.Client

	mu       sync.Mutex
	sessions map[string]string // id by user
}

// newSite serves pages, by file name.
func newSite(t testing.TB, on enginetest.Engine, files map[string]string, change ...func(*request.Options)) *siteEnv {
	t.Helper()
	base, opts := openEnv(t, on, files, change...)
	e := &siteEnv{env: base, sessions: map[string]string{}}
	e.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	e.site = New(opts)
	rest := restHandler(opts.Backend)
	e.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/rest/") {
			rest.ServeHTTP(w, r)
			return
		}
		e.site.ServeHTTP(w, r)
	})
	e.serve(t, e.handler)
	return e
}

// restHandler serves what the tests compare pages with: lists and summaries, by
// the code that the API answers with.
func restHandler(backend *request.Backend) http.Handler {
	mux := http.NewServeMux()
	handle := func(path string, answer func(w http.ResponseWriter, c *request.Call, access *service.Access) error) {
		mux.HandleFunc("GET /rest/page/{pageId}/form/{formId}/"+path, func(w http.ResponseWriter, r *http.Request) {
			who, err := request.BasicCaller(backend.Auth, r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusUnauthorized)
				return
			}
			c := backend.NewCall(w, r, who)
			defer c.End()
			access, err := c.Form()
			if err == nil {
				err = answer(w, c, access)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		})
	}
	handle("result", func(w http.ResponseWriter, c *request.Call, access *service.Access) error {
		return encode.SendList(w, c, access, encode.Flat, encode.JSON, encode.NDJSON, encode.CSV, encode.XLSX)
	})
	return mux
}

// cookie is that of a user's session, who signs in at the first time.
func (e *siteEnv) cookie(t testing.TB, user string) *http.Cookie {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions[user] == "" {
		id, _, err := e.site.Sessions.SignIn(t.Context(), user, user+"-secret", "192.0.2.1:1")
		if err != nil {
			t.Fatalf("sign in %s: %v", user, err)
		}
		e.sessions[user] = id
	}
	return &http.Cookie{Name: cookieName, Value: e.sessions[user]}
}

// webRequest is what a test sends. Without a user it goes out without a session.
type webRequest struct {
	user, method, path string
	form               url.Values
}

// webAnswer is what came back.
type webAnswer struct {
	status int
	header http.Header
	body   string
}

func (e *siteEnv) newRequest(t testing.TB, r webRequest) *http.Request {
	t.Helper()
	var body io.Reader
	if r.form != nil {
		body = strings.NewReader(r.form.Encode())
	}
	req, err := http.NewRequestWithContext(t.Context(), r.method, e.url+r.path, body)
	if err != nil {
		t.Fatal(err)
	}
	if r.form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if r.user != "" {
		req.AddCookie(e.cookie(t, r.user))
	}
	return req
}

func (e *siteEnv) do(t testing.TB, r webRequest) webAnswer {
	t.Helper()
	return e.send(t, e.newRequest(t, r))
}

func (e *siteEnv) send(t testing.TB, req *http.Request) webAnswer {
	t.Helper()
	resp, err := e.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: read answer: %v", req.Method, req.URL, err)
	}
	return webAnswer{resp.StatusCode, resp.Header, string(body)}
}

// get is a page that must be there.
func (e *siteEnv) get(t testing.TB, user, path string) string {
	t.Helper()
	return e.expect(t, http.StatusOK, user, path).body
}

// expect is a page with one status only.
func (e *siteEnv) expect(t testing.TB, status int, user, path string) webAnswer {
	t.Helper()
	a := e.do(t, webRequest{user: user, method: http.MethodGet, path: path})
	if a.status != status {
		t.Fatalf("GET %s by %q: status %d, want %d\n%s", path, user, a.status, status, a.body)
	}
	return a
}

// rest is an answer of the API that must be there.
func (e *siteEnv) rest(t testing.TB, user, path string) string {
	t.Helper()
	req := e.newRequest(t, webRequest{method: http.MethodGet, path: "/rest" + path})
	req.SetBasicAuth(user, user+"-secret")
	a := e.send(t, req)
	if a.status != http.StatusOK {
		t.Fatalf("GET %s by %q: status %d\n%s", path, user, a.status, a.body)
	}
	return a.body
}

// submit stores a submission, from field ids and values in turn.
func (e *siteEnv) submit(t testing.TB, user string, page int64, form string, idsAndValues ...string) int64 {
	t.Helper()
	access, err := e.site.Backend.Service.Form(t.Context(), auth.NewIdentity(user, e.users[user]...), page, form)
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
