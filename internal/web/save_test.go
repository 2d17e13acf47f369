package web

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/testkit"
)

// newAuthors is an env where carol and dave may save, with page 1 of carol and her group.
func newAuthors(t *testing.T, files map[string]string) (*env, *browser) {
	t.Helper()
	e := newEnv(t, files, func(o *envOptions) { o.service.Authors = []string{"carol", "dave"} })
	return e, e.signedIn("carol").here()
}

// here has a browser send where its POSTs come from, as browsers do.
func (b *browser) here() *browser {
	b.site = "same-origin"
	return b
}

// postForm finds what shortcuts and Undo send.
const postForm = `form[method="post"][action="/"]`

// source is a file of a page.
func (e *env) source(name string) string {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(e.Dir, name))
	testkit.Must(e.t, err)
	return string(text)
}

// pressAt presses a button of the author's page at a path, with other values in pairs.
func (b *browser) pressAt(path, do string, pairs ...string) *answer {
	b.t.Helper()
	return b.send(path, with(b.get(path).values(), append([]string{"_tab", "text", "_do", do}, pairs...)...))
}

const (
	savedForm = "form: f\ntitle: Lunch\nfields:\n  - {id: a, type: radio, label: Meal, options: [x, y]} # mine\n"
	savedPath = "/author?form=f&page=1"
)

// Save writes the block alone, names the changes, and leads to the form.
func TestSave(t *testing.T) {
	e, b := newAuthors(t, page1("edit: [carol]\n", savedForm))
	p := b.pressAt(savedPath, "save", "text", strings.Replace(savedForm, "label: Meal", "label: Dish", 1))
	p.want(200, "Saved. “Meal” is “Dish” now.")
	testkit.Same(t, "fill it in", p.link("Fill it in"), "/page/1/form/f")
	testkit.Diff(t, "address", textsOf(p.find(".address")), []string{"http://forms.example/page/1/form/f"})
	testkit.Same(t, "file", e.source("1.md"), strings.Replace(page1("edit: [carol]\n", savedForm)["1.md"], "Meal", "Dish", 1))
	b.get("/page/1/form/f").want(200, "Dish")
	// A reload does not save the form again, and another user is not told of it.
	e.signedIn("dave").get(p.path).want(403)
	// The form before it comes back.
	p = b.get(savedPath)
	p.want(200, "The form as it was until")
	b.pressAt(savedPath, "former").want(200, "Saved. “Dish” is “Meal” now.")
	b.pressAt(savedPath, "save", "text", "form: f\nfields: []\n").want(200, "The form has no questions. Add one.")
}

// Errors of a form are named on top, with links to where they are.
func TestSaveNamesErrors(t *testing.T) {
	e, b := newAuthors(t, page1("edit: [carol]\n", savedForm))
	for href, pairs := range map[string][]string{
		"#card-1":       {"_do", "add:0:choice"},
		"#card-":        {"_do", "delete:0"},
		"#f-closes-day": {"f-closes-time", "25:00"},
		"#text":         {"text", "form: f\nfields:\n  - {id: question-1, type: date}\n", "_do", "text", "_tab", "text"},
	} {
		p := b.get(savedPath)
		p = b.click(p, "", pairs...)
		p = b.click(p, "save")
		p.want(200, "Nothing was saved. Your text is still below.")
		testkit.Same(t, "link", attribute(p.find(".error-summary a")[0], "href"), href)
	}
	testkit.Same(t, "file", e.source("1.md"), page1("edit: [carol]\n", savedForm)["1.md"])
}

// A warning that a change adds is asked about once. An older one is not.
func TestSaveAsks(t *testing.T) {
	_, b := newAuthors(t, page1("edit: [carol]\n", savedForm))
	for range 2 {
		b.fill("/page/1/form/f", "a", "y").want(200)
	}
	less := strings.Replace(savedForm, ", y", "", 1)
	p := b.pressAt(savedPath, "save", "text", less)
	p.want(200, "Save this change?", "“Meal” no longer has the choices: y.", "in 2 of 2 submissions the answer to `a`, such as `y`, would be refused now")
	b.get(savedPath).wantHTML("options: [x, y]")
	for want, text := range map[string]string{ // in people's words where they click
		"2 of 2 submissions answer “Meal” with a choice that is gone: y. The answers are kept.": less,
		"2 of 2 submissions answer “Meal”, which you deleted. The answers are kept: put the question back, and they return.": strings.
			Replace(savedForm, "id: a", "id: b", 1),
		"2 of 2 submissions have no answer to “Note”, which is required now.": savedForm +
			"  - {id: note, type: date, label: Note, required: true}\n",
	} {
		asked := b.pressAt(savedPath, "save", "_tab", "questions", "text", text)
		asked.want(200, "Save this change?", want)
		b.click(asked, "").wantNoHTML("Save this change?")
	}
	b.send(savedPath, with(p.values(), "_do", "save-anyway")).want(200, "Saved.")
	b.fill("/page/1/form/f", "a", "x").want(200)
	b.pressAt(savedPath, "save", "text", strings.Replace(less, "Lunch", "Dinner", 1)).want(200, "Saved. The title is “Dinner” now.")
}

// A form that was changed since it was opened is not overwritten unseen.
func TestSaveConflict(t *testing.T) {
	e, b := newAuthors(t, page1("edit: [carol]\n", savedForm))
	opened := with(b.get(savedPath).values(), "_tab", "text", "_do", "save", "text", strings.Replace(savedForm, "Lunch", "Mine", 1))
	theirs := page1("edit: [carol]\n", strings.Replace(savedForm, "Meal", "Theirs", 1))
	e.edit(theirs)
	p := b.send(savedPath, opened)
	p.want(200, "Somebody else has changed this form", "“Meal” is “Theirs” now.")
	testkit.Same(t, "the author's text", p.textarea("text"), opened.Get("text"))
	testkit.Same(t, "theirs", p.link("Open the form as it is now"), savedPath)
	testkit.Same(t, "file", e.source("1.md"), theirs["1.md"])
	b.send(savedPath, with(p.values(), "_do", "overwrite")).want(200, "Saved.")
	testkit.Contains(t, "file", e.source("1.md"), "Mine")
	// A change elsewhere on the page is no conflict.
	opened = with(b.get(savedPath).values(), "_tab", "text", "_do", "save", "text", savedForm)
	e.edit(map[string]string{"1.md": e.source("1.md") + "\nMore.\n"})
	b.send(savedPath, opened).want(200, "Saved.")
}

// If a form has gone when it is saved, or its author may no longer edit it, the text stays as a new form.
func TestSaveOfALostForm(t *testing.T) {
	text := savedForm + "# typed\n"
	for want, now := range map[string]map[string]string{
		"There is no page 1":               nil,
		"There is no such form on page 1.": page1("edit: [carol]\n", strings.Replace(savedForm, "form: f", "form: g", 1)),
		"Only editors of this page":        page1("edit: [dave]\n", savedForm),
	} {
		e, b := newAuthors(t, page1("edit: [carol]\n", savedForm))
		opened := with(b.get(savedPath).values(), "_tab", "text", "_do", "save", "text", text)
		e.Remove(t, "1.md")
		e.edit(now)
		p := b.send(savedPath, opened)
		p.want(200, want, "Nothing was saved. Your text is still below.")
		testkit.Same(t, "text", p.textarea("text"), text)
		b.send(attribute(p.find("#written")[0], "action"), with(p.values(), "_do", "save")).want(200, "Save the form")
		b.send(savedPath, with(opened, "_do", "text")).wantNoHTML("# typed") // a script keeps it
	}
}

// People who can't save are told why, and copy as before.
func TestNotSaved(t *testing.T) {
	for want, authors := range map[string][]string{
		"Saving is off on this server. Ask its operator to start it with --authors.": nil,
		"You may not save forms on this server.":                                     {"dave"},
		"This page names nobody who manages it.":                                     {"*"},
	} {
		e := newEnv(t, page1("", savedForm), func(o *envOptions) { o.service.Authors = authors })
		b := e.signedIn("carol").here()
		p := b.get(savedPath)
		p.want(200, want)
		testkit.Same(t, "buttons", len(p.find(`[value="save"]`))+len(p.find(`[value="remove"]`)), 0)
		b.pressAt(savedPath, "save", "text", savedForm+"# x\n").want(200, want)
		testkit.Same(t, "file", e.source("1.md"), page1("", savedForm)["1.md"])
		for _, path := range []string{"/page/1", "/page/1/form/f"} {
			testkit.Same(t, path, b.get(path).link("Add a form")+b.get(path).link("Copy as new form"), "")
		}
		home := b.get("/")
		testkit.Same(t, "new form", home.link("New form") != "", authors != nil && authors[0] == "*")
		testkit.Same(t, "write a form", home.link("Write a form") != "", authors == nil || authors[0] == "*")
	}
}

// Nothing is saved by a GET, from elsewhere, for another user, or by a sign-in.
func TestSaveIsPressed(t *testing.T) {
	e, b := newAuthors(t, page1("edit: [carol, dave]\n", savedForm))
	values := with(b.get(savedPath).values(), "_tab", "text", "_do", "save", "text", savedForm+"# new\n")
	closes := with(formValues(b.get("/page/1/form/f"), postForm), "_do", "close")
	b.get(savedPath + "&" + values.Encode())
	dave := e.signedIn("dave").here()
	dave.send(savedPath, values).want(409, "Somebody else has signed in")
	dave.send("/", closes).want(409, "Somebody else has signed in")
	for _, site := range []string{"", "none", "cross-site"} {
		b.site = site
		b.send(savedPath, values).want(403)
		b.send("/", closes).want(403)
	}
	b.here()
	e.signedIn("carol").here().get("/embed" + savedPath).want(404)
	e.Clock.Advance(session.Lifetime + 1)
	p := b.send(savedPath, values)
	p.want(403, "You are not signed in any more")
	p = b.send(savedPath, with(p.values(), nameControl, "carol", passwordControl, "carol-secret"))
	p.want(200, "the text is as you left it")
	testkit.Same(t, "file", e.source("1.md"), page1("edit: [carol, dave]\n", savedForm)["1.md"])
	b.send(savedPath, with(p.values(), "_do", "save")).want(200, "Saved.")
}

// A new form gets a page of its own, with a title and people.
func TestNewForm(t *testing.T) {
	e, b := newAuthors(t, page1("edit: [carol]\n", savedForm))
	start := b.get(b.get("/").link("New form"))
	if !regexp.MustCompile(`^/author\?new=[a-z0-9]{8}$`).MatchString(start.path) || start.path == b.get("/author").path {
		t.Errorf("a new form is at %s", start.path)
	}
	const text = "form: new-form\ntitle: \"\"\nfields:\n  - {id: a, type: textfield}\n"
	ask := b.pressAt(start.path, "save", "text", text)
	ask.want(200, "Save the form")
	ask.wantValues("_view", "", "_edit", "carol")
	p := b.send(start.path, with(ask.values(), "_do", "create"))
	p.want(422, "Write a title, on one line.")
	p = b.send(start.path, with(p.values(), "_do", "create", "f-title", "Été: \"one\"", "_edit", "dave"))
	p.want(422, "Name yourself, or a group of yours.")
	values := with(p.values(), "_do", "create", "_view", "group staff\r\n@staff\r\nbob\r\n", "_edit", "carol\r\ndave")
	for range 2 { // the second time, the page is there
		p = b.send(start.path, values)
		p.want(200, "Saved.")
		testkit.Same(t, "page", p.link("Fill it in"), "/page/2/form/ete-one")
	}
	testkit.Contains(t, "file", e.source("2.md"), "title: \"Été: \\\"one\\\"\"\nview: [\"@staff\", \"bob\"]\nedit: [\"carol\", \"dave\"]\n")
	e.signedIn("bob").get("/page/2/form/ete-one").want(200, "Été: \"one\"")
	e.signedIn("alice").get("/page/2").want(404)
	b.pressAt("/author?template=registration", "save").want(200, "Save the form") // a script may send it without an address of its own
}

// A page gets one more form at its end, with an id that no form of it has or had.
func TestAddForm(t *testing.T) {
	e, b := newAuthors(t, page1("edit: [carol]\n", savedForm))
	add := b.get(b.get("/page/1").link("Add a form")).path
	p := b.pressAt(add, "save", "text", strings.Replace(savedForm, "form: f", "form: new-form", 1))
	p.want(200, "Saved.")
	testkit.Same(t, "form", p.link("Fill it in"), "/page/1/form/lunch")
	p = b.pressAt(b.get("/author?add=1").path, "save", "text", savedForm)
	testkit.Same(t, "the id is taken", p.link("Fill it in"), "/page/1/form/lunch-2")
	testkit.Same(t, "blocks", strings.Count(e.source("1.md"), "title: Lunch"), 3)
	e.signedIn("dave").here().get("/author?add=1").want(200, "It does not name you")
}

// A copy leaves out what belongs to the form alone, and begins with the people of its page.
func TestCopyForm(t *testing.T) {
	e, b := newAuthors(t, page1("lang: de\nview: [bob]\nedit: [carol, \"@hr\"]\n", "form: f\ntitle: Lunch\nopens: 2025-01-01\ncloses: 2025-12-31\nnotify: a@example.org\n"+
		"intro: Hello\nfields:\n  - {id: a, was: b, type: radio, options: [{value: x, was: y}]}\n"))
	p := b.get(b.get("/page/1/form/f").link("Copy as new form"))
	p.want(200, "This is a copy, without opens, closes, notify, was.")
	testkit.Same(t, "text", p.textarea("text"), "form: f\ntitle: Lunch\nintro: Hello\nfields:\n  - {id: a, type: radio, options: [{value: x}]}\n")
	ask := b.pressAt(p.path, "save")
	ask.wantValues("f-title", "Lunch", "_view", "bob", "_edit", "carol\ngroup hr")
	b.send(p.path, with(ask.values(), "_do", "create")).want(200, "Saved.")
	testkit.Contains(t, "page", e.source("2.md"), "lang: \"de\"\n")
	b.get("/author?copy=9&form=f").want(404)
	e.edit(page1("view: []\nedit: [carol]\n", savedForm)) // nobody fills it in, nor a copy
	ask = b.pressAt("/author?copy=1&form=f&new=x", "save")
	b.send("/author?copy=1&form=f&new=x", with(ask.values(), "_do", "create")).want(200, "Saved.")
	testkit.Contains(t, "page", e.source("3.md"), "view: []\n")
}

// Other people are saved once their author has read what that means.
func TestPeople(t *testing.T) {
	e, b := newAuthors(t, map[string]string{"1.md": page1("edit: [carol] # us\n", savedForm)["1.md"] + "\n```form\nform: g\nfields: [{id: a, type: date}]\n```\n"})
	b.fill("/page/1/form/f", "a", "x").want(200)
	people := func(do string, pairs ...string) *answer {
		return b.pressAt(savedPath, do, append([]string{"_tab", "questions"}, pairs...)...)
	}
	p := people("people", "_edit", "carol\r\nbob", "_view", "@hr")
	p.want(200, "Save these people?", "bob can read and change 1 submission.", "The same holds for the form “g” of this page (0 submissions).",
		"Only group hr and people who manage the form can fill it in.")
	testkit.Contains(t, "file", e.source("1.md"), "edit: [carol] # us")
	b.send(savedPath, with(p.values(), "_do", "people-anyway")).want(200, "Saved. bob can read")
	e.signedIn("bob").get("/page/1/form/f/results").want(200, "Results")
	people("people", "_edit", "bob").want(200, "Name yourself, or a group of yours.")
	people("people", "text", savedForm+"# x", "_edit", "carol").want(200, "Save or discard your changes to the form first.")
	p = people("save", "text", savedForm+"# x\n", "_edit", "carol\r\n\u2068group hr\u2069")
	p.want(200, "Saved. The people are not saved yet: press “Save people”.")
	p.wantValues("_edit", "carol\n\u2068group hr\u2069")
	testkit.Same(t, "open", len(p.find("#settings[open]")), 1)
	b.click(p, "people").want(200, "group hr can read and change 1 submission.")
	// Somebody else was faster.
	opened := with(b.get(savedPath).values(), "_do", "people-anyway", "_edit", "carol\r\nalice")
	people("people-anyway", "_edit", "carol").want(200, "bob can no longer manage the form.")
	p = b.send(savedPath, opened)
	p.want(200, "Somebody else has changed the people of this page.")
	p.wantValues("_edit", "carol")
}

// A removed form goes at once, with a page that has nothing else. Undo brings it back.
func TestRemoveForm(t *testing.T) {
	e, b := newAuthors(t, page1("edit: [carol]\n", savedForm))
	b.fill("/page/1/form/f", "a", "x").want(200)
	before := e.source("1.md")
	b.get(savedPath).want(200, "The submissions are kept: 1 submission.")
	b.pressAt(savedPath, "remove", "text", savedForm+"# x").want(200, "Save or discard your changes to the form first.")
	p := b.pressAt(savedPath, "remove")
	p.want(200, "“Lunch” was removed. The submissions are kept: 1 submission.")
	b.get("/page/1").want(404)
	b.send("/", formValues(p, postForm)).want(200, "The form is back.")
	testkit.Same(t, "file", e.source("1.md"), before)
	b.send("/", formValues(p, postForm)).want(409, "This page has changed since, or has gone. Nothing was saved.")
}

// Authors close a form now, and open it again, from where they see it.
func TestCloseNow(t *testing.T) {
	e, b := newAuthors(t, page1("edit: [carol, bob]\n", strings.Replace(savedForm, "fields", "closes: 2025-11-21 18:00\nfields", 1)))
	for _, path := range []string{"/page/1/form/f", "/", "/page/1/form/f/results"} {
		controls := formValues(b.get(path), postForm)
		p := b.send("/", with(controls, "_do", "close"))
		p.want(200, "The form is closed now. It was to close on 21 Nov 2025, 18:00")
		wantStart(t, "back", p.path, path+"?done=")
		testkit.Contains(t, "file", e.source("1.md"), "closes: "+e.Clock.Now().Format(time.RFC3339)+"\n")
		e.signedIn("alice").get("/page/1/form/f").want(200, "closed")
		e.Clock.Advance(time.Second)
		b.send("/", with(controls, "_do", "close")).want(409, "This page has changed since, or has gone. Nothing was saved.")
		b.send("/", formValues(p, ".outcome form")).want(200, "The form closes as it was planned.")
		testkit.Contains(t, "file", e.source("1.md"), "closes: 2025-11-21 18:00\n")
	}
	b.send("/", with(formValues(b.get("/"), postForm), "_do", "close")).want(200, "closed now")
	p := b.get("/")
	testkit.Same(t, "close", len(p.find(`[value="close"]`)), 0)
	b.send("/", with(formValues(p, postForm), "_do", "reopen")).want(200, "The form is open again.")
	testkit.Same(t, "closes", strings.Contains(e.source("1.md"), "closes"), false)
	testkit.Same(t, "an editor who is no author", len(e.signedIn("bob").get("/").find(`[value="close"]`)), 0)
	if b.last().user != "carol" && b.last().user != "bob" {
		t.Errorf("the log names %q", b.last().user)
	}
}

// A box that is off is taken for an answer.
func TestBoxIsOff(t *testing.T) {
	_, b := newAuthors(t, page1("edit: [carol]\n", strings.Replace(savedForm, "fields", "oneSubmission: true\nfields", 1)))
	values := with(b.get(savedPath).values(), "_do", "save")
	delete(values, "f-oneSubmission")
	b.send(savedPath, values).want(200, "Changed settings: One submission per person.")
	b.get("/page/1/form/f").wantNoHTML("One submission each")
}
