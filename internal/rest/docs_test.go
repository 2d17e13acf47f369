package rest

import (
	"net/http"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// fetch is a request without credentials for what is not part of the interface.
func (e *env) fetch(t testing.TB, method, path string) answer {
	t.Helper()
	resp, err := e.client.Do(e.newRequest(t, ask(method, path).with(http.Header{})))
	testkit.Must(t, err)
	return answer{resp.StatusCode, resp.Header, readAll(t, resp.Body)}
}

func TestDocumentIsServedToEverybody(t *testing.T) {
	e := newHouse(t)
	a := e.fetch(t, "GET", "/rest/forms/1.0/openapi.yaml")
	if a.status != 200 || a.header.Get("Content-Type") != "application/yaml" || a.body != string(openAPI) {
		t.Errorf("%d %v, %d bytes", a.status, a.header, len(a.body))
	}
	if a := e.fetch(t, "HEAD", "/rest/forms/1.0/openapi.yaml"); a.status != 200 || a.body != "" {
		t.Errorf("HEAD: %d %q", a.status, a.body)
	}
	for _, method := range []string{"POST", "DELETE", "OPTIONS"} {
		a := e.fetch(t, method, OpenAPIPath)
		if a.status != 405 || a.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q", method, a.status, a.header.Get("Allow"))
		}
		checkProblem(t, e.newRequest(t, ask(method, OpenAPIPath)), a)
	}
}
