package rest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
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
	for _, path := range []string{"/docs/nope", "/docs/../etc"} {
		testkit.Same(t, path, e.fetch(t, "GET", path).status, 404)
	}
	for _, path := range []string{"/rest/forms/1.0/openapi.yaml", "/docs"} {
		for _, method := range []string{"POST", "DELETE", "OPTIONS"} {
			a := e.fetch(t, method, path)
			if a.status != 405 || a.header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, Allow %q", method, path, a.status, a.header.Get("Allow"))
			}
			checkProblem(t, e.newRequest(t, ask(method, path)), a)
		}
	}
}

var (
	reference = regexp.MustCompile(`(?:src|href)\s*=\s*["']([^"']+)["']`)
	otherHost = regexp.MustCompile(`(?i)(?:https?:)?//[a-z0-9-]+\.[a-z0-9.-]+`)
	cssLoad   = regexp.MustCompile(`(?:url\(|@import)\s*["']?([^"')\s]+)`)
)

// The documentation works in a network without a way out: everything it loads
// comes from here, and the policy lets nothing else in.
func TestDocsLoadFromHereAlone(t *testing.T) {
	e := newHouse(t)
	for _, path := range []string{"/docs", "/docs/"} {
		page := e.fetch(t, "GET", path)
		if page.status != 200 || !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
			t.Fatalf("GET %s: %d %v", path, page.status, page.header)
		}
		checkPolicy(t, page)
		testkit.Contains(t, path, page.body, Prefix+"/openapi.yaml")
		if hosts := otherHost.FindAllString(page.body, -1); hosts != nil {
			t.Errorf("GET %s: the page names other hosts: %q", path, hosts)
		}
		assets := reference.FindAllStringSubmatch(page.body, -1)
		if len(assets) < 3 {
			t.Errorf("GET %s: found only %d assets", path, len(assets))
		}
		for _, m := range assets {
			checkAsset(t, e, m[1])
		}
	}
}

func checkAsset(t *testing.T, e *env, path string) {
	t.Helper()
	if !strings.HasPrefix(path, "/docs/") {
		t.Errorf("the page loads %q, which is not below /docs/", path)
		return
	}
	asset := e.fetch(t, "GET", path)
	if asset.status != 200 || asset.body == "" {
		t.Errorf("GET %s: %d, %d bytes", path, asset.status, len(asset.body))
	}
	checkPolicy(t, asset)
	if !strings.HasSuffix(path, ".css") {
		return // what a script would load from elsewhere, the policy refuses
	}
	for _, m := range cssLoad.FindAllStringSubmatch(asset.body, -1) {
		if !strings.HasPrefix(m[1], "data:") && strings.Contains(m[1], "//") {
			t.Errorf("%s loads %q", path, clip(m[1]))
		}
	}
}

func checkPolicy(t *testing.T, a answer) {
	t.Helper()
	policy := a.header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("Content-Security-Policy %q does not begin with nothing", policy)
	}
	for directive := range strings.SplitSeq(policy, ";") {
		words := strings.Fields(directive)
		for _, source := range words[1:] {
			if !slices.Contains([]string{"'self'", "'none'", "'unsafe-inline'", "data:"}, source) {
				t.Errorf("Content-Security-Policy lets in %q by %q", source, directive)
			}
			if source == "data:" && words[0] != "img-src" {
				t.Errorf("Content-Security-Policy lets in %q by %q", source, directive)
			}
		}
	}
}
