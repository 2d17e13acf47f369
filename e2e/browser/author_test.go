package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

// openText signs in and opens the text of the author's page.
func openText(t *testing.T, server, path string, options browsertest.Options) *browsertest.Page {
	t.Helper()
	p := openAuthor(t, server, path, options)
	showText(p, options.NoScript)
	return p
}

// showText opens the tab of the text.
func showText(p *browsertest.Page, loads bool) {
	click := func() { p.Click("button", "Text") }
	if loads {
		p.Loads(click)
	} else {
		click()
	}
	p.Wait("the text is shown", func() bool { return p.Has("textbox", "Text of the form") })
}

// openAuthor signs in and opens the author's page.
func openAuthor(t *testing.T, server, path string, options browsertest.Options) *browsertest.Page {
	t.Helper()
	options.Cookies = login(t, server, "alice", "wonderland")
	options.Shell = true
	p := browsertest.Open(t, server+path, options)
	p.WaitText("New form")
	return p
}

// TestAuthor has one server for all that people do on the author's page.
func TestAuthor(t *testing.T) {
	t.Parallel()
	server := serve(t)
	for name, run := range map[string]func(t *testing.T, server string){
		"while typing": authorWhileTyping, "templates": authorTemplates, "stale answers": authorStaleAnswers,
		"without JavaScript": authorWithoutJavaScript, "by keyboard": authorByKeyboard, "expired session": authorExpiredSession,
		"typed into questions": authorKeepsTyped,
		"kept":                 authorKeepsText, "long lines": authorLongLines, "questions": questionsByClicking,
		"questions without JavaScript": questionsWithoutJavaScript,
	} {
		t.Run(name, func(t *testing.T) { run(t, server) })
	}
}

const written = "form: a\nfields:\n  - {id: name, type: textfield, label: Your name}\n" +
	"  - {id: more, type: textfield, label: More, showIf: {field: name, not-empty: true}}\n"

// The form follows what is typed. What was typed into the form stays, and so
// does the last good form while there is an error.
func authorWhileTyping(t *testing.T, server string) {
	p := openText(t, server, "/author", browsertest.Options{})
	p.Check()
	p.Fill("Text of the form", written)
	p.WaitText("Your name")
	p.Fill("Your name", "Ann")
	p.WaitText("More") // conditions are at work

	p.Fill("Text of the form", written+"  - {id: x, type: dat}\n")
	p.WaitText("1 problem")
	p.WaitText("This is the form as it was before the error.")
	p.CheckAxe()
	p.Click("link", "Line 5, column 19")
	testkit.Same(t, "selected", browsertest.Eval[string](p, "getSelection().toString()"), "  - {id: x, type: dat}")
	p.Fill("Text of the form", written+"  - {id: x, type: date, label: A day}\n")
	p.WaitText("A day")
	p.WaitText("No problems")
	if got := p.Value("Your name"); got != "Ann" || !p.Has("textbox", "More") {
		t.Errorf("the form has forgotten %q", got)
	}
	testkit.Same(t, "focus", p.Focused(), `textbox "Text of the form"`)
	address := p.Address()
	p.Fill("Your name", "Bob")
	p.Press("Enter")
	p.Click("button", "Copy Markdown block")
	p.WaitText("Copied")
	if p.Address() != address || p.Value("Your name") != "Bob" {
		t.Error("the Enter key has sent the preview")
	}
}

// lineEnds compares where each line of the text ends with the end of its row in the gutter. It returns
// the number of rows, and the lines that end elsewhere.
const lineEnds = `(() => {
	const text = document.getElementById("text"), rows = [...document.querySelector("[data-gutter]").children];
	const {value, style, scrollTop} = text, lines = value.split("\n");
	style.height = style.minHeight = "0";
	const wrong = lines.map((_, i) => {
		text.value = lines.slice(0, i + 1).join("\n");
		const end = text.scrollHeight - parseFloat(getComputedStyle(text).paddingBottom);
		return rows[i] && Math.abs(rows[i].offsetTop + rows[i].offsetHeight - end) < 1 ? "" : "line " + (i + 1) + " ends at " + end + " ";
	}).join("");
	text.value = value;
	style.height = style.minHeight = "";
	text.scrollTop = scrollTop;
	return rows.length + " rows " + wrong;
})()`

// A long line wraps, and has one number. A problem leads to its line below long ones.
func authorLongLines(t *testing.T, server string) {
	long := "# " + strings.Repeat("long ", 40) + strings.Repeat("x", 200) + "  and  spaces\t\ttabs \n\n"
	for _, width := range []int{360, 0} {
		p := openText(t, server, "/author", browsertest.Options{Width: width})
		p.Fill("Text of the form", strings.Repeat(long, 10)+written+"  - {id: x, type: dat}")
		p.WaitText("1 problem")
		testkit.Same(t, "gutter", browsertest.Eval[string](p, lineEnds), "25 rows ")
		p.Click("link", "Line 25, column 19")
		p.Wait("the gutter shows the line where the text does", func() bool {
			return browsertest.Eval[bool](p, `(([text, gutter]) => {
				const top = gutter.lastChild.offsetTop - text.scrollTop;
				return text.scrollTop > 0 && text.scrollTop === gutter.scrollTop && 0 < top && top < text.clientHeight;
			})([document.getElementById("text"), document.querySelector("[data-gutter]")])`)
		})
		testkit.Same(t, "pixels that the text is too wide", browsertest.Eval[int](p, "text.scrollWidth - text.clientWidth"), 0)
	}
}

func authorTemplates(t *testing.T, server string) {
	p := openText(t, server, "/author", browsertest.Options{})
	for _, name := range []string{"Leave request", "Registration", "Survey with conditions", "Incident report", "Feedback"} {
		p.Loads(func() { p.Click("link", name) })
		showText(p, false)
		p.WaitText("No problems")
	}
	p.Check()
}

// The text is there after a reload. A template does not replace it for good.
func authorKeepsText(t *testing.T, server string) {
	p := openText(t, server, "/author", browsertest.Options{})
	want := func(text string) {
		t.Helper()
		p.Wait("the text is "+text, func() bool { return strings.HasPrefix(p.Value("Text of the form"), text) })
	}
	p.Fill("Text of the form", written)
	p.Reload()
	showText(p, false)
	want(written)
	p.WaitText("What you typed here earlier is back.")
	p.WaitText("Your name") // its form is shown
	if text := p.Text(); strings.Contains(text, "not sent") {
		t.Errorf("a text that is never sent was not sent: %s", text)
	}
	p.Check()
	p.Loads(func() { p.Click("link", "Survey with conditions") })
	showText(p, false)
	p.WaitText("You typed something here earlier.")
	want("form: survey")
	p.Check()
	p.Fill("Text of the form", "form: another")
	p.Click("button", "Restore")
	want(written)
	p.WaitText("Your name")
	p.Reload()
	showText(p, false)
	want(written)
	p.Click("button", "Discard")
	want("form: survey")
	p.Loads(func() { p.Click("link", "Feedback") })
	showText(p, false)
	want("form: feedback")
	if strings.Contains(p.Text(), "earlier") {
		t.Errorf("the text is discarded, and still offered: %s", p.Text())
	}
	const sizes = `[...document.querySelectorAll("textarea, pre")].map((e) => parseFloat(getComputedStyle(e).fontSize))`
	if got := browsertest.Eval[float64](p, "Math.min(..."+sizes+")"); got < 16 {
		t.Errorf("text of %g pixels, which phones enlarge when one types", got)
	}
}

// The title and the open card come back as they were typed, though no button was pressed.
func authorKeepsTyped(t *testing.T, server string) {
	p := openAuthor(t, server, "/author", browsertest.Options{})
	p.Fill("Question", "First")
	p.Click("button", "Add a question after “Question without a text”")
	p.Click("button", "Number")
	p.Wait("the new question is open", func() bool { return p.Value("Question") == "" })
	p.Type("Second")
	p.Fill("Title", "Clean path")
	p.Reload()
	p.WaitText("What you typed here earlier is back.")
	p.Wait("both are back", func() bool { return p.Value("Title") == "Clean path" && p.Value("Question") == "Second" })
	p.Click("button", "Discard")
	p.Wait("nothing is left", func() bool { return p.Value("Title") == "" })
	p.Reload()
	if strings.Contains(p.Text(), "earlier") {
		t.Error("nothing differs, and the page offers what was typed")
	}
}

// An answer to an old text never replaces that to a newer one.
func authorStaleAnswers(t *testing.T, server string) {
	p := openText(t, server, "/author", browsertest.Options{})
	for i := range 20 {
		p.Fill("Text of the form", strings.Replace(written, "Your name", fmt.Sprintf("Name %d", i), 1))
	}
	p.WaitText("Name 19")
}

func authorWithoutJavaScript(t *testing.T, server string) {
	p := openText(t, server, "/author?template=survey", browsertest.Options{NoScript: true})
	p.Check()
	if p.Has("button", "Copy Markdown block") {
		t.Error("a button that does nothing")
	}
	p.Fill("Text of the form", written+"  - {id: x, type: dat}\n")
	p.Loads(func() { p.Click("button", "Show the form") })
	p.WaitText("1 problem")
	p.Check()
	p.Fill("Text of the form", written)
	p.Loads(func() { p.Click("button", "Show the form") })
	p.WaitText("Your name")
}

// The Tab key leaves the text, and everything can be reached with it.
func authorByKeyboard(t *testing.T, server string) {
	p := openText(t, server, "/author", browsertest.Options{})
	p.Fill("Text of the form", written)
	p.WaitText("Your name")
	var got []string
	for range 6 {
		p.Press("Tab")
		got = append(got, p.Focused())
	}
	want := `link "All keys" button "Show the form" textbox "Your name" DisclosureTriangle "Markdown" button "Copy Markdown block" DisclosureTriangle "Confluence"`
	if strings.Join(got, " ") != want {
		t.Errorf("the Tab key goes to %q, want %q", got, want)
	}
}

// The text outlives the session.
func authorExpiredSession(t *testing.T, server string) {
	p := openText(t, server, "/author", browsertest.Options{ConsoleErrors: true})
	other := p.Tab(server + "/")
	(&page{Page: other, t: t}).signOut()
	p.Fill("Text of the form", written)
	p.WaitText("You are not signed in any more.")
	p.Loads(func() { p.Click("button", "Show the form") })
	p.Fill("User name", "alice")
	p.Fill("Password", "wonderland")
	p.Loads(func() { p.Click("button", "Sign in") })
	p.WaitText("the text is as you left it")
	testkit.Same(t, "text", p.Value("Text of the form"), written)
}
