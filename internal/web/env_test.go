package web

import (
	"bytes"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
)

// env is the pages on a real store.
type env struct {
	*testsite.Site
	t     testing.TB
	site  *Site
	users map[string]*browser // see ask
}

// envOptions are what tests change about an env.
type envOptions struct {
	Options
	service  service.Options
	request  request.Options
	sessions session.Options
}

// began is when the tests take place.
var began = time.Date(2025, 11, 15, 12, 3, 5, 0, time.UTC)

// newEnv serves pages, by file name.
func newEnv(t testing.TB, files map[string]string, change ...func(*envOptions)) *env {
	t.Helper()
	return newEnvOn(t, enginetest.Default(), files, change...)
}

func newEnvOn(t testing.TB, on enginetest.Engine, files map[string]string, change ...func(*envOptions)) *env {
	t.Helper()
	e := &env{t: t, Site: testsite.On(t, on, files), users: map[string]*browser{}}
	e.Clock.Set(began)
	o := envOptions{
		Options: Options{Key: testsite.Key},
		service: service.Options{
			Pages: e.Pages, Store: e.Store, Files: e.Store, AnonymousKey: testsite.Key,
			Now: e.Clock.Now, MaxSubmission: request.DefaultMaxBody, MaxFile: 1 << 20,
		},
		request:  request.Options{Auth: e.Users, Logger: e.Logger},
		sessions: session.Options{Store: e.Engine, Users: e.Users, OwnerKey: testsite.Key, Now: e.Clock.Now},
	}
	for _, c := range change {
		c(&o)
	}
	o.request.Service = service.New(o.service)
	o.Backend = request.NewBackend(o.request)
	o.Sessions = session.New(o.sessions)
	e.site = New(o.Options)
	return e
}

// newAlice is newEnv with the browser of alice.
func newAlice(t testing.TB, files map[string]string, change ...func(*envOptions)) (*env, *browser) {
	t.Helper()
	e := newEnv(t, files, change...)
	return e, e.signedIn("alice")
}

// edit changes page files and has them read.
func (e *env) edit(files map[string]string) {
	e.t.Helper()
	for name, text := range files {
		e.Write(e.t, name, text)
	}
}

// browser is a client with cookies of its own. It follows redirects.
type browser struct {
	t      testing.TB
	env    *env
	at     string // scheme and host
	client *http.Client
	accept string // languages, as in the header Accept-Language
	site   string // where its POSTs come from, as in the header Sec-Fetch-Site; "" as a program

	mu    sync.Mutex
	asked []*noted
}

// noted is what the access log would say about a request.
type noted struct {
	*httptest.ResponseRecorder
	what      string
	pattern   string // of the page's route
	user      string
	anonymous bool
}

func (n *noted) SetUser(name string) { n.user, n.anonymous = name, false }
func (n *noted) Anonymous()          { n.user, n.anonymous = "", true }
func (n *noted) RequestID() string   { return "" }
func (n *noted) Working()            {}

func (e *env) browser() *browser {
	e.t.Helper()
	return e.browserAt("http://forms.example")
}

func (e *env) browserAt(at string) *browser {
	e.t.Helper()
	jar, err := cookiejar.New(nil)
	testkit.Must(e.t, err)
	b := &browser{t: e.t, env: e, at: at}
	b.client = &http.Client{Jar: jar, Transport: b}
	return b
}

// stay has the browser follow no redirects.
func (b *browser) stay() *browser {
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return b
}

// RoundTrip implements http.RoundTripper. It uses no network.
func (b *browser) RoundTrip(r *http.Request) (*http.Response, error) {
	address := *r.URL
	address.Fragment = "" // browsers keep it
	received := httptest.NewRequestWithContext(r.Context(), r.Method, address.String(), r.Body)
	received.Header = r.Header
	if b.accept != "" {
		received.Header.Set("Accept-Language", b.accept)
	}
	if b.site != "" && r.Method == http.MethodPost {
		received.Header.Set("Sec-Fetch-Site", b.site)
	}
	if r.ContentLength > 0 {
		received.ContentLength = r.ContentLength
	}
	n := &noted{ResponseRecorder: httptest.NewRecorder(), what: r.Method + " " + r.URL.String()}
	b.env.site.ServeHTTP(n, received)
	n.pattern = received.Pattern
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, n)
	response := n.Result()
	response.Request = r
	return response, nil
}

// last is what the access log would say about the last request.
func (b *browser) last() *noted { return b.asked[len(b.asked)-1] }

func credentials(user, next string) url.Values {
	return url.Values{"username": {user}, "password": {user + "-secret"}, "next": {next}}
}

// signedIn is the browser of somebody who has signed in.
func (e *env) signedIn(user string) *browser {
	e.t.Helper()
	b := e.browser()
	p := b.postForm("/login", credentials(user, "/"))
	if p.status != 200 || p.path != "/" {
		e.t.Fatalf("sign in as %s: %d at %s\n%s", user, p.status, p.path, p.text())
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

// request sends a request. The header is given in pairs.
func (b *browser) request(method, path, contentType string, body io.Reader, header ...string) *answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.at+path, body)
	testkit.Must(b.t, err)
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	response, err := b.client.Do(r)
	testkit.Must(b.t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	testkit.Must(b.t, err)
	root, err := html.Parse(bytes.NewReader(text))
	testkit.Must(b.t, err)
	return &answer{b.t, response.StatusCode, response.Request.URL.RequestURI(), response.Header, string(text), root}
}

func (b *browser) get(path string, header ...string) *answer {
	b.t.Helper()
	return b.request(http.MethodGet, path, "", http.NoBody, header...)
}

const urlencoded = "application/x-www-form-urlencoded"

func (b *browser) postForm(path string, values url.Values, header ...string) *answer {
	b.t.Helper()
	return b.request(http.MethodPost, path, urlencoded, strings.NewReader(values.Encode()), header...)
}

// chosenFile is a file that is chosen in a form.
type chosenFile struct{ field, name, content string }

// send posts a form as browsers do: multipart/form-data.
func (b *browser) send(path string, values url.Values, files ...chosenFile) *answer {
	b.t.Helper()
	body, contentType := multipartForm(b.t, values, files...)
	return b.request(http.MethodPost, path, contentType, strings.NewReader(body))
}

// submission is the path of what was sent.
func (a *answer) submission() string { return strings.TrimSuffix(a.path, "?sent") }

// fill sends the form at a path as it is shown, with other values in pairs.
func (b *browser) fill(path string, pairs ...string) *answer {
	b.t.Helper()
	return b.send(path, with(b.get(path).values(), pairs...))
}

// signedInAgain are the values of the page after a session has expired, with a sign-in.
func (a *answer) signedInAgain() url.Values {
	return with(a.values(), nameControl, "alice", passwordControl, "alice-secret")
}

func multipartForm(t testing.TB, values url.Values, files ...chosenFile) (body, contentType string) {
	t.Helper()
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, v := range values[name] {
			testkit.Must(t, w.WriteField(name, v))
		}
	}
	for _, f := range files {
		part, err := w.CreateFormFile(f.field, f.name)
		testkit.Must(t, err)
		_, _ = io.WriteString(part, f.content)
	}
	_ = w.Close()
	return text.String(), w.FormDataContentType()
}

// find returns the elements of the page that a selector of CSS finds. It may have tags,
// ids, classes, attributes, and a space between an element and others in it.
func (a *answer) find(selector string) []*html.Node { return find(a.root, selector) }

func find(root *html.Node, selector string) (found []*html.Node) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && matches(n, strings.Fields(selector)) {
			found = append(found, n)
		}
	}
	return found
}

var simple = regexp.MustCompile(`^([a-z0-9]+)|#([\w-]+)|\.([\w-]+)|\[([\w-]+)(?:="(.*?)")?\]`)

func matches(n *html.Node, selectors []string) bool {
	last := len(selectors) - 1
	for _, s := range simple.FindAllStringSubmatch(selectors[last], -1) {
		switch {
		case s[1] != "" && n.Data != s[1], s[2] != "" && attribute(n, "id") != s[2],
			s[3] != "" && !slices.Contains(strings.Fields(attribute(n, "class")), s[3]),
			s[4] != "" && !hasAttribute(n, s[4]), s[5] != "" && attribute(n, s[4]) != s[5]:
			return false
		}
	}
	if last == 0 {
		return true
	}
	for outer := range n.Ancestors() {
		if matches(outer, selectors[:last]) {
			return true
		}
	}
	return false
}

// textsOf are the texts of elements.
func textsOf(nodes []*html.Node) (texts []string) {
	for _, n := range nodes {
		texts = append(texts, textOf(n))
	}
	return texts
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
	for _, n := range a.find("main") {
		return textOf(n)
	}
	return a.body
}

func (a *answer) title() string {
	return strings.Join(textsOf(a.find("title")), " ")
}

// link is where the link with that text leads, or "".
func (a *answer) link(text string) string {
	for _, n := range a.find("a") {
		if textOf(n) == text {
			return attribute(n, "href")
		}
	}
	return ""
}

// values are what the form of the page would send as it is shown, without any
// button.
func (a *answer) values() url.Values {
	values := url.Values{}
	for _, n := range a.find("[name]") {
		name, kind := attribute(n, "name"), attribute(n, "type")
		switch {
		case hasAttribute(n, "disabled"), attribute(n, "form") == "languages", matches(n, []string{"#languages", "[name]"}):
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

// wantValues checks what the form of the page would send, in pairs of a name and its values.
func (a *answer) wantValues(pairs ...string) {
	a.t.Helper()
	values := a.values()
	for pair := range slices.Chunk(pairs, 2) {
		testkit.Same(a.t, a.path+": "+pair[0], strings.Join(values[pair[0]], ";"), pair[1])
	}
}

// wantHeader checks the header, in pairs of a name and a value.
func (a *answer) wantHeader(pairs ...string) {
	a.t.Helper()
	for pair := range slices.Chunk(pairs, 2) {
		testkit.Same(a.t, a.path+": "+pair[0], a.header.Get(pair[0]), pair[1])
	}
}

// formValues are what the hidden controls of a form of the page hold.
func formValues(a *answer, form string) url.Values {
	values := url.Values{}
	for _, n := range find(a.find(form)[0], "input") {
		values.Add(attribute(n, "name"), attribute(n, "value"))
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
	for _, o := range find(n, "option[selected]") {
		return attribute(o, "value")
	}
	return ""
}

// errors are the lines of the error summary, and those beside the questions.
func (a *answer) errors() (summary, beside []string) {
	return textsOf(a.find("[data-error-summary] li")), textsOf(a.find("p.error"))
}

func (a *answer) want(status int, texts ...string) {
	a.t.Helper()
	if a.status != status {
		a.t.Errorf("%s: status %d, want %d", a.path, a.status, status)
	}
	for _, text := range texts {
		testkit.Contains(a.t, a.path, a.text(), text)
	}
}

// wantHTML checks the source of a page.
func (a *answer) wantHTML(texts ...string) {
	a.t.Helper()
	for _, text := range texts {
		testkit.Contains(a.t, a.path, a.body, text)
	}
}

// wantNoHTML checks what the source of a page must not have.
func (a *answer) wantNoHTML(texts ...string) {
	a.t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			a.t.Errorf("%s: %s in\n%s", a.path, text, a.body)
		}
	}
}

// wantStart fails the test unless a text begins with another one.
func wantStart(t testing.TB, what, text, start string) {
	t.Helper()
	if !strings.HasPrefix(text, start) {
		t.Errorf("%s: got %.500q, want %q at the start", what, text, start)
	}
}

func with(values url.Values, pairs ...string) url.Values {
	values = maps.Clone(values)
	for pair := range slices.Chunk(pairs, 2) {
		values[pair[0]] = pair[1:]
	}
	return values
}
