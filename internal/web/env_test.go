package web

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
)

// people are made-up users with their groups. Everybody's password is their
// name with "-secret" after it.
type people map[string][]string

func (p people) Authenticate(_ context.Context, user, password, _ string) (auth.Identity, error) {
	groups, known := p[user]
	switch {
	case user == "throttled":
		return auth.Identity{}, &auth.ThrottledError{RetryAfter: 7 * time.Second}
	case !known || password != user+"-secret":
		return auth.Identity{}, auth.ErrBadCredentials
	}
	return auth.NewIdentity(user, groups...), nil
}

func (p people) Reverify(ctx context.Context, user, password string) (auth.Identity, error) {
	return p.Authenticate(ctx, user, password, "")
}

func (p people) Refresh(id auth.Identity) (auth.Identity, error) {
	return p.Authenticate(context.Background(), id.Name, id.Name+"-secret", "")
}

// env is the pages on a real listener, a real database and real wiki pages.
type env struct {
	site   *Site
	url    string
	dir    string // of the pages
	source *pages.Directory
	store  store.Engine
	users  people
	clock  *testClock
}

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

var secret = []byte("a key of thirty-two bytes, or so")

// newEnv serves pages, by file name.
func newEnv(t testing.TB, on enginetest.Engine, files map[string]string, change ...func(*Options)) *env {
	t.Helper()
	e, opts := openEnv(t, on, files)
	for _, c := range change {
		c(&opts)
	}
	e.site = New(opts)
	e.serve(t, e.site)
	return e
}

// openEnv opens what the pages work with.
func openEnv(t testing.TB, on enginetest.Engine, files map[string]string, change ...func(*request.Options)) (*env, Options) {
	t.Helper()
	e := &env{dir: t.TempDir(), clock: &testClock{now: began}, store: on.Open(t)}
	e.users = people{"alice": nil, "bob": nil, "carol": {"hr"}, "dave": nil}
	for name, text := range files {
		e.put(t, name, text)
	}
	log := slog.New(slog.DiscardHandler)
	var err error
	if e.source, err = pages.OpenDirectory(e.dir, log); err != nil {
		t.Fatal(err)
	}
	opts := request.Options{
		Service: service.New(service.Options{
			Pages: e.source, Store: e.store, Files: e.store, OnceKey: secret,
			Now: e.clock.Now, MaxSubmission: request.DefaultMaxBody, MaxFile: 1 << 20,
		}),
		Auth: e.users, Logger: log,
	}
	for _, c := range change {
		c(&opts)
	}
	sessions, err := session.New(session.Options{Store: e.store, Users: e.users, OwnerKey: secret, Now: e.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	return e, Options{Backend: request.NewBackend(opts), Sessions: sessions, Key: secret}
}

func (e *env) serve(t testing.TB, h http.Handler) {
	server := httptest.NewServer(h)
	e.url = server.URL
	t.Cleanup(server.Close) // before the store, which was opened earlier
}

func (e *env) put(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if e.source != nil {
		e.source.Reload(t.Context())
	}
}

// browser is a client with cookies of its own. It follows redirects.
type browser struct {
	t      testing.TB
	env    *env
	client *http.Client
}

func (e *env) browser(t testing.TB) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t, e, &http.Client{Jar: jar}}
}

// signedIn is the browser of somebody who has signed in.
func (e *env) signedIn(t testing.TB, user string) *browser {
	t.Helper()
	b := e.browser(t)
	p := b.postForm("/login", url.Values{"username": {user}, "password": {user + "-secret"}, "next": {"/"}})
	if p.status != http.StatusOK || p.path != "/" {
		t.Fatalf("sign in as %s: %d at %s\n%s", user, p.status, p.path, p.text())
	}
	return b
}

// answer is what came back after redirects.
type answer struct {
	t      testing.TB
	status int
	path   string // with the query
	header http.Header
	body   string
	root   *html.Node
}

func (b *browser) do(r *http.Request) *answer {
	b.t.Helper()
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	root, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	return &answer{b.t, resp.StatusCode, resp.Request.URL.RequestURI(), resp.Header, string(body), root}
}

func (b *browser) get(path string) *answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.env.url+path, http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(r)
}

func (b *browser) postForm(path string, values url.Values) *answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.env.url+path, strings.NewReader(values.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

// chosenFile is a file that is chosen in a form.
type chosenFile struct{ field, name, content string }

// send posts a form as browsers do: multipart/form-data.
func (b *browser) send(path string, values url.Values, files ...chosenFile) *answer {
	b.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, v := range values[name] {
			if err := w.WriteField(name, v); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	for _, f := range files {
		part, err := w.CreateFormFile(f.field, f.name)
		if err != nil {
			b.t.Fatal(err)
		}
		_, _ = io.WriteString(part, f.content)
	}
	_ = w.Close()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.env.url+path, &body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	return b.do(r)
}

// all returns the elements for which keep is true, in document order.
func (a *answer) all(keep func(*html.Node) bool) []*html.Node {
	var found []*html.Node
	for n := range a.root.Descendants() {
		if n.Type == html.ElementNode && keep(n) {
			found = append(found, n)
		}
	}
	return found
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasAttribute(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// text is what the main part of the page says.
func (a *answer) text() string {
	for _, n := range a.all(func(n *html.Node) bool { return n.Data == "main" }) {
		return textOf(n)
	}
	return a.body
}

func (a *answer) title() string {
	for _, n := range a.all(func(n *html.Node) bool { return n.Data == "title" }) {
		return textOf(n)
	}
	return ""
}

// link is where the link with that text leads, or "".
func (a *answer) link(text string) string {
	for _, n := range a.all(func(n *html.Node) bool { return n.Data == "a" && textOf(n) == text }) {
		return attribute(n, "href")
	}
	return ""
}

// values are what the form of the page would send as it is shown, without any
// button.
func (a *answer) values() url.Values {
	values := url.Values{}
	for _, n := range a.all(func(n *html.Node) bool { return hasAttribute(n, "name") && !hasAttribute(n, "disabled") }) {
		name, kind := attribute(n, "name"), attribute(n, "type")
		switch {
		case n.Data == "textarea":
			values.Add(name, rawText(n))
		case n.Data == "select":
			values.Add(name, selected(n))
		case n.Data != "input" || kind == "file" || kind == "search":
		case kind != "radio" && kind != "checkbox", hasAttribute(n, "checked"):
			values.Add(name, attribute(n, "value"))
		}
	}
	return values
}

func rawText(n *html.Node) string {
	if n.FirstChild == nil {
		return ""
	}
	return n.FirstChild.Data
}

func selected(n *html.Node) string {
	for o := range n.Descendants() {
		if o.Data == "option" && hasAttribute(o, "selected") {
			return attribute(o, "value")
		}
	}
	return ""
}

// errors are the lines of the error summary, and those beside the questions.
func (a *answer) errors() (summary, beside []string) {
	for _, n := range a.all(func(n *html.Node) bool { return hasAttribute(n, "data-error-summary") }) {
		for li := range n.Descendants() {
			if li.Data == "li" {
				summary = append(summary, textOf(li))
			}
		}
	}
	for _, n := range a.all(func(n *html.Node) bool { return n.Data == "p" && attribute(n, "class") == "error" }) {
		beside = append(beside, textOf(n))
	}
	return summary, beside
}

func (a *answer) want(status int, texts ...string) {
	a.t.Helper()
	if a.status != status {
		a.t.Errorf("%s: status %d, want %d", a.path, a.status, status)
	}
	for _, text := range texts {
		if !strings.Contains(a.text(), text) {
			a.t.Errorf("%s: no %q in: %s", a.path, text, a.text())
		}
	}
}

func with(values url.Values, pairs ...string) url.Values {
	values = maps.Clone(values)
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = []string{pairs[i+1]}
	}
	return values
}
