package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

const survey = "/page/1/form/survey"

// saver is an author. She counts what she clicks, beside typing.
type saver struct {
	*page
	keys   bool // she uses the keyboard alone
	clicks int
}

// does clicks, or goes there by the Tab key and presses Enter.
func (s *saver) does(role, name string) {
	s.t.Helper()
	s.clicks++
	if !s.keys {
		s.Click(role, name)
		return
	}
	for range 300 {
		if s.Focused() == fmt.Sprintf("%s %q", role, name) {
			s.Press(map[bool]string{true: "Space", false: "Enter"}[role == "checkbox"])
			return
		}
		s.Press("Tab")
	}
	s.t.Fatalf("the Tab key does not reach %s %q", role, name)
}

// goes follows a link, or presses a button that leads to another document.
func (s *saver) goes(role, name string) {
	s.t.Helper()
	s.Loads(func() { s.does(role, name) })
}

// task begins at a page, and may take so many clicks.
func (s *saver) task(what string, most int, from string, run func()) {
	s.t.Helper()
	s.goTo(from)
	s.clicks = 0
	run()
	if s.clicks > most {
		s.t.Errorf("%s takes %d clicks, more than %d", what, s.clicks, most)
	}
}

// TestSaving has one server for each way to work: what people do with forms that are saved, and how many clicks it takes.
func TestSaving(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]browsertest.Options{
		"by mouse": {}, "by keyboard, 360 pixels": {Width: 360}, "without JavaScript": {NoScript: true},
	} {
		t.Run(name, func(t *testing.T) {
			site := newSiteOf(t, "testdata/saving", options, "--authors", "eve")
			s := &saver{page: site.as(t, eve, "/"), keys: options.Width > 0}
			s.newForm()
			s.change(options.NoScript)
			if !options.NoScript {
				s.undo()
				s.paste()
				s.ends()
				s.copies()
				s.shares()
				s.fails()
			}
			s.removes()
		})
	}
}

// A new form on a page of its own is filled in by a colleague.
func (s *saver) newForm() {
	s.task("a new form", 5, "/", func() {
		s.goes("link", "New form")
		s.Fill("Title", "Lunch")
		s.Fill("Question", "What do you eat?")
		s.goes("button", "Save")
		s.WaitText("People who fill in the form")
		s.Check()
		s.goes("button", "Save")
		s.want("Saved.")
		s.Check()
	})
	ben := s.site.as(s.t, ben, "/page/2/form/lunch")
	ben.Fill("What do you eat?", "Soup")
	ben.press("Send")
	ben.want("Sent")
	if !s.site.options.NoScript { // a saved form is no draft
		s.goTo("/")
		s.wantNot("Continue")
		s.goTo("/author")
		s.Fill("Title", "Not saved")
		s.Press("Tab")
		s.WaitText("Undo")
		s.goTo("/")
		s.want("Continue")
		s.follow("Not saved")
		s.Wait("the draft is back", func() bool { return s.Value("Title") == "Not saved" })
		s.goTo("/")
		s.Click("button", "Discard Not saved")
		s.wantNot("Continue")
	}
}

// A choice is added, a label is changed, and a question becomes optional.
func (s *saver) change(noScript bool) {
	opens := s.does
	if noScript {
		opens = s.goes
	}
	s.task("three changes", 8, survey, func() {
		s.goes("link", "Edit the form")
		opens("button", "Edit “Department”")
		s.Wait("the choices are there", func() bool { return s.Has("textbox", "Choice 2") })
		if !noScript {
			s.does("button", "Add a choice")
		}
		s.Fill("Choice 3", "Storage")
		opens("button", "Edit “Your name”")
		s.Wait("the other card is open", func() bool { return s.Has("textbox", "Question") && s.Value("Question") == "Your name" })
		s.Fill("Question", "Name")
		s.does("checkbox", "Required")
		s.goes("button", "Save")
	})
	s.want("New choices of “Department”: Storage.", "“Your name” is “Name” now.", "“Name” is optional now.")
	s.goTo(survey)
	s.want("Storage")
}

// Two questions change places, another one with answers is deleted, and all of it is undone.
func (s *saver) undo() {
	ben := s.site.as(s.t, ben, survey)
	ben.Fill("Half days", "two")
	ben.press("Send")
	s.task("changes that are undone", 6, survey, func() {
		s.goes("link", "Edit the form")
		before := s.Eval(`document.getElementById("text").value`)
		s.does("button", "Move “Name” up")
		s.WaitText("“Name” is now question 1 of 3")
		s.does("button", "Delete “Half days”")
		s.WaitText("Deleted “Half days”")
		for range 2 {
			const last = `document.querySelector("#bar [data-undo]")?.textContent ?? ""`
			now := s.Eval(last)
			s.does("button", now)
			s.Wait("a step is undone", func() bool { return s.Eval(last) != now })
		}
		testkit.Same(s.t, "text", s.Eval(`document.getElementById("text").value`), before)
	})
	s.task("a question that has answers", 5, survey, func() {
		s.goes("link", "Edit the form")
		s.does("button", "Delete “Half days”")
		s.WaitText("Deleted “Half days”")
		s.goes("button", "Save")
		s.want("Save this change?", "Deleted: Half days.")
		s.Check()
	})
	s.goTo(survey)
	s.want("Half days")
	s.goTo("/author?page=1&form=survey")
	browsertest.Eval[any](s.Page, `localStorage.clear()`)
}

// Twenty departments come from a spreadsheet.
func (s *saver) paste() {
	s.task("twenty choices", 5, survey, func() {
		s.goes("link", "Edit the form")
		s.does("button", "Edit “Department”")
		s.Wait("the choices are there", func() bool { return s.Has("textbox", "Choice 3") })
		var lines strings.Builder
		for i := range 20 {
			fmt.Fprintf(&lines, "Team %d\t%d\n", i, i)
		}
		browsertest.Eval[any](s.Page, fmt.Sprintf(`(() => {
			const data = new DataTransfer();
			data.setData("text", %q);
			document.getElementById("q-choice-2").dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
		})()`, lines.String()))
		s.WaitText("Added 20 choices.")
		s.goes("button", "Save")
	})
	s.goTo(survey)
	s.want("Team 19")
}

// A form closes on a day, at a time.
func (s *saver) ends() {
	s.task("a form that closes", 4, survey, func() {
		s.goes("link", "Edit the form")
		s.does("DisclosureTriangle", "Settings")
		s.Fill("Closes on", "2099-11-20")
		s.Wait("the day is taken", func() bool {
			return strings.Contains(s.Eval(`document.getElementById("text").value`), "2099-11-20")
		})
		browsertest.Eval[any](s.Page, `document.getElementById("f-closes-time").value = "18:00"`)
		s.goes("button", "Save")
	})
	s.goTo(survey)
	s.want("Open until 20 Nov 2099, 18:00")
}

// Last year's form is copied.
func (s *saver) copies() {
	s.task("a copy", 6, survey, func() {
		s.goes("link", "Copy as new form")
		s.want("This is a copy, without closes.")
		s.goes("button", "Save")
		s.Fill("Title", "Survey 2026")
		s.goes("button", "Save")
		s.want("Saved.")
	})
	s.goTo("/")
	s.want("Survey 2026")
}

// Its link is copied. It is closed, and opened again. A colleague gets to manage it.
func (s *saver) shares() {
	s.task("a link", 1, survey, func() {
		s.does("button", "Copy link")
		s.WaitText("Copied")
	})
	s.task("to close", 1, survey, func() {
		s.goes("button", "Close now")
		s.want("The form is closed now. It was to close on 20 Nov 2099, 18:00")
		s.Check()
	})
	s.task("to open", 1, survey, func() {
		s.goes("button", "Open again")
		s.want("The form is open again.")
	})
	s.task("a colleague", 4, survey, func() {
		s.goes("link", "Edit the form")
		s.does("DisclosureTriangle", "Settings")
		s.Fill("People who manage the form and its answers", "eve\nann")
		for range 2 { // the text never has them
			s.Press("Tab")
			s.goTo("/")
			s.Loads(func() { s.In("Continue").Click("link", "Survey 2025") })
			s.Wait("the people are back", func() bool {
				return s.Has("button", "Discard") && s.Value("People who manage the form and its answers") == "eve\nann"
			})
		}
		s.goes("button", "Save people")
		s.want("ann can read and change 1 submission.")
		s.Check()
		s.goes("button", "Yes, save")
		s.want("Saved.")
	})
	s.goTo("/")
	s.wantNot("Continue")
	s.site.as(s.t, ann, survey+"/results").want("1 submission")
}

// A question without choices is not saved. The error leads into its card. The bar is in the window all the time.
func (s *saver) fails() {
	s.goTo(survey)
	s.goes("link", "Edit the form")
	s.does("button", "Add a question after “Name”")
	s.does("button", "One choice")
	s.Wait("the new question is open", func() bool { return s.Has("textbox", "Choice 1") && s.Value("Question") == "" })
	const top = `String(document.getElementById("q-label").getBoundingClientRect().top)`
	before := s.Eval(top)
	s.Fill("Question", "Colour")
	s.does("checkbox", "Required")
	s.Wait("the text has it", func() bool { return strings.Contains(s.Eval(`document.getElementById("text").value`), "Colour") })
	if !s.keys { // the Tab key may scroll
		testkit.Same(s.t, "top of the question after the first change", s.Eval(top), before)
	}
	s.goes("button", "Save")
	s.does("link", "Colour: Add a choice.")
	s.Wait("its card is open, and has the focus", func() bool { return s.Focused() == `textbox "Question"` })
	testkit.Same(s.t, "bar", s.Eval(`getComputedStyle(document.querySelector(".bar")).position`), "fixed")
	s.goTo("/")
	browsertest.Eval[any](s.Page, `localStorage.clear()`)
}

// A test form is removed, and comes back.
func (s *saver) removes() {
	s.task("to remove", 3, survey, func() {
		s.goes("link", "Edit the form")
		s.does("DisclosureTriangle", "Settings")
		s.goes("button", "Remove this form")
		s.want("“Survey 2025” was removed.")
		s.Check()
		s.press("Undo")
		s.want("The form is back.")
	})
}

// Eval evaluates a text.
func (s *saver) Eval(script string) string { return browsertest.Eval[string](s.Page, script) }
