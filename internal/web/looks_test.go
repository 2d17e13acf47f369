package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Home leads to results by the name that they have for the caller, and not to
// those of which the caller can see none.
func TestHomeResults(t *testing.T) {
	e := newEnv(t, wiki)
	for user, want := range map[string][3]string{
		"alice": {"Results of “survey”", "My submissions of “once”", ""},
		"carol": {"Results of “survey”", "Results of “once”", "Results of “ballot”"},
	} {
		text := e.signedIn(t, user).get("/").text()
		for _, link := range want {
			if !strings.Contains(text, link) {
				t.Errorf("%s: no %q:\n%s", user, link, text)
			}
		}
		if want[2] == "" && strings.Contains(text, "of “ballot”") {
			t.Errorf("%s can see no results of the ballot:\n%s", user, text)
		}
	}
}

// Below many pages people would not find what they have sent.
func TestHomeLeadsToLatest(t *testing.T) {
	files := map[string]string{}
	for i := range 11 {
		files[fmt.Sprintf("%d.md", i+1)] = page1("", "form: f\nfields:\n  - {id: a, type: textfield, label: A}\n")["1.md"]
	}
	b := newEnv(t, files).signedIn(t, "alice")
	const link = `<a href="#latest">My latest submissions</a>`
	if body := b.get("/").body; strings.Contains(body, link) {
		t.Errorf("a link to nothing:\n%s", body)
	}
	b.send("/page/1/form/f", with(b.get("/page/1/form/f").values(), "a", "x"))
	if body := b.get("/").body; !strings.Contains(body, link) || !strings.Contains(body, `<h2 id="latest">`) {
		t.Errorf("no link:\n%s", body)
	}
}

func TestErrorTitles(t *testing.T) {
	b := newEnv(t, wiki).signedIn(t, "alice")
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
	b := newEnv(t, wiki).signedIn(t, "alice")
	for path, want := range map[string]string{
		survey:                     "Survey – Formulary",
		survey + "/results":        "Results: Survey – Formulary",
		survey + "/sent":           "Survey – Formulary", // only anonymous forms have this page
		"/page/3/form/ballot/sent": "Sent: Ballot – Formulary",
	} {
		if got := b.get(path).title(); got != want {
			t.Errorf("%s: title %q, want %q", path, got, want)
		}
	}
	sent := b.send(survey, with(b.get(survey).values(), "comment", "x"))
	if got := sent.title(); got != "Sent: Survey – Formulary" {
		t.Errorf("after sending: title %q", got)
	}
}

// A question has the direction of its label as a whole, its choices too.
func TestDirectionOfQuestions(t *testing.T) {
	p := newEnv(t, wiki).signedIn(t, "alice").get(survey)
	p.want(http.StatusOK)
	for _, want := range []string{
		`<div class="field" dir="auto" data-field="comment">` + "\n" + `<label for="f0-0" class="required">Comment</label>`,
		`<fieldset class="field" dir="auto" data-field="kind">` + "\n" + `<legend>Kind</legend>`,
		`<bdi class="lozenge tone-1">closed</bdi></label>`,
	} {
		if !strings.Contains(p.body, want) {
			t.Errorf("no %s in\n%s", want, p.body)
		}
	}
}

func TestExactSize(t *testing.T) {
	for n, want := range map[int64]string{
		5_000_000: "5 MB", 5 << 20: "5 MiB", 500_000: "500 kB", 512 << 10: "512 KiB", 1234: "1234 bytes",
		512_000: "512 kB", 16_000_000: "16 MB", 125 << 20: "125 MiB",
	} {
		if got := exactSize(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// A question about files says how large they may be: the server has a limit,
// and the author may set a lower one.
func TestLimitOfFilesShows(t *testing.T) {
	for field, want := range map[string]string{
		"{id: a, type: file}":                  "At most 1 MiB each.",
		"{id: a, type: file, maxSize: 500kB}":  "At most 500 kB each.",
		"{id: a, type: file, maxSize: 500MiB}": "At most 1 MiB each.",
	} {
		e := newEnv(t, page1("", "form: f\nfields:\n  - "+field+"\n"))
		for _, path := range []string{"/page/1/form/f", "/page/1"} {
			if body := e.signedIn(t, "alice").get(path).body; !strings.Contains(body, want) {
				t.Errorf("%s: %s does not say %q:\n%s", field, path, want, body)
			}
		}
	}
}

// Checkboxes can't be required in HTML, so a text says it.
func TestRequiredCheckboxes(t *testing.T) {
	e := newEnv(t, page1("", "form: f\nfields:\n  - {id: a, type: checkbox, label: A, required: true, options: [x, y]}\n"))
	body := e.signedIn(t, "alice").get("/page/1/form/f").body
	for _, want := range []string{`aria-describedby="f0-0-needed"`, `id="f0-0-needed">Needs an answer.</span>`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
}
