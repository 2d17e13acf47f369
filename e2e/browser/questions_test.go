package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

// author makes a form by clicking, or by keys alone. She counts what she presses, without typing.
type author struct {
	*browsertest.Page
	keys  bool
	count int
}

func (a *author) press(name string) {
	a.count++
	if !a.keys {
		a.Click("button", name)
		return
	}
	for range 200 {
		if a.Focused() == fmt.Sprintf("button %q", name) {
			a.Press("Enter")
			return
		}
		a.Press("Tab")
	}
	panic("the Tab key does not reach " + name)
}

// choose chooses from a list, which takes two clicks.
func (a *author) choose(label, option string) {
	a.count += 2
	a.Select(label, option)
}

func (a *author) waitControl(label string) {
	a.Wait(label+" is there", func() bool { return a.Has("textbox", label) })
}

// add adds a question after another one.
func (a *author) add(after, kind, label string) {
	a.press("Add a question after “" + after + "”")
	a.press(kind)
	a.Wait("the new question is open", func() bool { return a.Focused() == `textbox "Question"` && a.Value("Question") == "" })
	a.Fill("Question", label)
}

// A form of four questions with a condition: at most 30 clicks beside typing.
func (a *author) lunch() {
	a.Fill("Title", "Lunch")
	a.Fill("Question", "Do you come?")
	a.choose("Kind", "Yes or no")
	a.Wait("it has choices", func() bool { return a.Has("textbox", "Choice 2") })
	a.add("Do you come?", "Number", "Guests")
	a.choose("Show this question", "Only if all of this holds")
	a.Wait("there is a rule", func() bool { return a.Has("combobox", "Question of the rule") })
	a.choose("Question of the rule", "Do you come?")
	a.Wait("the rule has answers", func() bool { return a.Has("combobox", "Answer") })
	a.choose("Answer", "Yes")
	a.add("Guests", "One choice", "Department")
	a.waitControl("Choice 1")
	a.Fill("Choice 1", "Sales")
	a.Press("Enter")
	a.waitControl("Choice 2")
	a.Type("Purchase")
	a.add("Department", "Long text", "Remarks")
	a.press("Done")
	a.WaitText("Only if Do you come? is Yes")
	a.Wait("no card is open", func() bool { return !a.Has("button", "Done") })
}

func questionsByClicking(t *testing.T, server string) {
	for _, keys := range []bool{false, true} {
		options := browsertest.Options{}
		if keys {
			options.Width = 360
		}
		p := openAuthor(t, server, "/author", options)
		a := &author{Page: p, keys: keys}
		a.lunch()
		if a.count > 20 {
			t.Errorf("a form of four questions takes %d clicks", a.count)
		}
		p.Check()
		text := browsertest.Eval[string](p, `document.getElementById("text").value`)
		for _, want := range []string{`title: "Lunch"`, "options: [Yes, No]", "field: do-you-come", "Purchase", "id: remarks"} {
			testkit.Contains(t, "text", text, want)
		}
		if !keys {
			changeQuestions(t, a, text)
		}
	}
}

// changeQuestions exchanges, deletes, pastes and takes all of it back.
func changeQuestions(t *testing.T, a *author, before string) {
	text := func() string { return browsertest.Eval[string](a.Page, `document.getElementById("text").value`) }
	a.press("Move “Guests” down")
	a.WaitText("“Guests” is now question 3 of 4")
	testkit.Same(t, "focus", a.Focused(), `button "Move “Guests” down"`)
	a.press("Delete “Do you come?”")
	a.WaitText("Deleted “Do you come?”, and the condition of “Guests”.")
	a.press("Edit “Department”")
	a.waitControl("Choice 2")
	a.CheckAxe()
	lines := "Choice 1\n" + strings.Repeat("Sales\t7\n\n", 2)
	for i := range 20 {
		lines += fmt.Sprintf("Department %d\t%d\n", i, i)
	}
	browsertest.Eval[any](a.Page, fmt.Sprintf(`(() => {
		const data = new DataTransfer();
		data.setData("text", %q);
		document.getElementById("q-choice-1").dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
	})()`, lines))
	a.WaitText("Added 21 choices.")
	testkit.Contains(t, "text", text(), "Department 19")
	a.Reload() // Undo outlives it
	for steps := 0; text() != before; steps++ {
		if steps == 10 {
			t.Fatalf("Undo leads to %s", text())
		}
		now := text()
		a.Wait("the step is undone", func() bool {
			browsertest.Eval[any](a.Page, `document.querySelector("#bar [data-undo]")?.click()`)
			return text() != now
		})
	}
	a.WaitText("Only if Do you come? is Yes")
}

func questionsWithoutJavaScript(t *testing.T, server string) {
	p := openAuthor(t, server, "/author", browsertest.Options{NoScript: true})
	press := func(name string) { t.Helper(); p.Loads(func() { p.Click("button", name) }) }
	p.Fill("Title", "Lunch")
	p.Fill("Question", "Do you come?")
	p.Select("Kind", "Yes or no")
	press("Change the kind")
	p.Click("button", "Add a question after “Do you come?”")
	press("Number")
	p.Fill("Question", "Guests")
	p.Loads(func() { p.Press("Enter") }) // presses nothing that changes more
	testkit.Same(t, "question", p.Value("Question"), "Guests")
	p.Select("Show this question", "Only if all of this holds")
	p.Select("Question of the rule", "Do you come?")
	press("Update the rules")
	p.Select("Answer", "Yes")
	press("Done")
	p.WaitText("Only if Do you come? is Yes")
	p.Check()
	press("Move “Guests” up")
	p.WaitText("“Guests”")
	press("Discard changes")
	testkit.Same(t, "title", p.Value("Title"), "")
}
