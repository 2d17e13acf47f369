package web

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/testkit"
)

// What is wrong is said in the reader's language, with the texts of the form in that language, whichever
// package says it.
func TestErrorsInTheReadersLanguage(t *testing.T) {
	german := lang.Find("de")
	_, b := newAlice(t, page1("", tripForm+
		"  - {id: from, type: date, label: From}\n"+
		"  - {id: to, type: date, label: To, min: {field: from}}\n"+
		"  - {id: note, type: textfield, label: Note, maxLength: 3}\n"+
		"  - {id: rate, type: textfield, label: Rate, validate: numeric, max: 1000.5}\n"+
		"  - {id: paper, type: file, label: Paper, accept: [.pdf]}\n"))
	b.reads("de")
	open := b.get(leavePath)
	open.want(200, german.Text("At most {0}.", "1000,5"))
	testkit.Same(t, "files that a browser offers", attribute(open.find(`[name="paper"]`)[0], "accept"), ".pdf")
	wrong := b.send(leavePath, with(open.values(), "class", "x", "from", "2026-03-02", "to", "2026-03-01", "note", "long", "rate", "2000"),
		chosenFile{"paper", "a.pdf", "text"})
	fault := func(label, text string, args ...any) *forms.Message {
		return named(label, &forms.Message{Text: text, Args: args})
	}
	for _, tt := range []struct {
		answer  *answer
		status  int
		message *forms.Message
	}{
		{wrong, 422, fault("Stadt", "is required")},
		{wrong, 422, fault("Klasse", "must be one of {0}", []string{"Erste", "b"})},
		{wrong, 422, fault("To", "must not be before {0}", "From (2. März 2026)")},
		{wrong, 422, named("Note", forms.SayN("must have at most {0} character", "must have at most {0} characters", 3))},
		{wrong, 422, fault("Rate", "must be at most {0}", "1000,5")},
		{wrong, 422, fault("Paper", "takes only {0}, and {1} is something else", german.Text("{0} files", "PDF"), "a.pdf")},
		{b.get("/page/999"), 404, forms.Say("There is no page {0}.", "999")},
		{b.get("/page/1/form/f/results?limit=x"), 422, forms.Say("limit must be a number from 1 to {0}", 1_000_000)},
	} {
		want := german.Say(tt.message)
		if want == tt.message.String() {
			t.Errorf("%q is not translated", want)
		}
		tt.answer.want(tt.status, want)
	}
}

// Why a form takes no answers, and the states of forms, are in the reader's language, too.
func TestClosedFormInTheReadersLanguage(t *testing.T) {
	german := lang.Find("de")
	_, b := newAlice(t, page1("", "closes: 2020-01-31\n"+tripForm))
	b.reads("de").get(leavePath).want(200, german.Text(
		"this form has closed: it took submissions until the end of {0} ({1})", forms.Plain("2020-01-31"), "UTC")[1:])
	b.get("/").want(200, german.Text("Closed"))
}

// What programs alone send is answered with a sentence of the page, and what an edited form leads to names the question.
func TestOddBodiesInTheReadersLanguage(t *testing.T) {
	german := lang.Find("de")
	e, b := newAlice(t, page1("", tripForm))
	b.reads("de")
	open := b.get(leavePath)
	e.edit(page1("", strings.Replace(tripForm, "type: textfield", "type: file", 1)))
	b.send(leavePath, with(open.values(), "city", "Rom", "class", "a")).want(422,
		german.Say(named("Stadt", forms.Say("must be sent as a file: the part needs a filename"))))
	unreadable := german.Text("The form can't be read. Open the page again, and try once more.")
	b.postForm(leavePath, open.values()).want(400, unreadable)
	b.request("POST", leavePath, "multipart/form-data; boundary=b; charset=latin1", strings.NewReader("x")).want(415, unreadable)
	b.request("POST", leavePath, "multipart/form-data; boundary=b", strings.NewReader("--b\r\n"+
		"Content-Disposition: form-data; name=city\r\nContent-Transfer-Encoding: base64\r\n\r\nUm9t\r\n--b--\r\n")).want(400, unreadable)
}
