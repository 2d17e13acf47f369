package web

import (
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

const daysForm = "form: leave\ntitle: Leave # mine\nfields:\n" +
	"  - {id: kind, type: radio, label: Kind of leave, options: [holiday, other], required: true}\n" +
	"  - {id: reason, type: textfield, label: Reason, showIf: {field: kind, equals: other}}\n" +
	"  - {id: half, type: textbox, label: Half days, by: editors}\n"

// click sends the page of an author with a pressed button.
func (b *browser) click(p *answer, do string, pairs ...string) *answer {
	b.t.Helper()
	return b.send(attribute(p.find("#written")[0], "action"), with(with(p.values(), "_do", do), pairs...))
}

// text opens the tab of the text.
func (b *browser) text(path string) *answer { return b.click(b.get(path), "text") }

// cards are the texts of the cards of a page.
func (a *answer) cards() []string { return textsOf(a.find("li.card")) }

// An author sees the questions first, as people see them. The text is the other tab.
func TestAuthorQuestions(t *testing.T) {
	const path = "/author?form=leave&page=1"
	e := newEnv(t, page1("edit: [carol]\n", daysForm))
	b := e.signedIn("carol")
	p := b.get(path)
	p.want(200, "Edit the form Leave", "Only if Kind of leave is other", "Only editors answer this", "Move “Half days” up")
	testkit.Same(t, "cards", len(p.cards()), 3)
	testkit.Same(t, "radios", len(p.find(`fieldset[disabled] [type="radio"]`)), 2)
	p.wantUniqueIDs()
	p.wantHTML(`data-tab="questions"`)
	testkit.Same(t, "draft", attribute(p.find("#written")[0], "data-draft"), p.values().Get("_for")+" "+path)
	p.wantNoHTML("data-typed", "Compared with", "The form has no submissions")
	testkit.Same(t, "text", p.textarea("text"), daysForm)

	text := b.click(p, "text", "_steps", `["a step"]`)
	text.want(200, "The form has no submissions.")
	text.wantHTML(`data-tab="text"`, "data-typed")
	text.wantValues("_steps", `["a step"]`, "text", daysForm)
	preview := b.click(text, "preview")
	preview.want(200, "Sent with your name")
	preview.wantHTML(`data-tab="preview"`)
	b.click(preview, "questions").wantHTML(`data-tab="questions"`)
}

// The notice stands at the card that has changed. Discard changes brings back the form on the page.
func TestAuthorClicks(t *testing.T) {
	e := newEnv(t, page1("edit: [carol]\n", daysForm))
	b := e.signedIn("carol")
	p := b.click(b.get("/author?form=leave&page=1"), "up:2")
	p.want(200)
	testkit.Contains(t, "card", textOf(p.find("#card-1")[0]), "“Half days” is now question 2 of 3")
	testkit.Same(t, "focus", len(p.find("#card-1 [data-notice][autofocus]")), 1)
	p = b.click(p, "open:0")
	testkit.Same(t, "open cards", len(p.find(".card.open")), 1)
	testkit.Same(t, "focus", len(p.find("#q-label[autofocus]")), 1)
	unticked := with(p.values(), "_do", "done") // a browser does not send the box
	delete(unticked, "q-required")
	answer := b.send(attribute(p.find("#written")[0], "action"), unticked)
	testkit.Same(t, "required", strings.Contains(answer.textarea("text"), "required"), false)
	p = b.click(p, "", "q-label", "Kind") // as the Enter key does
	p.wantValues("q", "0", "q-label", "Kind")
	testkit.Contains(t, "text", p.textarea("text"), "label: Kind,")
	untitled := b.click(p, "", "f-title", "") // people see the title of the page then
	untitled.want(200, "Edit the form Feedback")
	untitled.wantHTML(`placeholder="Feedback"`)
	p = b.click(p, "text", "q-label", "Sort") // any button applies the card
	testkit.Contains(t, "text", p.textarea("text"), "label: Sort,")
	p = b.click(p, "discard")
	testkit.Same(t, "text", p.textarea("text"), daysForm)
	p.wantNoHTML("Discard changes")
}

// Only a text that can't be parsed leads to its tab. Other errors stand at their card, without a line.
func TestAuthorBroken(t *testing.T) {
	_, b := newAlice(t, nil)
	p := b.get("/author?template=feedback")
	broken := b.click(p, "questions", "_tab", "text", "text", "form: [")
	broken.want(200, "This can be shown as questions when its errors are solved.", "1 problem")
	broken.wantHTML(`data-tab="text"`)
	wrong := b.click(p, "questions", "_tab", "text", "text", strings.Replace(daysForm, "type: textbox", "type: text", 1))
	wrong.wantHTML(`data-tab="questions"`)
	testkit.Contains(t, "card", textOf(wrong.find("#card-2")[0]), `unknown type "text"`)
}

// A new form starts with one open question. It is discarded to that, or to its template.
func TestAuthorNew(t *testing.T) {
	_, b := newAlice(t, nil)
	p := b.get("/author")
	p.wantValues("q", "0", "q-label", "", "q-kind", "text")
	testkit.Same(t, "open cards", len(p.find("li.card.open")), 1)
	p = b.click(p, "done", "q-label", "Your name")
	p.want(200, "Your name")
	b.click(p, "discard").wantValues("q", "0", "q-label", "")
	template := b.click(b.get("/author?template=survey"), "delete:0")
	testkit.Same(t, "text", b.click(template, "discard").textarea("text"), englishExample("survey"))
}

// A page that was made for another user is refused.
func TestAuthorOfAnotherUser(t *testing.T) {
	_, b := newAlice(t, nil)
	b.send("/author", with(b.get("/author").values(), "_for", "other")).want(409, "Somebody else has signed in")
	b.send("/author", url.Values{"text": {daysForm}}).want(409)
}
