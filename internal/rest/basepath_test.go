package rest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/testkit"
)

// testBase is the base path of tests that have one.
const testBase = "/team/forms"

// TestDocumentBelowABasePath: the document names the server there.
func TestDocumentBelowABasePath(t *testing.T) {
	e := newHouse(t, func(o *request.Options) { o.BasePath = testBase })
	a := e.fetch(t, "GET", testBase+OpenAPIPath)
	testkit.Contains(t, "the document names another server", a.body, "\nservers:\n  - url: "+testBase+Prefix+"\n")
}

// TestBelowABasePath: paths and links of the interface begin with it.
func TestBelowABasePath(t *testing.T) {
	e := newHouse(t, func(o *request.Options) { o.BasePath = testBase })
	form := testBase + allPath
	for i := range 2 {
		if path, id := e.create(t, "alice", form, nestedBody("name", "Ann")); id != int64(i+1) || path != fmt.Sprint(form, "/submission/", id) {
			t.Errorf("Location %q", path)
		}
	}
	a := e.expect(t, 200, ask("alice GET", form+"/submission?limit=1"))
	if next := nextPage(t, a.header); next != form+"/submission?after=1&limit=1" || !strings.Contains(e.get(t, "alice", next), `"id":2`) {
		t.Errorf("next page %q", next)
	}
	e.expect(t, 204, ask("alice DELETE", form+"/result/1"))
	e.expect(t, 405, ask("alice DELETE", form))
	e.expect(t, 401, ask("GET", form))
	for _, outside := range []string{allPath, "/team" + allPath, testBase + "x" + allPath, testBase + testBase + allPath} {
		e.expect(t, 404, ask("alice GET", outside))
	}
}
