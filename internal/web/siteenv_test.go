package web

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/httpx"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/wire"
)

var everybody = people{"alice": nil, "bob": nil, "carol": {"hr"}, "dave": nil}

// testClock is the time of the service, moved by hand.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// began is when the tests take place.
var began = time.Date(2025, 11, 15, 12, 3, 5, 0, time.UTC)

// siteEnv is the pages and the API on a real listener, a real database and real
// pages.
type siteEnv struct {
	site    *Site
	handler http.Handler
	url     string
	dir     string // of the pages
	source  *pages.Directory
	store   store.Engine
	clock   *testClock
	client  *http.Client

	mu       sync.Mutex
	sessions map[string]string // id by user
}

// newSite serves pages, by file name.
func newSite(t testing.TB, on enginetest.Engine, files map[string]string, change ...func(*httpx.Options)) *siteEnv {
	t.Helper()
	e := &siteEnv{dir: t.TempDir(), clock: &testClock{now: began}, sessions: map[string]string{}}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	var err error
	if e.source, err = pages.OpenDirectory(e.dir, log); err != nil {
		t.Fatal(err)
	}
	e.store = on.Open(t)
	key := []byte("a key of thirty-two bytes, or so")
	opts := httpx.Options{
		Service: service.New(service.Options{
			Pages: e.source, Store: e.store, Files: e.store, OnceKey: key, Now: e.clock.Now, MaxSubmission: httpx.DefaultMaxBody,
		}),
		Auth: everybody, Logger: log,
	}
	for _, c := range change {
		c(&opts)
	}
	sessions, err := session.New(session.Options{Store: e.store, Users: everybody, OwnerKey: key, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	backend := httpx.NewBackend(opts)
	e.site = New(Options{Backend: backend, Sessions: sessions, Logger: log, Key: key})
	rest := restHandler(backend)
	e.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/rest/") {
			rest.ServeHTTP(w, r)
			return
		}
		e.site.ServeHTTP(w, r)
	})
	server := httptest.NewServer(e.handler)
	e.url, e.client = server.URL, server.Client()
	e.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(server.Close) // before the store, which was opened earlier
	return e
}

// restHandler serves what the tests compare pages with: lists and summaries, by
// the code that the API answers with.
func restHandler(backend *httpx.Backend) http.Handler {
	mux := http.NewServeMux()
	handle := func(path string, answer func(w http.ResponseWriter, c *httpx.Call, access *service.Access) error) {
		mux.HandleFunc("GET /rest/page/{pageId}/form/{formId}/"+path, func(w http.ResponseWriter, r *http.Request) {
			who, err := httpx.BasicCaller(backend.Auth, r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusUnauthorized)
				return
			}
			c := backend.NewCall(r, who)
			defer c.End()
			access, err := c.Form(w)
			if err == nil {
				err = answer(w, c, access)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		})
	}
	handle("result", func(w http.ResponseWriter, c *httpx.Call, access *service.Access) error {
		return wire.SendList(w, c, access, wire.Flat, wire.JSON, wire.NDJSON, wire.CSV, wire.XLSX)
	})
	return mux
}

// write changes a page file and has it read. The directory takes a change once
// it has seen it twice.
func (e *siteEnv) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e.source.Poll()
	e.source.Poll()
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
	access, err := e.site.Backend.Service.Form(t.Context(), auth.NewIdentity(user, everybody[user]...), page, form)
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
