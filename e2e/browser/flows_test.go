package browser

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

// flow is a sequence of actions, such as filling in a form. It begins in a browser
// of its own. All flows use one server, and each its own form or user.
type flow struct {
	name string
	run  func(t *testing.T, s *site)
}

// scripted are the flows in a wide, light browser. Check has axe-core look at each
// page, also in other sizes and colours.
var scripted = append([]flow{
	{"sign in and out", signInAndOut},
	{"home", home},
	{"a page with its forms", pageWithForms},
	{"fill in a form", fillIn},
	{"change a submission", changeSubmission},
	{"two people change a submission", conflict},
	{"one submission each", oneSubmission},
	{"anonymous", anonymous},
	{"results", results},
	{"an editor answers", editorAnswers},
	{"tasks of editors", editorTasks},
	{"tasks of employees", employeeTasks},
	{"long words and other scripts", longWords},
	{"expired session", expiredSession},
	{"a question leaves the form", questionLeaves},
	{"a file is chosen again", chooseFileAgain},
}, unscripted...)

// unscripted are the flows that differ without JavaScript.
var unscripted = []flow{
	{"conditions", conditions},
	{"upload", uploadFile},
	{"approve 20 requests", approveRequests},
}

// TestFlows takes longest, and thus begins before the tests that are parallel.
func TestFlows(t *testing.T) {
	for _, browser := range []struct {
		name    string
		options browsertest.Options
		flows   []flow
	}{
		{"wide light", browsertest.Options{}, scripted},
		{"narrow dark without JavaScript", browsertest.Options{Width: 360, Dark: true, NoScript: true}, unscripted},
	} {
		t.Run(browser.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, browser.options)
			for _, flow := range browser.flows {
				t.Run(flow.name, func(t *testing.T) { flow.run(t, s) })
			}
		})
	}
}

func signInAndOut(t *testing.T, s *site) {
	p := s.open(t, trip)
	p.wantPath("/login?next=%2Fpage%2F1%2Fform%2Ftrip")
	p.Check()
	p.Fill("User name", ann)
	p.Fill("Password", "wrong")
	p.press("Sign in")
	p.wantStatus(422)
	p.wantProblems("The user name or the password is not right.")
	p.wantValue("User name", ann)
	p.wantValue("Password", "")
	p.Check()
	p.signIn(ann)
	p.wantPath(trip)
	p.want(ann)
	// A page that another tab has kept in memory is loaded again after a sign-out.
	q := p.tab(trip)
	const comesBack = `dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}))`
	browsertest.Eval[any](q.Page, "window.stays = true, "+comesBack)
	p.signOut()
	p.wantPath("/login")
	testkit.Same(t, "the page stays before the sign-out", browsertest.Eval[bool](q.Page, "window.stays === true"), true)
	q.Loads(func() { browsertest.Eval[any](q.Page, comesBack) })
	q.wantPath("/login?next=%2Fpage%2F1%2Fform%2Ftrip")
	p.back("/login?next=%2Fpage%2F1%2Fform%2Ftrip")
}

func home(t *testing.T, s *site) {
	p := s.as(t, ben, "/")
	p.want("Company trip", "Team shirt", "vote")
	p.wantNot("My latest submissions")
	p.Check()
	p.goTo(trip)
	fillTrip(p)
	p.press("Send")
	p.goTo("/")
	p.want("My latest submissions", "My submission:")
	p.Check()
	p.Fill("Search forms", "SHIRT")
	p.press("Search")
	p.wantPath("/?q=SHIRT")
	p.wantValue("Search forms", "SHIRT")
	p.want("Team shirt")
	if p.Has("link", "Company trip") {
		t.Error("the search finds too much")
	}
	p.Fill("Search forms", "nothing like it")
	p.press("Search")
	p.want("No form that you can fill in or edit has “nothing like it” in its name or in the name of its page.")
	p.Check()
	p.follow("Show all")
	p.follow("My submission: Company trip")
	p.want("from ben")
}

func pageWithForms(t *testing.T, s *site) {
	p := s.as(t, ann, tripPage)
	inOrder(t, p.Text(), "Company trip", "We leave on Friday.", "Your name", "Send", "The list closes on Monday.")
	if !p.Has("emphasis", "") || !p.Has("strong", "") {
		t.Error("the page's text has lost its markup")
	}
	p.Check()
	fillTrip(p)
	p.press("Send")
	p.want("We have received your submission. This is what was sent.")
	p.follow("Go to the page")
	p.wantPath(tripPage)
	p.goTo("/page/5")
	p.want("First the one that works.", "Text", "The form “broken” can't be shown")
	p.Check()
}

// fillTrip answers what must be answered in the form trip.
func fillTrip(p *page) {
	p.t.Helper()
	p.Fill("Your name", "Ann Other")
	p.Select("Room", "Single")
	p.Fill("Day of arrival", "2026-03-06")
}

func fillIn(t *testing.T, s *site) {
	p := s.as(t, ann, trip)
	p.Check()
	p.Fill("E-mail", "ann at home")
	p.Fill("Seats", "two")
	p.Fill("Wishes", "A window.\nNo garlic.")
	p.In("Meal").Click("radio", "Fish")
	p.In("Tours").Click("checkbox", "Museum")
	p.In("Tours").Click("checkbox", "Brewery")
	p.In("State").Click("radio", "booked")
	before := s.count(t, trip)
	p.press("Send")
	p.wantStatus(422)
	p.wantProblems("“Your name” is required", "“E-mail” must be an e-mail address such as name@example.org", "“Seats” must be a number such as 12 or -3.5", "“Room” is required", "“Day of arrival” is required")
	testkit.Same(t, "submissions", s.count(t, trip), before)
	p.Check()
	wantTyped := func() {
		t.Helper()
		p.wantValue("E-mail", "ann at home")
		p.wantValue("Seats", "two")
		p.wantValue("Wishes", "A window.\nNo garlic.")
		for group, labels := range map[string]map[string]string{
			"Meal": {"Meat": "off", "Fish": "on"}, "Tours": {"Museum": "on", "Harbour": "off", "Brewery": "on"}, "State": {"open": "off", "booked": "on"},
		} {
			for label, want := range labels {
				if got := p.In(group).Value(label); got != want {
					t.Errorf("%s, %s: %s, want %s", group, label, got, want)
				}
			}
		}
	}
	wantTyped()
	p.Click("link", "“Seats” must be a number such as 12 or -3.5")
	p.Wait("the link leads to the field", func() bool { return p.Focused() == `textbox "Seats"` })
	const inView = `(({top, bottom}) => top >= 0 && bottom <= innerHeight)(document.activeElement.closest("[data-field]").getBoundingClientRect())`
	testkit.Same(t, "the question is in view", browsertest.Eval[bool](p.Page, inView), true)
	wantTyped()
	p.Fill("E-mail", "ann@example.org")
	p.Fill("Seats", "2")
	fillTrip(p)
	p.press("Send")
	p.want("We have received your submission. This is what was sent.", "Ann Other", "ann@example.org", "A window.\nNo garlic.", "Single", "Fish", "Museum", "Brewery", "6 Mar 2026", "booked", "without an answer")
	p.Check()
	testkit.Same(t, "submissions", s.count(t, trip), before+1)
}

// said is what screen readers were told last.
func said(p *page) string {
	return browsertest.Eval[string](p.Page, `document.querySelector("[role=status][aria-live=polite]").textContent`)
}

func conditions(t *testing.T, s *site) {
	p := s.as(t, ann, trip)
	p.wantNot("Who shares your room?", "insurance")
	update := func(announced string) {
		t.Helper()
		if s.options.NoScript {
			p.press("Update questions")
			return
		}
		testkit.Same(t, "it says", said(p), announced)
	}
	testkit.Same(t, "the button is there", p.Has("button", "Update questions"), s.options.NoScript)
	p.Fill("Your name", "Ann")
	p.Select("Room", "Shared")
	update("1 question added: Who shares your room?.")
	p.In("Tours").Click("checkbox", "Harbour")
	update("1 question added: Are you insured?.")
	inOrder(t, p.Text(), "Room", "Who shares your room?", "Meal", "insurance", "Are you insured?")
	p.Fill("Who shares your room?", "Ben")
	p.Check()
	if s.options.NoScript {
		p.CheckAxe() // the page has one more button
	}
	p.Select("Room", "Single")
	update("1 question removed: Who shares your room?.")
	p.In("Tours").Click("checkbox", "Harbour")
	update("1 question removed: Are you insured?.")
	p.wantNot("Who shares your room?", "insurance")
	p.wantValue("Your name", "Ann")
	p.Fill("Day of arrival", "2026-03-06")
	p.press("Send")
	p.want("This is what was sent.")
	p.wantNot("Ben", "Are you insured?")
}

func uploadFile(t *testing.T, s *site) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "ticket.txt"), filepath.Join(dir, "ticket.exe")
	testkit.WriteFile(t, good, "Seat 61")
	testkit.WriteFile(t, bad, "MZ")
	// The console names the status 422 of an XMLHttpRequest.
	tolerant := *s
	tolerant.options.ConsoleErrors = true
	p := tolerant.as(t, ann, trip)
	p.want("The one of the train.", "Accepted: TXT files and PDF files. At most 20 MiB each.")
	fillTrip(p)
	p.Attach("Ticket", bad)
	// With JavaScript the page is replaced in place.
	p.Click("button", "Send")
	p.WaitText("There is a problem")
	for _, text := range p.ConsoleErrors() {
		if !strings.Contains(text, "422") {
			t.Error(text)
		}
	}
	p.wantProblems()
	p.Check()
	p.wantValue("Your name", "Ann Other")
	testkit.Same(
		t, "the file is wrong", browsertest.Eval[string](p.Page, `document.querySelector("[type=file]").ariaInvalid`), "true",
	)
	if !s.options.NoScript {
		p.Click("button", "Remove ticket.exe")
	}
	p.Attach("Ticket", good)
	p.press("Send")
	p.want("This is what was sent.", "ticket.txt (7 bytes)")
	p.Check()

	// What is chosen on a change is added. Each file is removed by itself.
	more := filepath.Join(dir, "return.txt")
	testkit.WriteFile(t, more, "Seat 62")
	p.follow("Change")
	p.want("Files that you choose are added.")
	p.Attach("Ticket", more)
	p.Check()
	p.press("Save")
	p.want("The changes are saved.", "ticket.txt (7 bytes)", "return.txt (7 bytes)")
	p.follow("Change")
	p.Click("checkbox", "Remove ticket.txt")
	p.Fill("Your name", "")
	p.press("Save")
	p.wantStatus(422)
	p.Fill("Your name", "Ann Other")
	p.press("Save")
	p.want("The changes are saved.", "return.txt")
	if p.Has("link", "ticket.txt") {
		t.Error("the file is still there")
	}
	if s.options.NoScript {
		return
	}
	p.Reload()
	p.want("return.txt")
	p.wantNot("The changes are saved.")
}

func oneSubmission(t *testing.T, s *site) {
	p := s.as(t, ann, shirt)
	p.In("Size").Click("radio", "M")
	p.press("Send")
	p.want("This is what was sent.")
	own, _, _ := strings.Cut(p.path(), "?")
	if p.Has("link", "Send another") {
		t.Error("another can be sent")
	}
	p.goTo(shirt)
	p.wantPath(own)
	p.goTo("/page/2")
	p.Check()
	p.follow("See or change what you sent")
	p.wantPath(own)
	p.follow("Change")
	p.In("Size").Click("radio", "L")
	p.press("Save")
	p.want("The changes are saved.", "L")
	testkit.Same(t, "submissions", s.count(t, shirt), 1)
}

func anonymous(t *testing.T, s *site) {
	p := s.as(t, ann, "/page/3")
	p.want("This form is anonymous: what you send is kept without your name", "vote", "suggestions")
	p.Check()
	p.goTo(vote)
	p.want("This form is anonymous: what you send is kept without your name", "One submission each")
	p.Check()
	p.In("My vote").Click("radio", "Lake")
	p.press("Send")
	p.want("Your answers were sent, without your name.")
	p.wantNot("Fill in the form once more")
	p.Check()
	p.goTo(vote)
	p.want("You have sent your answers to this form.")
	p.Check()
	p.goTo(suggestions)
	p.Fill("Idea", "Ice")
	p.Reload()
	p.wantValue("Idea", "") // no draft of anonymous answers
	p.Fill("Idea", "Ice cream")
	p.press("Send")
	p.want("Your answers were sent, without your name.")
	p.follow("Fill in the form once more")
	p.wantPath(suggestions)
}

func longWords(t *testing.T, s *site) {
	p := s.as(t, ann, "/page/4")
	p.Check()
	p.goTo(words)
	for id, want := range map[string]string{"arabic": "rtl", "hebrew": "rtl", "long": "ltr"} {
		if got := browsertest.Eval[string](p.Page, `getComputedStyle(document.querySelector("[data-field=`+id+`] :is(label, legend)")).direction`); got != want {
			t.Errorf("the label of %s is written %s", id, got)
		}
	}
	p.press("Send")
	p.wantStatus(422)
	p.wantProblems()
	p.Check()
	p.Fill("ما اسمك الكامل؟", "ليلى")
	p.In("איזו עיר אתה מעדיף?").Click("radio", "תל אביב")
	const word = "Kraftfahrzeughaftpflichtversicherungsbeitragsrechnungsanschriftenänderungsmitteilung"
	p.Fill(word+"snummer", "a@example.org")
	p.Select("Choose", word+"snummer")
	p.In("Boxes").Click("checkbox", word+"snummer")
	p.In("State").Click("radio", word)
	p.press("Send")
	p.want("This is what was sent.", "ليلى")
	p.Check()
	wantAtEdge(t, p)
	p = s.as(t, eve, words+"/results")
	p.Check()
	wantAtEdge(t, p)
}

// wantAtEdge fails the test unless texts from right to left stand at the left edge of an English page.
func wantAtEdge(t *testing.T, p *page) {
	t.Helper()
	const fromEdge = `Array.from(document.querySelectorAll(":is(.answers, .chart) [dir]:dir(rtl)"), e => {
		const text = document.createRange();
		text.selectNodeContents(e);
		return Math.round(text.getBoundingClientRect().left - e.getBoundingClientRect().left);
	}).join("")`
	if got := browsertest.Eval[string](p.Page, fromEdge); got == "" || strings.Trim(got, "0") != "" {
		t.Errorf("%s: texts are at %q", p, got)
	}
}

func expiredSession(t *testing.T, s *site) {
	p := s.as(t, ann, trip)
	fillTrip(p)
	p.Fill("Wishes", "A window.\nNo garlic.")
	p.In("Tours").Click("checkbox", "Museum")
	before := s.count(t, trip)
	signOutElsewhere := func() {
		t.Helper()
		p.tab("/").signOut()
	}
	signOutElsewhere()
	p.press("Send")
	p.want("You are not signed in any more.", "Nothing was sent yet.")
	p.Check()
	p.Fill("User name", ann)
	p.Fill("Password", "wrong")
	p.press("Sign in")
	p.wantProblems("The user name or the password is not right.")
	p.signIn(ann)
	p.wantPath(trip)
	p.want("You are signed in again, and the form is as you left it. Nothing was sent yet.")
	p.wantValue("Your name", "Ann Other")
	p.wantValue("Wishes", "A window.\nNo garlic.")
	p.wantValue("Room", "Single")
	p.wantValue("Museum", "on")
	p.wantValue("Harbour", "off")
	p.Check()
	signOutElsewhere()
	p.press("Send")
	p.signIn(ben)
	p.wantPath(trip)
	p.wantValue("Your name", "")
	p.wantValue("Wishes", "")
	p.wantValue("Museum", "off")
	testkit.Same(t, "submissions", s.count(t, trip), before)
}

// inOrder fails the test unless texts follow each other.
func inOrder(t *testing.T, all string, texts ...string) {
	t.Helper()
	rest := all
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("%q is not there, or not after the one before: %s", text, all)
			return
		}
		rest = after
	}
}

const ideaPage = "7-idea.md"

func questionLeaves(t *testing.T, s *site) {
	p := s.as(t, ann, idea)
	p.Fill("Your idea", "Ice cream")
	p.Fill("Why?", "It is hot.\nEvery day.")
	s.edit(t, idea, ideaPage, "  - {id: reason, type: textbox, label: Why?}\n", "")
	p.press("Send")
	p.wantStatus(422)
	p.wantProblems()
	p.want("This question is no longer part of the form. Your answer was not stored:")
	p.wantValue("Why?", "It is hot.\nEvery day.")
	p.wantValue("Your idea", "Ice cream")
	p.Check()
	p.Click("link", "“Why?” is no longer part of the form")
	p.Wait("the link leads to the text", func() bool { return p.Focused() == `textbox "Why?"` })
	p.press("Send")
	p.want("Your answers were sent, without your name.")
}

func chooseFileAgain(t *testing.T, s *site) {
	file := filepath.Join(t.TempDir(), "sketch.txt")
	testkit.WriteFile(t, file, "O-o")
	tolerant := *s
	tolerant.options.ConsoleErrors = true // the console names the status 422 of an XMLHttpRequest
	p := tolerant.as(t, ann, idea)
	p.Fill("E-mail", "ann at home")
	p.Fill("Your idea", "A boat")
	p.Attach("Sketch", file)
	p.Click("button", "Send")
	p.WaitText("There is a problem")
	p.wantNot("Choose the file again") // the script has kept it
	p.Check()
	p.Fill("E-mail", "ann@example.org")
	p.press("Send")
	p.want("Your answers were sent, without your name.")
	testkit.Contains(t, "the file is not stored", s.get(t, idea+"/result"), "sketch.txt")
}
