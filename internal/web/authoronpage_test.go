package web

import (
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// TestAuthorOfAForm: editors of a page open its forms as they are written, also broken ones.
// Viewers get 403, and others 404.
func TestAuthorOfAForm(t *testing.T) {
	const path = "/author?form=feedback&page=1"
	e := newEnv(t, page1("view: [alice, carol]\nedit: [carol]\n", "form: feedback # mine\nfields:\n  - {id: a, type: textfield}\n"))
	carol := e.signedIn("carol")
	for _, from := range []string{"/page/1/form/feedback", "/page/1/form/feedback/results"} {
		p := carol.get(from)
		testkit.Same(t, from, p.link("Edit the form"), path)
	}
	carol.get(path).wantNoHTML("Start from a template")
	p := carol.text(path)
	p.want(200, "Edit the form Feedback", "No problems")
	testkit.Same(t, "text", p.textarea("text"), "form: feedback # mine\nfields:\n  - {id: a, type: textfield}\n")
	p.wantHTML(`&#34;pageId&#34;: 1,`)
	tag := p.values().Get("_tag")
	sent := carol.send(path, with(p.values(), "text", "form: feedback\nfields: []\n"))
	sent.want(200, "1 problem")
	sent.wantHTML("data-typed", `value="`+tag+`"`)
	for user, status := range map[string]int{"alice": 403, "bob": 404} {
		b := e.signedIn(user)
		b.get(path).want(status)
		b.send(path, with(b.get("/author").values(), "text", "form: feedback")).want(status)
		b.get("/page/1/form/feedback").wantNoHTML("Edit the form")
	}
	for _, wrong := range []string{"form=other&page=1", "form=feedback&page=2", "form=feedback&page=x", "form=feedback&page=%2B1", "page=1"} {
		carol.get("/author?" + wrong).want(404)
	}
	// What is broken is shown as it is written, and its problems lead to it.
	e.edit(page1("view: [alice, carol]\nedit: [carol]\n", "form: feedback\nfields: {}\n"))
	p = carol.text(path)
	p.want(200, "1 problem", "fields must be a list")
	if p.values().Get("_tag") == tag {
		t.Error("the tag does not tell that the block was changed")
	}
	// An author who had the form open before that edit is told of it. The tag of the text does not change: drafts.js
	// compares it.
	const changed = "The form on the page was changed since you opened it here."
	sent.wantNoHTML(changed)
	sent = carol.send(path, sent.values())
	sent.want(200, changed)
	testkit.Same(t, "leads to", sent.link("Open it as it is now"), path)
	sent.wantValues("_tag", tag)
	for from, link := range map[string]string{"/page/1": "Edit feedback", "/page/1/form/feedback": "Edit the form"} {
		testkit.Same(t, from, carol.get(from).link(link), path)
	}
	e.edit(page1("view: [alice, carol]\nedit: [carol]\n", "form: [\n"))
	testkit.Same(t, "text", carol.get(path).textarea("text"), "form: [\n")
	testkit.Same(t, "link", carol.get("/page/1").link("Edit the form that can't be read"), "/author?form=&page=1")
}

// TestAuthorIsToldOfAnswers: the author's page says what a change would do to the answers of a form.
func TestAuthorIsToldOfAnswers(t *testing.T) {
	const (
		path = "/author?form=feedback&page=1"
		text = "form: feedback\nfields:\n  - {id: name, type: textfield}\n  - {id: rating, type: radio, options: [1, 2, 3]}\n"
	)
	e := newEnv(t, page1("edit: [carol]\n", text))
	carol := e.signedIn("carol")
	carol.text(path).want(200, "No problems", "The form has no submissions.")
	for _, rating := range []string{"3", "2"} {
		carol.fill("/page/1/form/feedback", "name", "secret-name", "rating", rating).want(200)
	}
	e.Clock.Advance(25 * time.Hour)
	carol = e.signedIn("carol")
	p := carol.text(path)
	p.want(200, "No problems", "Compared with the 2 newest submissions of the form.")
	for typed, want := range map[string]string{
		strings.Replace(text, ", 3", "", 1):                       "Line 4, column 5 in 1 of 2 submissions the answer to `rating`, such as `3`, would be refused now: it must be one of 1, 2",
		strings.Replace(text, "id: name", "id: n", 1):             "Line 3, column 5 the form has no field `name`, to which 2 of 2 submissions have an answer (if this is `name`, write `was: name`)",
		strings.Replace(text, "fields", "keep: 1 day\nfields", 1): "Line 2, column 7 2 of 2 submissions are older than 1 day, and would be deleted",
		strings.Replace(text, "feedback", "survey", 1):            "Line 1, column 7 2 submissions are stored under `feedback`, which the page no longer has (keep `form: feedback`, and change `title`)",
	} {
		shown := carol.send(path, with(p.values(), "text", typed))
		shown.want(200, "1 problem", want)
		shown.wantNoHTML("secret-name")
	}
	carol.write(strings.Replace(text, "id: name", "id: n", 1)).want(200, "No problems")
}
