package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/request"
)

// testBase is the base path of tests that have one.
const testBase = "/team/forms"

// TestBelowABasePath uses every endpoint of the interface there.
func TestBelowABasePath(t *testing.T) {
	e := newEnv(t, house(), func(o *request.Options) { o.BasePath = testBase })
	form := testBase + allPath
	get := func(path, want string) answer {
		t.Helper()
		a := e.expect(t, http.StatusOK, testRequest{user: "alice", method: "GET", path: path})
		if !strings.Contains(a.body, want) {
			t.Errorf("GET %s: no %q in %s", path, want, clip(a.body))
		}
		return a
	}
	get(testBase+Prefix+"/page/1/form", `"formId":"zeta"`)
	get(form, `"formId":"all"`)
	path, _ := e.create(t, "alice", form, nestedBody("name", "Ann"))
	if path != form+"/submission/1" {
		t.Errorf("Location %q", path)
	}
	upload := e.expect(t, http.StatusCreated, uploadOf(form+"/submission", textPart("name", "Bob"), filePart("doc", "a.txt", "text")))
	get(upload.header.Get("Location")+"/file/doc/a.txt", "text")
	get(path, `"value":"Ann"`)
	get(result(path), `"name":"Ann"`)
	e.expect(t, http.StatusOK, testRequest{user: "alice", method: "POST", path: path, body: nestedBody("name", "Eve")})
	e.expect(t, http.StatusOK, testRequest{user: "alice", method: "PUT", path: result(path), body: `{"note":"n"}`})
	get(form+"/result?format=csv", "Eve,n,")
	get(form+"/summary", `"count":2`)
	a := get(form+"/submission?limit=1", `"value":"Eve"`)
	next := nextPage(t, a.header)
	if next != form+"/submission?after=1&limit=1" {
		t.Errorf("next page %q", next)
	}
	get(next, `"value":"Bob"`)
	e.expect(t, http.StatusNoContent, testRequest{user: "alice", method: "DELETE", path: result(path)})
	e.expect(t, http.StatusNotFound, testRequest{user: "alice", method: "GET", path: path})
	e.expect(t, http.StatusMethodNotAllowed, testRequest{user: "alice", method: "DELETE", path: form})
	e.expect(t, http.StatusUnauthorized, testRequest{method: "GET", path: form})
	for _, outside := range []string{allPath, "/team" + allPath, testBase + "x" + allPath, testBase + testBase + allPath} {
		e.expect(t, http.StatusNotFound, testRequest{user: "alice", method: "GET", path: outside})
	}
}

// TestDocsBelowABasePath: the documentation loads what it shows from there.
func TestDocsBelowABasePath(t *testing.T) {
	e := newEnv(t, house(), func(o *request.Options) { o.BasePath = testBase })
	if a := e.fetch(t, "GET", testBase+OpenAPIPath); !strings.Contains(a.body, "\nservers:\n  - url: "+testBase+Prefix+"\n") {
		t.Error("the document names another server")
	}
	page := e.fetch(t, "GET", testBase+DocsPath)
	if !strings.Contains(page.body, testBase+OpenAPIPath) {
		t.Errorf("the page does not show the document:\n%s", page.body)
	}
	for _, m := range reference.FindAllStringSubmatch(page.body, -1) {
		if asset := e.fetch(t, "GET", m[1]); asset.status != http.StatusOK || !strings.HasPrefix(m[1], testBase+DocsPath+"/") {
			t.Errorf("GET %s: %d", m[1], asset.status)
		}
	}
}
