package web

import (
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// The documentation of the API is for everybody. It loads files of this server alone, and has the
// policy of other pages.
func TestDocs(t *testing.T) {
	e := newEnv(t, wiki)
	b := e.browser()
	page := b.get("/docs")
	page.want(200, "API documentation")
	page.wantNoHTML("Sign out")
	testkit.Same(t, "policy", page.header.Get("Content-Security-Policy"), b.get("/login").header.Get("Content-Security-Policy"))
	loaded := slices.Concat(page.find("link[href]"), page.find("img"), page.find("script[src]"))
	if len(loaded) < 7 {
		t.Errorf("it loads %d files", len(loaded))
	}
	for _, n := range loaded {
		path := attribute(n, "href") + attribute(n, "src")
		if file := b.get(path); attribute(n, "rel") != "expect" && (file.status != 200 || !strings.HasPrefix(path, "/static/") && !strings.HasPrefix(path, "/docs/")) {
			t.Errorf("%s: %d", path, file.status)
		}
	}
	for _, path := range []string{"/docs/nope", "/docs/", "/docsx"} {
		b.get(path).want(404, "There is no page at this address.")
	}
	e.signedIn("alice").get("/docs").wantHTML("<bdi>alice</bdi>", "Sign out")
}
