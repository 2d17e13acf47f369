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

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/testkit"
)

const shortForm = "form: a\nfields:\n  - {id: x, type: textfield, label: Name}\n"

// textarea is what the text area with an id holds: browsers drop a line end
// at the start, and the HTML parser has done so.
func (a *answer) textarea(id string) string {
	a.t.Helper()
	found := a.find("#" + id)
	if len(found) == 0 {
		a.t.Fatalf("no %s in: %s", id, a.text())
	}
	return rawText(found[0])
}

// write sends a text as the tab of the text does.
func (b *browser) write(text string) *answer {
	b.t.Helper()
	return b.send("/author", with(b.authorValues(), "text", strings.ReplaceAll(text, "\n", "\r\n")))
}

// authorValues are what the tab of the text sends beside the text.
func (b *browser) authorValues() url.Values {
	b.t.Helper()
	return url.Values{"_for": b.get("/author").values()["_for"], "_tab": {"text"}}
}

func englishExample(name string) string { return exampleText(lang.Find(lang.English), name) }

// The first example is in the reader's language, and each is clean in all of them.
func TestExamplesInAllLanguages(t *testing.T) {
	_, b := newAlice(t, nil)
	for _, l := range lang.All() {
		for _, e := range examples {
			_, problems := markup.ParseForm(1, "", []byte(exampleText(l, e.Name)), nil)
			testkit.Same(t, e.Name+" in "+l.Tag, len(problems), 0)
		}
		testkit.Contains(t, l.Tag, b.get("/author?template=feedback&lang="+l.Tag).textarea("text"), "label: "+l.Text("What do you think?"))
	}
	b.get("/author?template=survey&lang=ar").wantHTML( // it is in English
		` lang="en" aria-describedby="text-help"`, ` lang="en">Would you recommend us to a friend?`)
}

// The templates show all types, all operators and all keys.
func TestExamples(t *testing.T) {
	all, types := "", map[forms.FieldType]bool{}
	for _, e := range examples {
		text := englishExample(e.Name)
		all += "\n" + text
		block, _ := markup.ParseForm(1, "", []byte(text), nil)
		for _, f := range block.Form.Fields {
			types[f.Type] = true
		}
	}
	for _, want := range forms.FieldTypes {
		testkit.Same(t, want, types[want], true)
	}
	for _, o := range forms.Operators {
		testkit.Contains(t, "rules", all, " "+string(o)+":")
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
	testkit.Must(t, err)
	testkit.Same(t, "files", len(files), len(examples))
}

func TestAuthor(t *testing.T) {
	_, b := newAlice(t, nil)
	b.get("/author").want(200, "New form")
	a := b.get("/author?template=registration")
	testkit.Same(t, "template", a.textarea("text"), englishExample("registration"))
	b.get("/author?template=../examples/feedback").want(404, "no template")
	b.get("/author?template=").want(404)
	a = b.write(shortForm)
	a.want(200, "No problems", "Name")
	testkit.Same(t, "text", a.textarea("text"), shortForm)
	a.wantHeader("Cache-Control", "no-store")
	b.postForm("/author", with(b.authorValues(), "text", shortForm)).want(200, "No problems", "Name")
	b.postForm("/author", b.authorValues()).want(200, "1 problem", "the form block is empty")
	b.write("\x00\xff<b>").want(200, "1 problem")
}

// An address that gets no mail on this server is a problem of the text.
func TestAuthorNoMail(t *testing.T) {
	text := strings.Replace(shortForm, "fields:", "notify: hr@example.org\nfields:", 1)
	_, b := newAlice(t, nil, func(o *envOptions) { o.Markup = &markup.Options{NoMail: true} })
	b.write(text).want(200, "1 problem", "hr@example.org gets no mail")
}

// The reference has every key that the parser knows, where it is written.
func TestAuthorReference(t *testing.T) {
	_, b := newAlice(t, nil)
	a := b.get("/author")
	place, got := "", map[string]bool{}
	for n := range a.find("#keys")[0].Descendants() {
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
	_, b := newAlice(t, nil)
	a := b.write("form: a\nfields:\n  - id: x\n    type: dat\n  - id: y\n    type: radio\n  - {id: z, type: date, xlabel: Day}\n")
	a.want(200, "3 problems", "The form is shown when its errors are solved.")
	testkit.Diff(t, "problems", textsOf(a.find("ul.problems li")), []string{
		`Error Line 4, column 11 unknown type "dat" (did you mean "date"?)`,
		`Warning Line 5, column 5 radio "y" without options: any text will be accepted (add options)`,
		`Error Line 7, column 25 unknown key "xlabel" in a field (did you mean "label"?)`,
	})
	testkit.Same(t, "links to lines", len(a.find(`[href="#text"][data-line]`)), 3)
	testkit.Same(t, "links to line 4", len(a.find(`[data-line="4"]`)), 1)
	for _, id := range []string{"copy", "json"} {
		testkit.Same(t, id+" is hidden", len(a.find("#"+id+"[hidden]")), 1)
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
	_, b := newAlice(t, nil)
	b.write(tripForm).wantUniqueIDs()
	a := b.write(englishExample("survey"))
	a.want(200, "This form is anonymous: what you send is kept without your name", "For how many years")
	previews := a.find("form[data-conditions]")
	if len(previews) != 1 || hasAttribute(previews[0], "data-form") || hasAttribute(previews[0], "action") {
		t.Fatalf("%d previews, or one that can be sent", len(previews))
	}
	for _, sends := range []string{`input[type="submit"]`, `[type="hidden"]`} {
		testkit.Same(t, sends, len(find(previews[0], sends)), 0)
	}
	// Without a disabled button, the Enter key would send the form.
	testkit.Same(t, "buttons", len(find(previews[0], "button")), 1)
	testkit.Same(t, "disabled buttons", len(find(previews[0], "button[disabled][hidden]")), 1)
	if !hasAttribute(a.find("#preview-1")[0].Parent, "hidden") {
		t.Error("a question whose condition does not hold is shown")
	}
	a.wantUniqueIDs()
}

func TestAuthorJSON(t *testing.T) {
	_, b := newAlice(t, nil)
	text := englishExample("registration")
	a := b.write(text)
	a.want(200, "As on page 1.")
	shown := rawText(a.find("#json pre")[0])
	block, _ := markup.ParseForm(1, "", []byte(text), nil)
	var got, want bytes.Buffer
	testkit.Must(t, json.Compact(&got, []byte(shown)))
	testkit.Must(t, json.Compact(&want, encode.Form(block.Form)))
	testkit.Diff(t, "JSON", got.String(), want.String())
	testkit.Contains(t, "JSON", shown, "\n  \"formId\": \"registration\"")
}

// blockFormats are the formats of the blocks, by the ids of their text areas.
var blockFormats = map[string]markup.Format{
	"markdown-block": markup.Markdown, "confluence-block": markup.Confluence, "wikitext-block": markup.Wikitext,
}

// A page that consists of a copied block has the form of the text.
func TestAuthorBlocks(t *testing.T) {
	_, b := newAlice(t, nil)
	for _, text := range []string{
		shortForm + "# ```` ]]> </pre> &lt; </textarea><script>alert(1)</script>\n", englishExample("registration"),
	} {
		want, _ := markup.ParseForm(1, "", []byte(text), nil)
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
			testkit.Diff(t, id, page.Blocks[0].Form, want.Form, cmpopts.IgnoreUnexported(forms.Form{}))
		}
	}
	a := b.write("{form: a, fields: [{id: x, type: date}]}")
	a.want(200, `In Confluence, the text must begin with "form:".`)
	testkit.Same(t, "blocks for Confluence", len(a.find("#confluence-block")), 0)
	testkit.Same(t, "blocks of wikitext", len(a.find("#wikitext-block")), 1)
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
	testkit.Same(t, "hidden JSON", len(a.find("#json[hidden]")), 1)
	testkit.Same(t, "hidden blocks", len(a.find("#copy[hidden]")), 0)
	testkit.Same(t, "slots are still held", e.site.Backend.Limiters.Lists.Taken(), 0)
}

func TestAuthorMalformed(t *testing.T) {
	_, b := newAlice(t, nil)
	for contentType, body := range map[string]string{
		"multipart/form-data":             "",
		"multipart/form-data; boundary=x": "--x\r\nContent-Disposition: form-data; name=text\r\n\r\nform: a",
		urlencoded:                        "text=%zz",
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
	text := "\n\n" + shortForm + "# mine\n"
	for user, resumed := range map[string]bool{"alice": true, "bob": false} {
		e, b := newAlice(t, nil)
		values := with(b.authorValues(), "text", text)
		e.Clock.Advance(session.Lifetime + time.Minute)
		a := b.send("/author", values)
		a.want(403, "what you have typed is there again")
		testkit.Same(t, "previews without a session", len(a.find("#preview")), 0)
		a = b.send("/author", with(a.values(), "_username", user, "_password", user+"-secret"))
		a.want(200)
		testkit.Same(t, user+" has the text", a.textarea("text") == text, resumed)
		testkit.Same(t, user+" is told", strings.Contains(a.text(), "the text is as you left it"), resumed)
	}
}
