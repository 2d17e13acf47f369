package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// Forms lead to results by the name that they have for the caller, and not to
// those of which the caller can see none.
func TestFormsLeadToResults(t *testing.T) {
	e := newEnv(t, wiki)
	for user, want := range map[string][3]string{"alice": {"Results", "My submissions", ""}, "carol": {"Results", "Results", "Results"}} {
		for i, path := range []string{survey, "/page/2/form/once", "/page/3/form/ballot"} {
			page := e.get(user, path)
			for _, name := range []string{"Results", "My submissions"} {
				if has := page.link(name) == path+"/results"; has != (name == want[i]) {
					t.Errorf("%s at %s: a link %q: %t", user, path, name, has)
				}
			}
		}
	}
}

// The forms come first, then what somebody has sent, with its state.
func TestHomeShowsMine(t *testing.T) {
	files := map[string]string{}
	for i := range 11 {
		files[fmt.Sprintf("%d.md", i+1)] = page1("", "form: f\nfields:\n  - {id: a, type: textfield, label: A}\n")["1.md"]
	}
	e := newEnv(t, files)
	const heading = `<h2 id="latest">My latest submissions</h2>`
	e.get("alice", "/").wantNoHTML(heading)
	for range 2 * maxHomeLatest {
		e.submit("alice", 1, "f", "a", "x")
	}
	page := e.get("alice", "/")
	before, after, found := strings.Cut(page.body, heading)
	if !found || !strings.Contains(before, `href="/page/11/form/f"`) || strings.Count(before, `class="row-name"`) != 11 || strings.Count(after, "/submission/") != maxHomeLatest {
		t.Errorf("home is\n%s", page.body)
	}
}

func TestErrorTitles(t *testing.T) {
	b := newEnv(t, wiki).signedIn("alice")
	for path, want := range map[string]string{
		"/nothing":                             "Page not found",
		"/logout":                              "This page can't be opened",
		"/page/1/form/survey/..":               "Page not found",
		"/page/x":                              "Page not found",
		survey + "/results.csv?filter[nope]=1": "This can't be read",
	} {
		if got := b.get(path).title(); got != want+" – Formulary" {
			t.Errorf("%s: title %q, want %q", path, got, want)
		}
	}
}

// The title of a page about a form says which form that is.
func TestTitlesNameThePage(t *testing.T) {
	b := newEnv(t, wiki).signedIn("alice")
	for path, want := range map[string]string{
		survey:                     "Survey – Formulary",
		survey + "/results":        "Results: Survey – Formulary",
		survey + "/sent":           "Survey – Formulary", // only anonymous forms have this page
		"/page/3/form/ballot/sent": "Sent: Ballot – Formulary",
	} {
		testkit.Same(t, path, b.get(path).title(), want)
	}
	sent := b.fill(survey, "comment", "x")
	testkit.Same(t, "after sending: title", sent.title(), "Sent: Survey – Formulary")
}

// A question has the direction of its label as a whole, its choices too.
func TestDirectionOfQuestions(t *testing.T) {
	p := newEnv(t, wiki).signedIn("alice").get(survey)
	p.want(200)
	p.wantHTML(
		`<div class="field" dir="auto" data-field="comment">`+"\n"+`<label for="f0-0" class="required">Comment</label>`,
		`<fieldset class="field" dir="auto" data-field="kind">`+"\n"+`<legend>Kind</legend>`,
		`<bdi class="lozenge color-grey">closed</bdi></label>`,
	)
}

// A question about files says how large they may be: the server has a limit,
// and the author may set a lower one.
func TestLimitOfFilesShows(t *testing.T) {
	e := newEnv(t, page1("", "form: f\nfields:\n  - {id: a, type: file}\n  - {id: b, type: file, maxSize: 500kB}\n  - {id: c, type: file, maxSize: 500MiB}\n"))
	for _, path := range []string{"/page/1/form/f", "/page/1"} {
		text := e.get("alice", path).text()
		if strings.Count(text, "At most 1 MiB each.") != 2 || strings.Count(text, "At most 500 kB each.") != 1 {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// Checkboxes can't be required in HTML, so a text says it.
func TestRequiredCheckboxes(t *testing.T) {
	e := newEnv(t, page1("", "form: f\nfields:\n  - {id: a, type: checkbox, label: A, required: true, options: [x, y]}\n"))
	e.get("alice", "/page/1/form/f").wantHTML(`aria-describedby="f0-0-needed"`, `id="f0-0-needed">Needs an answer.</span>`)
}
