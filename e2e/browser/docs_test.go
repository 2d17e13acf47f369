package browser

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

// swaggerFindings are the rules of axe-core that Swagger UI does not keep in its own HTML.
var swaggerFindings = []string{"button-name", "label", "label-content-name-mismatch", "nested-interactive", "select-name"}

// The documentation of the API is a page as all others, also below a base path.
func TestDocs(t *testing.T) {
	t.Parallel()
	server := serve(t, "--base-path", "/team/forms")
	open := func(path string, options browsertest.Options) *browsertest.Page {
		t.Helper()
		options.AxeFindings = swaggerFindings
		p := browsertest.Open(t, server+path, options)
		p.WaitText("Submit to a form")
		return p
	}
	p := open("/docs", browsertest.Options{Cookies: login(t, server, "alice", "wonderland")})
	if !strings.Contains(p.Text(), "alice") {
		t.Errorf("nobody is signed in: %s", p.Text())
	}
	p.Click("button", "Authorize")
	p.WaitText("Available authorizations")
	p.Check()
	p.Click("button", "Close")
	p.Loads(func() { p.Click("link", "Forms") })
	testkit.Same(t, "address", p.Address(), server+"/")

	const operation = "/docs#/submissions/createSubmission"
	p = open(operation, browsertest.Options{})
	p.WaitText("Idempotency-Key")
	p.Check()
	p = open(operation, browsertest.Options{Width: 360})
	p.WaitText("Idempotency-Key")
	const wide = `[...document.querySelectorAll("#swagger-ui *")].filter((e) => e.getBoundingClientRect().right > innerWidth)
		.map((e) => e.localName + "." + e.className).join(" ")`
	testkit.Same(t, "cut off", browsertest.Eval[string](p, wide), "")
}
