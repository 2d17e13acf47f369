package rest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
)

// The time of testsite.Began on the wire.
const (
	beganISO    = "2025-11-15T00:00:00.123+0000"
	beganMillis = "1763164800123"
)

// env is the whole API on a real listener, a real database and real pages.
type env struct {
	*testsite.Site
	source pages.Source
	people people
	ids    []int64 // of the pages that dump reads
	api    *API
	url    string
	client *http.Client
}

// people are users with passwords.
type people interface {
	auth.Authenticator
	Authenticate(ctx context.Context, user, password, addr string) (auth.Identity, error)
}

// newEnv serves pages, by file name.
func newEnv(t testing.TB, files map[string]string, change ...func(*request.Options)) *env {
	t.Helper()
	return newEnvOn(t, enginetest.Default(), files, change...)
}

// newEnvOn is newEnv on an engine.
func newEnvOn(t testing.TB, on enginetest.Engine, files map[string]string, change ...func(*request.Options)) *env {
	t.Helper()
	return serve(t, testsite.On(t, on, files), change...)
}

// newHouse serves all the pages of fixtures_test.go.
func newHouse(t testing.TB, change ...func(*request.Options)) *env {
	t.Helper()
	return newEnv(t, house(), change...)
}

// newExamplesEnv serves the pages of examples/.
func newExamplesEnv(t testing.TB) *env {
	t.Helper()
	return serve(t, testsite.In(t, enginetest.Default(), "../../examples/pages"))
}

func serve(t testing.TB, site *testsite.Site, change ...func(*request.Options)) *env {
	t.Helper()
	e := &env{Site: site, source: site.Pages, people: site.Users, ids: []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}}
	e.serve(t, change...)
	return e
}

func (e *env) serve(t testing.TB, change ...func(*request.Options)) {
	t.Helper()
	opts := request.Options{
		Limits: request.DefaultLimits,
		Service: service.New(service.Options{
			Pages: e.source, Store: e.Store, Files: e.Store, AnonymousKey: testsite.Key,
			Now: e.Clock.Now, MaxSubmission: request.DefaultMaxBody, MaxFile: testMaxFile,
		}),
		Auth: e.people, Logger: e.Logger,
	}
	for _, c := range change {
		c(&opts)
	}
	e.api = New(request.NewBackend(opts))
	server := httptest.NewServer(mount(e.api))
	e.url, e.client = server.URL, server.Client()
	e.client.Transport.(*http.Transport).DisableCompression = true
	e.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(server.Close) // before the store, which was opened earlier
}

// mount serves the interface and its document, as package cli does.
func mount(a *API) http.Handler {
	document := OpenAPI(a.BasePath)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == a.BasePath+OpenAPIPath {
			document.ServeHTTP(w, r)
		} else {
			a.ServeHTTP(w, r)
		}
	})
}

// testRequest is what a test sends. Without a user it goes out without
// credentials; a body goes out as JSON unless the header says otherwise.
type testRequest struct {
	user, method, path string
	body               string
	header             http.Header
	chunked            bool
}

// ask is a request of a user by a method, such as "alice GET", or without credentials, such as "GET".
func ask(userAndMethod, path string, body ...string) testRequest {
	user, method, found := strings.Cut(userAndMethod, " ")
	if !found {
		user, method = "", user
	}
	return testRequest{user: user, method: method, path: path, body: strings.Join(body, "")}
}

// asks reads requests of a user: a method, a path below Prefix, and a body.
func asks(user, text string) (list []testRequest) {
	for _, row := range testkit.Rows(text) {
		method, rest, _ := strings.Cut(row[0], " ")
		path, body, _ := strings.Cut(rest, " ")
		list = append(list, ask(user+" "+method, Prefix+path, body))
	}
	return list
}

func (r testRequest) with(header http.Header) testRequest {
	r.header = header
	return r
}

// headerOf returns a header. Its arguments are a name, its value, the next name, and so on.
func headerOf(namesAndValues ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(namesAndValues); i += 2 {
		h.Add(namesAndValues[i], namesAndValues[i+1])
	}
	return h
}

// readHeader reads fields such as "If-Match: x", with " + " between them.
func readHeader(text string) http.Header {
	h := http.Header{}
	for field := range strings.SplitSeq(text, " + ") {
		if name, value, found := strings.Cut(field, ": "); found {
			h.Add(name, value)
		}
	}
	return h
}

// readJSONHeader is readHeader for a body of JSON, unless the text has another type.
func readJSONHeader(text string) http.Header {
	h := readHeader(text)
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json")
	}
	return h
}

// jsonWith is headerOf for a body of JSON.
func jsonWith(namesAndValues ...string) http.Header {
	return headerOf(append(namesAndValues, "Content-Type", "application/json")...)
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request and holds whatever comes back against openapi.yaml, so
// that every test of the API is a test of its document.
func (e *env) do(t testing.TB, r testRequest) answer {
	t.Helper()
	req := e.newRequest(t, r)
	resp, err := e.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: read answer: %v", r.method, r.path, err)
	}
	a := answer{resp.StatusCode, resp.Header, string(body)}
	checkContract(t, req, a)
	return a
}

func (e *env) newRequest(t testing.TB, r testRequest) *http.Request {
	t.Helper()
	var body io.Reader
	if r.body != "" || r.method == http.MethodPost || r.method == http.MethodPut {
		body = strings.NewReader(r.body)
	}
	if r.chunked {
		body = struct{ io.Reader }{body} // hides the length
	}
	req, err := http.NewRequestWithContext(t.Context(), r.method, e.url+r.path, body)
	testkit.Must(t, err)
	if r.header != nil {
		req.Header = r.header.Clone()
	} else if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.user != "" {
		req.SetBasicAuth(r.user, r.user+"-secret")
	}
	return req
}

// expect is do for one status only.
func (e *env) expect(t testing.TB, status int, r testRequest) answer {
	t.Helper()
	a := e.do(t, r)
	if a.status != status {
		t.Fatalf("%s %s by %q: status %d, want %d\n%s", r.method, r.path, r.user, a.status, status, clip(a.body))
	}
	return a
}

// expectText is expect with a status, and texts of the body, from a table.
func (e *env) expectText(t testing.TB, status string, r testRequest, texts ...string) answer {
	t.Helper()
	a := e.do(t, r)
	if strconv.Itoa(a.status) != status {
		t.Errorf("%s %s by %q: status %d, want %s\n%s", r.method, r.path, r.user, a.status, status, clip(a.body))
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("%s %s by %q: no %q in %s", r.method, r.path, r.user, text, clip(a.body))
		}
	}
	return a
}

func (e *env) get(t testing.TB, user, path string) string {
	t.Helper()
	return e.expect(t, 200, ask(user+" GET", path)).body
}

// create submits to a form and returns the path of the new submission, and its id.
func (e *env) create(t testing.TB, user, form, body string) (path string, id int64) {
	t.Helper()
	a := e.expect(t, 201, ask(user+" POST", form+"/submission", body))
	path = a.header.Get("Location")
	id, err := strconv.ParseInt(path[strings.LastIndex(path, "/")+1:], 10, 64)
	if err != nil {
		t.Fatalf("Location %q: %v", path, err)
	}
	return path, id
}

// forms are those of a page, regardless of who may view it.
func (e *env) forms(id int64) []*forms.Form {
	for _, name := range slices.Sorted(maps.Keys(testsite.Everybody)) {
		who, err := e.people.Authenticate(context.Background(), name, name+"-secret", "")
		if err != nil {
			continue // the account was removed
		}
		page, err := e.source.Page(context.Background(), pages.User{Name: who.Name, Groups: who.Groups, Wiki: who.Wiki()}, id)
		if err == nil {
			return page.Forms
		}
	}
	return nil
}

// dump is everything stored for the forms that stand on pages 1 to 9, or on those of a wiki.
func (e *env) dump(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for _, id := range e.ids {
		for _, f := range e.forms(id) {
			err := testkit.Each(e.Store.Store.Scan(context.Background(), store.Query{PageID: id, FormID: f.ID}), func(s forms.Submission) error {
				_, err := fmt.Fprintf(&b, "%d %s %d %s %q %s\n", s.PageID, s.FormID, s.ID, s.Created, s.Username, s.Entries)
				return err
			})
			if err != nil {
				t.Fatalf("dump: %v", err)
			}
		}
	}
	return b.String()
}

// fails has operations of the store fail with an error, and no others.
func (e *env) fails(fault error, operations ...string) {
	e.Store.FailWith(func(_ context.Context, operation string) error {
		if slices.Contains(operations, operation) {
			return fault
		}
		return nil
	})
}

// unchanged returns a function that checks that the store is as it was.
func (e *env) unchanged(t testing.TB) func() {
	t.Helper()
	before := e.dump(t)
	return func() {
		t.Helper()
		testkit.Same(t, "before after", e.dump(t), before)
	}
}

// form is the path of a form.
func form(page int64, id string) string {
	return fmt.Sprintf("%s/page/%d/form/%s", Prefix, page, id)
}

// result is the path of a submission in the flat model, from that in the nested one.
func result(submission string) string {
	return strings.Replace(submission, "/submission/", "/result/", 1)
}

// nestedBody is a request body of the nested model, from field ids and values
// in turn.
func nestedBody(idsAndValues ...string) string {
	b := []byte(`{"fields":{`)
	for i := 0; i < len(idsAndValues); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		id := string(appendString(nil, idsAndValues[i]))
		b = fmt.Appendf(b, `%s:{"fieldId":%s,"value":%s}`, id, id, appendString(nil, idsAndValues[i+1]))
	}
	return string(b) + "}}"
}

func appendString(dst []byte, s string) []byte { return forms.AppendJSONString(dst, s) }

func clip(s string) string {
	const most = 600
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
