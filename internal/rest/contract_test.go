package rest

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/problem"
)

// document is openapi.yaml, read once.
var document = sync.OnceValues(func() (*openapi3.T, error) {
	return openapi3.NewLoader().LoadFromData(openAPI)
})

func init() {
	for _, kind := range []*encode.Format{encode.NDJSON, encode.CSV, encode.XLSX} {
		openapi3filter.RegisterBodyDecoder(kind.MediaType, openapi3filter.PlainBodyDecoder)
	}
}

func loadDocument(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := document()
	if err != nil {
		t.Fatalf("load openapi.yaml: %v", err)
	}
	return doc
}

// checkContract holds an answer of the API against openapi.yaml: its status is
// documented for the operation, its content type, body and headers are as
// described.
func checkContract(t testing.TB, req *http.Request, a answer) {
	t.Helper()
	checkFraming(t, req, a)
	route := findRoute(loadDocument(t), req)
	switch {
	case route == nil: // no path of the document
		if a.status != 401 && a.status != 429 && a.status != 404 {
			t.Errorf("%s %s: status %d for a path that is not in openapi.yaml", req.Method, req.URL, a.status)
		}
		checkProblem(t, req, a)
	case req.Method == http.MethodHead:
		checkHead(t, route, req, a)
	default:
		if err := validateResponse(route, req, a); err != nil {
			t.Errorf("%s %s: answer %d is not what openapi.yaml says: %v\n%s", req.Method, req.URL, a.status, err, clip(a.body))
		}
		if a.status >= 400 && a.status != 400 {
			checkProblem(t, req, a)
		}
	}
}

// An answer that differs from the document does not pass.
func TestOtherAnswersAreNoticed(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	for _, tt := range []struct{ path, part, wrong string }{
		{allPath, `"validationType":null`, `"validationType":3`},
		{allPath, `"condition":null,`, ``},
		{allPath + "/summary", `"min":null`, `"min":"x"`},
		{path, `"value":"Ann"`, `"value":"Ann","more":1`},
		{result(path), `"name":"Ann"`, `"name":null`},
	} {
		a := e.expect(t, 200, ask("alice GET", tt.path))
		other := a
		other.body = strings.Replace(a.body, tt.part, tt.wrong, 1)
		req := e.newRequest(t, ask("GET", tt.path))
		if err := validateResponse(findRoute(loadDocument(t), req), req, other); err == nil || other.body == a.body {
			t.Errorf("%s with %s: %v", tt.path, tt.wrong, err)
		}
	}
}

// checkFraming is what holds for every answer, documented or not.
func checkFraming(t testing.TB, req *http.Request, a answer) {
	t.Helper()
	switch {
	case req.Method == http.MethodHead || a.status == 204 || a.status == 304:
		if a.body != "" {
			t.Errorf("%s %s: answer %d has a body: %q", req.Method, req.URL, a.status, clip(a.body))
		}
		if a.status == 204 && (a.header.Get("Content-Type") != "" || a.header.Get("Content-Length") != "") {
			t.Errorf("%s %s: 204 comes with %v", req.Method, req.URL, a.header)
		}
	case a.header.Get("Content-Encoding") == "" && !isContent(a):
		if err := wellFormed(a); err != nil {
			t.Errorf("%s %s: answer %d is no %s: %v\n%s", req.Method, req.URL, a.status, a.header.Get("Content-Type"), err, clip(a.body))
		}
	}
	if a.status != 204 && a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s %s: answer %d has Cache-Control %q, want no-store", req.Method, req.URL, a.status, a.header.Get("Cache-Control"))
	}
}

// wellFormed looks at a body in the way its type wants.
func wellFormed(a answer) error {
	switch a.header.Get("Content-Type") {
	case "text/csv; charset=utf-8":
		_, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
		return err
	case encode.XLSX.MediaType:
		_, err := zip.NewReader(strings.NewReader(a.body), int64(len(a.body)))
		return err
	case encode.NDJSON.MediaType:
		for line := range strings.Lines(a.body) {
			if err := strictJSON(line); err != nil || !strings.HasSuffix(line, "\n") {
				return fmt.Errorf("line %q: %w", line, err)
			}
		}
		return nil
	default:
		return strictJSON(a.body)
	}
}

// isContent tells answers that are a file, or would be one.
func isContent(a answer) bool {
	return a.status < 400 && a.header.Get("Content-Security-Policy") == "sandbox"
}

// strictJSON refuses duplicate names, invalid UTF-8 and more than one value.
func strictJSON(s string) error {
	d := jsontext.NewDecoder(strings.NewReader(s))
	if err := d.SkipValue(); err != nil {
		return err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the value")
	}
	return nil
}

// checkProblem wants RFC 9457 with exactly the four members.
func checkProblem(t testing.TB, req *http.Request, a answer) {
	t.Helper()
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("%s %s: answer %d has Content-Type %q", req.Method, req.URL, a.status, ct)
	}
	if req.Method == http.MethodHead {
		return
	}
	var p problem.Document
	d := json.NewDecoder(strings.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Errorf("%s %s: answer %d is no problem: %v\n%s", req.Method, req.URL, a.status, err, clip(a.body))
	}
	if p.Type != "about:blank" || p.Title != http.StatusText(a.status) || p.Status != a.status || p.Detail == "" {
		t.Errorf("%s %s: answer %d is an incomplete problem: %s", req.Method, req.URL, a.status, clip(a.body))
	}
}

// checkHead holds a HEAD against the documentation of GET, as far as it goes
// without a body.
func checkHead(t testing.TB, route *routers.Route, req *http.Request, a answer) {
	t.Helper()
	response := route.Operation.Responses.Status(a.status)
	if response == nil {
		t.Errorf("%s %s: status %d is not in openapi.yaml", req.Method, req.URL, a.status)
		return
	}
	if ct := a.header.Get("Content-Type"); response.Value.Content.Get(ct) == nil && a.status != 304 && !isContent(a) {
		t.Errorf("%s %s: answer %d has Content-Type %q, which is not in openapi.yaml", req.Method, req.URL, a.status, ct)
	}
}

// asVersion30 has the built-in validator used. That of version 3.1 compiles a schema
// for every response, which took half of the time of all tests here. The schemas of
// responses use nothing that the built-in one does not check but "const: sandbox",
// which TestDownload checks.
var asVersion30 = &openapi3.T{OpenAPI: "3.0.3"}

// findRoute returns what the document says of a request, nil when it has no
// such path. A method that the path does not take is held against any of the
// path's operations: they all document 401 and 405.
func findRoute(doc *openapi3.T, req *http.Request) *routers.Route {
	path, ok := strings.CutPrefix(strings.TrimPrefix(req.URL.EscapedPath(), testBase), Prefix)
	if !ok {
		return nil
	}
	for template, item := range doc.Paths.Map() {
		if !matches(template, path) {
			continue
		}
		route := &routers.Route{Spec: asVersion30, Path: template, PathItem: item, Method: req.Method}
		method := req.Method
		if method == http.MethodHead || item.GetOperation(method) == nil {
			method = http.MethodGet
		}
		route.Operation = item.GetOperation(method)
		return route
	}
	return nil
}

func matches(template, path string) bool {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		parameter := strings.HasPrefix(want[i], "{")
		dots := have[i] == "." || have[i] == ".." || strings.Contains(strings.ToLower(have[i]), "%2e")
		if (!parameter && want[i] != have[i]) || (parameter && (have[i] == "" || dots)) {
			return false
		}
	}
	return true
}

func validateResponse(route *routers.Route, req *http.Request, a answer) error {
	header := a.header.Clone()
	header.Del("Content-Encoding") // the tests that ask for one look into it themselves
	body := []byte(a.body)
	options := &openapi3filter.Options{
		IncludeResponseStatus: true,
		ExcludeResponseBody:   a.header.Get("Content-Encoding") != "" || isContent(a),
	}
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, Route: route, Options: options},
		Status:                 a.status, Header: header, Body: io.NopCloser(bytes.NewReader(body)), Options: options,
	})
}
