package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/net/html"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/testkit"
)

const shortForm = "form: a\nfields:\n  - {id: x, type: textfield, label: Name}\n"

// element is the element with an id, or nil.
func (a *answer) element(id string) *html.Node {
	for _, n := range a.find("#" + id) {
		return n
	}
	return nil
}

// textarea is what the text area with an id holds: browsers drop a line end
// at the start, and the HTML parser has done so.
func (a *answer) textarea(id string) string {
	a.t.Helper()
	n := a.element(id)
	if n == nil {
		a.t.Fatalf("no %s in: %s", id, a.text())
	}
	return rawText(n)
}

// write sends a text as the author's page does.
func (b *browser) write(text string) *answer {
	b.t.Helper()
	return b.send("/author", url.Values{"text": {strings.ReplaceAll(text, "\n", "\r\n")}})
}

func englishExample(name string) string { return exampleText(lang.Find(lang.English), name) }

// The page begins with an example in the reader's language, and each is clean in all of them.
func TestExamplesInAllLanguages(t *testing.T) {
	_, b := newAlice(t, nil)
	for _, l := range lang.All() {
		for _, e := range examples {
			if _, problems := markup.ParseForm(1, "", []byte(exampleText(l, e.Name)), nil); len(problems) > 0 {
				t.Errorf("%s in %s: %v", e.Name, l.Tag, problems)
			}
		}
		p := b.get("/author?lang=" + l.Tag)
		if text := l.Text("What do you think?"); !strings.Contains(p.textarea("text"), "label: "+text) {
			t.Errorf("%s: no “%s” in the text", l.Tag, text)
		}
	}
	other := b.get("/author?template=survey&lang=ar").body
	for _, want := range []string{` lang="en" aria-describedby="text-help"`, ` lang="en">Would you recommend us to a friend?`} {
		testkit.Contains(t, "an English example has no", other, want)
	}
}

// Each template is clean under "formulary check", and together they show all
// types, all operators and all keys.
func TestExamples(t *testing.T) {
	types, operators, all := map[forms.FieldType]bool{}, map[string]bool{}, ""
	for _, e := range examples {
		text := englishExample(e.Name)
		all += "\n" + text
		formBlock, problems := markup.ParseForm(1, "", []byte(text), nil)
		form := formBlock.Form
		if form == nil || len(problems) > 0 {
			t.Errorf("%s: %v", e.Name, problems)
			continue
		}
		for i := range form.Fields {
			types[form.Fields[i].Type] = true
		}
		for _, o := range forms.Operators {
			operators[string(o)] = operators[string(o)] || strings.Contains(text, " "+string(o)+":")
		}
	}
	for _, want := range forms.FieldTypes {
		if !types[want] {
			t.Errorf("no template has a field of type %s", want)
		}
	}
	for name, there := range operators {
		if !there {
			t.Errorf("no template has a rule with %s", name)
		}
	}
	for _, place := range []string{"form", "field", "option", "section"} {
		for _, key := range markup.Keys[place] {
			// A template was never changed. Mails are in comments: on a server that sends none,
			// they are a problem.
			if key != "was" && !regexp.MustCompile(`(?m)^[- ]*(?:# )?`+key+`:`).MatchString(all) {
				t.Errorf("no template has %s", key)
			}
		}
	}
	files, err := exampleFiles.ReadDir("examples")
	if err != nil || len(files) != len(examples) {
		t.Errorf("%d files for %d templates, %v", len(files), len(examples), err)
	}
}

func TestAuthor(t *testing.T) {
	_, b := newAlice(t, nil)
	b.get("/author").want(200, "Write a form", "No problems", "What do you think?")
	for _, x := range examples {
		a := b.get("/author?template=" + x.Name)
		a.want(200, "No problems")
		testkit.Same(t, x.Name, a.textarea("text"), englishExample(x.Name))
	}
	b.get("/author?template=../examples/feedback").want(404, "no template")
	b.get("/author?template=").want(404)
	a := b.write(shortForm)
	a.want(200, "No problems", "Name")
	testkit.Same(t, "text", a.textarea("text"), shortForm)
	testkit.Same(t, "Cache-Control", a.header.Get("Cache-Control"), "no-store")
	b.postForm("/author", url.Values{"text": {shortForm}}).want(200, "No problems", "Name")
	b.postForm("/author", nil).want(200, "1 problem", "the form block is empty")
	b.write("\x00\xff<b>").want(200, "1 problem")
}

// An address that gets no mail on this server is a problem of the text.
func TestAuthorNoMail(t *testing.T) {
	text := strings.Replace(shortForm, "fields:", "notify: hr@example.org\nfields:", 1)
	newEnv(t, nil).signedIn("alice").write(text).want(200, "No problems")
	e := newEnv(t, nil, func(o *envOptions) { o.Markup = &markup.Options{NoMail: true} })
	e.signedIn("alice").write(text).want(200, "1 problem", "hr@example.org gets no mail")
}

// The reference has every key that the parser knows, where it is written.
func TestAuthorReference(t *testing.T) {
	a := newEnv(t, nil).signedIn("alice").get("/author")
	place, got := "", map[string]bool{}
	for n := range a.element("keys").Descendants() {
		switch n.Data {
		case "h3":
			place = strings.TrimPrefix(attribute(n, "id"), "keys-")
		case "dt":
			name, _, _ := strings.Cut(textOf(n), ":")
			got[place+" "+name] = textOf(n.NextSibling.NextSibling) != ""
		}
	}
	known := 0
	for place, keys := range markup.Keys {
		for _, key := range keys {
			known++
			if !got[place+" "+key] {
				t.Errorf("no row for %s of a %s, or one without a meaning", key, place)
			}
		}
	}
	testkit.Same(t, "rows for keys", len(got), known)
}

// The problems are those of "formulary check", with the lines of the text.
func TestAuthorProblems(t *testing.T) {
	b := newEnv(t, nil).signedIn("alice")
	a := b.write("form: a\nfields:\n  - id: x\n    type: dat\n  - id: y\n    type: radio\n  - {id: z, type: date, xlabel: Day}\n")
	a.want(200, "3 problems", "The form is shown when its errors are solved.")
	want := []string{
		`Error Line 4, column 11 unknown type "dat" (did you mean "date"?)`,
		`Warning Line 5, column 5 radio "y" without options: any text will be accepted (add options)`,
		`Error Line 7, column 25 unknown key "xlabel" in a field (did you mean "label"?)`,
	}
	testkit.Diff(t, "problems", textsOf(a.find("ul.problems li")), want)
	lines := a.find("[data-line]")
	if len(lines) != 3 || attribute(lines[0], "data-line") != "4" || attribute(lines[0], "href") != "#text" {
		t.Errorf("%d links to lines", len(lines))
	}
	for _, id := range []string{"copy", "json"} {
		if !hasAttribute(a.element(id), "hidden") {
			t.Errorf("%s is shown for a broken form", id)
		}
	}
	b.write("form: a\nfields:\n  - {id: x, type: radio}\n").want(200, "1 problem", "Warning Line 3, column 5", "The form")
}

func (a *answer) wantUniqueIDs() {
	a.t.Helper()
	ids := map[string]bool{}
	for _, n := range a.find("[id]") {
		if id := attribute(n, "id"); ids[id] {
			a.t.Errorf("two elements have the id %q", id)
		} else {
			ids[id] = true
		}
	}
}

// The form can be tried, but not sent, and no id clashes with those of the page.
func TestAuthorPreview(t *testing.T) {
	b := newEnv(t, nil).signedIn("alice")
	b.write(tripForm).wantUniqueIDs()
	a := b.get("/author?template=survey")
	a.want(200, "This form is anonymous: what you send is kept without your name", "For how many years")
	previews := a.find("form[data-conditions]")
	if len(previews) != 1 || hasAttribute(previews[0], "data-form") || hasAttribute(previews[0], "action") {
		t.Fatalf("%d previews, or one that can be sent", len(previews))
	}
	buttons := 0
	for n := range previews[0].Descendants() {
		switch {
		case n.Data == "button" && hasAttribute(n, "disabled") && hasAttribute(n, "hidden"):
			buttons++ // without it, the Enter key would send the form
		case n.Data == "button" || attribute(n, "type") == "submit" || attribute(n, "type") == "hidden":
			t.Errorf("the preview has a <%s>", n.Data)
		}
	}
	testkit.Same(t, "disabled buttons", buttons, 1)
	if hidden := a.element("preview-1"); hidden == nil || !hasAttribute(hidden.Parent, "hidden") {
		t.Error("a question whose condition does not hold is shown")
	}
	a.wantUniqueIDs()
}

func TestAuthorJSON(t *testing.T) {
	b := newEnv(t, nil).signedIn("alice")
	text := englishExample("registration")
	a := b.write(text)
	a.want(200, "As on page 1.")
	var shown string
	for n := range a.element("json").Descendants() {
		if n.Data == "pre" {
			shown = rawText(n)
		}
	}
	formBlock, _ := markup.ParseForm(1, "", []byte(text), nil)
	form := formBlock.Form
	var got, want bytes.Buffer
	testkit.Must(t, json.Compact(&got, []byte(shown)))
	testkit.Must(t, json.Compact(&want, encode.Form(form)))
	if got.String() != want.String() || !strings.Contains(shown, "\n  \"formId\": \"registration\"") {
		t.Errorf("JSON %s\nwant %s", shown, want.String())
	}
}

// blockFormats are the formats of the blocks, by the ids of their text areas.
var blockFormats = map[string]markup.Format{
	"markdown-block": markup.Markdown, "confluence-block": markup.Confluence, "wikitext-block": markup.Wikitext,
}

// A page that consists of a copied block has the form of the text.
func TestAuthorBlocks(t *testing.T) {
	b := newEnv(t, nil).signedIn("alice")
	for _, text := range []string{
		shortForm + "# ```` ]]> </pre> &lt; </textarea><script>alert(1)</script>\n", englishExample("registration"),
	} {
		wantBlock, _ := markup.ParseForm(1, "", []byte(text), nil)
		want := wantBlock.Form
		a := b.write(text)
		for id, format := range blockFormats {
			page := markup.Parse(format, 1, []byte(a.textarea(id)), nil)
			if len(page.Blocks) != 1 {
				t.Errorf("%s of %q: %d blocks, %v", id, text, len(page.Blocks), page.Diagnostics)
				continue
			}
			if form := page.Blocks[0].Form; form != nil && form.Title == "" {
				form.Title = form.ID // as the source of pages does
			}
			if diff := cmp.Diff(want, page.Blocks[0].Form, cmpopts.IgnoreUnexported(forms.Form{})); diff != "" {
				t.Errorf("%s of %q (-text +block): %s", id, text, diff)
			}
		}
	}
	a := b.write("{form: a, fields: [{id: x, type: date}]}")
	a.want(200, `In Confluence, the text must begin with "form:".`)
	if a.element("confluence-block") != nil || a.element("wikitext-block") == nil {
		t.Error("a block that is no form, or none that is one")
	}
}

func TestAuthorTooLarge(t *testing.T) {
	e, b := newAlice(t, nil)
	full := shortForm + strings.Repeat("#\n", (markup.MaxBlockBytes-len(shortForm))/2)
	b.write(full).want(200, "No problems", "Name") // CR LF make it larger than it is
	b.write(full+"##\n").want(200, "1 problem", "more than 262144 bytes")
	huge := strings.Repeat("#", maxForm+maxAuthorText)
	b.write(huge).want(413, "at most 256 KiB")
	b.postForm("/author", url.Values{"text": {huge}}).want(413, "at most 256 KiB")
	many := "form: a\nfields:\n  - {id: x, type: radio, options: &o [" + strings.Repeat("a, ", 900) + "a]}\n"
	for i := range 20 {
		many += fmt.Sprintf("  - {id: x%d, type: radio, options: *o}\n", i)
	}
	a := b.write(many)
	a.want(200, "The form is too large to be shown here.")
	if !hasAttribute(a.element("json"), "hidden") || hasAttribute(a.element("copy"), "hidden") {
		t.Error("JSON is shown, or there is nothing to copy")
	}
	testkit.Same(t, "slots are still held", e.site.Backend.Limiters.Lists.Taken(), 0)
}

func TestAuthorMalformed(t *testing.T) {
	b := newEnv(t, nil).signedIn("alice")
	for contentType, body := range map[string]string{
		"multipart/form-data":               "",
		"multipart/form-data; boundary=x":   "--x\r\nContent-Disposition: form-data; name=text\r\n\r\nform: a",
		"application/x-www-form-urlencoded": "text=%zz",
	} {
		b.request(http.MethodPost, "/author", contentType, strings.NewReader(body)).want(400, "The form can't be read.")
	}
}

// Two texts of one user are read at a time. Further ones wait, and those of others
// do not.
func TestAuthorWaitsForASlot(t *testing.T) {
	e := newEnv(t, nil)
	cookie := &http.Cookie{Name: cookieName, Value: e.signedIn("alice").cookie()}
	for range 2 {
		c := e.site.Backend.NewCall(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/author", nil), auth.Identity{Name: "alice"})
		defer c.End()
		testkit.Must(t, c.HoldAuthor())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // less than a request waits
	defer cancel()
	r := httptest.NewRequest(http.MethodPost, "/author", strings.NewReader("text=")).WithContext(ctx)
	r.AddCookie(cookie)
	w := httptest.NewRecorder()
	e.site.ServeHTTP(w, r)
	if w.Code != 503 || ctx.Err() == nil {
		t.Errorf("status %d, %v: %s", w.Code, ctx.Err(), w.Body)
	}
	e.signedIn("bob").write(shortForm).want(200)
}

// After a new sign-in the text is there again, for the same user only.
func TestAuthorExpiredSession(t *testing.T) {
	for _, user := range []string{"alice", "bob"} {
		e, b := newAlice(t, nil)
		values := with(url.Values{"_for": b.get("/author").values()["_for"]}, "text", "\n\n"+shortForm+"# mine\n")
		e.Clock.Advance(session.Lifetime + time.Minute)
		a := b.send("/author", values)
		a.want(403, "what you have typed is there again")
		if a.element("preview") != nil {
			t.Error("the form is shown without a session")
		}
		a = b.send("/author", with(a.values(), "_username", user, "_password", user+"-secret"))
		a.want(200)
		own := a.textarea("text") == "\n\n"+shortForm+"# mine\n"
		if resumed := strings.Contains(a.text(), "the text is as you left it"); own != (user == "alice") || resumed != own {
			t.Errorf("%s: %t, %t: %s", user, own, resumed, a.text())
		}
	}
}
