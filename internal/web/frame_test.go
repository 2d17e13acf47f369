package web

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// The script of a frame leaves a sign-in when somebody has signed in elsewhere.
// It must not take a form with a question called "next" for a sign-in: what was
// typed there would be lost.
func TestFrameTellsSignInFromQuestions(t *testing.T) {
	e := newEnv(t, map[string]string{
		"1-steps.md": "---\ntitle: Steps\n---\n```yaml form\nform: steps\nfields:\n  - {id: next, type: textfield, label: Next}\n```\n",
	})
	const selector, mark = `document.querySelector("input[data-next]")`, "data-next"
	if !strings.Contains(string(readStatic("frame.js")), selector) {
		t.Fatalf("frame.js does not find a sign-in by %s", selector)
	}
	marked := func(p *answer) int {
		return len(p.all(func(n *html.Node) bool { return n.Data == "input" && hasAttribute(n, mark) }))
	}
	if p := e.browser(t).get("/login"); marked(p) != 1 {
		t.Error("the sign-in is not marked")
	}
	b := e.signedIn(t, "alice")
	page := b.get("/page/1/form/steps")
	if page.want(http.StatusOK); marked(page) != 0 {
		t.Error("a form is marked as a sign-in")
	}
	b.setCookie("none")
	kept := b.send("/page/1/form/steps", with(page.values(), "next", "typed"))
	if kept.want(http.StatusForbidden, "Sign in"); marked(kept) != 0 {
		t.Error("a sign-in that keeps a form is marked as one with nothing to lose")
	}
}
