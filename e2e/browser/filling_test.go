package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

const (
	order     = "/page/20/form/order"
	leavePage = "/page/21"
	leaveOf   = "/page/21/form/leave"
)

// TestFilling has people fill in forms with JavaScript.
func TestFilling(t *testing.T) {
	t.Parallel()
	s := newSiteOf(t, "testdata/filling", browsertest.Options{})
	t.Run("drafts", func(t *testing.T) { drafts(t, s) })
	t.Run("drafts have bounds", func(t *testing.T) { draftsHaveBounds(t, s) })
	t.Run("questions", func(t *testing.T) { questions(t, s) })
	t.Run("sending", func(t *testing.T) { sendingOnce(t, s) })
	t.Run("numbers", func(t *testing.T) { numbers(t, s) })
	t.Run("scales and grids", func(t *testing.T) { scalesAndGrids(t, s) })
	t.Run("summary", func(t *testing.T) { summaryCards(t, s) })
	t.Run("stored files", func(t *testing.T) { storedFiles(t, s) })
	t.Run("what forms say", func(t *testing.T) { whatFormsSay(t, s) })
}

// drafts: what is typed is there after a reload, until it is sent or discarded, and
// for its user alone. A comma is understood at once.
func drafts(t *testing.T, s *site) {
	const back = "What you typed here earlier is back."
	p := s.as(t, ann, order)
	stored := func(p *page, text string) {
		t.Helper()
		p.Wait("the draft is stored", func() bool {
			return strings.Contains(browsertest.Eval[string](p.Page, `JSON.stringify(localStorage)`), text)
		})
	}
	p.Fill("Item", " Desk ")
	p.Fill("Price", "100,50")
	p.Fill("Why so much?", "It is\nlarge.")
	p.Select("Size", "large")
	p.In("Extras").Click("checkbox", "express")
	dir := t.TempDir()
	offers := []string{filepath.Join(dir, "offer.txt"), filepath.Join(dir, "more.txt")}
	for _, file := range offers {
		testkit.WriteFile(t, file, "An offer")
	}
	p.Attach("Offer", offers...)
	stored(p, "offer.txt")
	p.Reload()
	p.Fill("Item", "Desk")
	p.Fill("Item", " Desk ")
	p.Reload() // the names stay until files are chosen
	p.want(back+" It was not sent yet. Files are not kept: choose “offer.txt”, “more.txt” again.", "Why so much?")
	p.Check()
	wantTyped := func(p *page) {
		t.Helper()
		p.wantValue("Item", " Desk ")
		p.wantValue("Price", "100,50")
		p.wantValue("Why so much?", "It is\nlarge.")
		p.wantValue("Size", "large")
		if p.Value("express") != "on" || p.Value("gift") != "off" {
			t.Errorf("%s: other boxes are ticked", p)
		}
	}
	wantTyped(p)
	q := p.tab("/page/20") // the page has the same form
	q.want(back)
	wantTyped(q)
	q.Fill("Word", "hush")
	p.goTo(order + "?item=Chair")
	p.want("You typed something here earlier. It was not sent yet.")
	p.wantNot(back)
	p.Check()
	key := keyOf(p)
	p.Click("button", "Restore")
	wantTyped(p)
	if keyOf(p) == key {
		t.Error("what is restored is sent with another key")
	}

	p.press("Send")
	p.want("Desk", "100.50", "It is\nlarge.")
	own, _, _ := strings.Cut(p.path(), "?")
	p.goTo("/page/20")
	p.wantNot(back, "hush")
	p.wantValue("Item", "")
	p.wantValue("Word", "")

	// A change has a draft of its own.
	p.goTo(own)
	p.follow("Change")
	p.Fill("Price", "99")
	p.Reload() // before a pause
	p.want(back)
	p.wantValue("Price", "99")
	p.wantValue("Item", "Desk")
	p.Click("button", "Discard")
	p.wantValue("Price", "100.50")
	p.Fill("Price", "98")
	p.press("Save")
	p.want("98")
	p.follow("Change")
	p.wantNot(back)

	// The sign-out removes all of them.
	p.goTo(order)
	p.Fill("Item", "Lamp")
	stored(p, "Lamp")
	p.signOut()
	if left := browsertest.Eval[string](p.Page, `JSON.stringify(localStorage)`); strings.Contains(left, "Lamp") || strings.Contains(left, "hush") {
		t.Errorf("after the sign-out the browser keeps %s", left)
	}
	p.goTo(order)
	p.signIn(ben)
	p.wantNot(back)
	p.wantValue("Item", "")

	// After an expired session they go when somebody else opens a form, but not those of
	// another server on this host.
	p.Fill("Item", "Sofa")
	stored(p, "Sofa")
	browsertest.Eval[any](p.Page, `localStorage.setItem("formulary.draft other /forms/page/1/form/f", JSON.stringify({time: Date.now()}))`)
	browsertest.Eval[any](p.Page, `localStorage.setItem("formulary.draft other /author?form=sofa&page=1", JSON.stringify({time: Date.now()}))`)
	browsertest.Eval[any](p.Page, `void fetch("/logout", {method: "POST"}).then(() => { document.title = "out" })`)
	p.Wait("the session is over", func() bool { return p.Title() == "out" })
	p.goTo("/page/20/form/secret")
	p.signIn(eve)
	p.Wait("ben's draft is removed", func() bool {
		kept := browsertest.Eval[string](p.Page, `JSON.stringify(localStorage)`)
		return !strings.Contains(strings.ToLower(kept), "sofa") && strings.Contains(kept, "/forms/page/1/form/f")
	})
}

// keyOf is the key that a form is sent with.
func keyOf(p *page) string {
	p.t.Helper()
	return browsertest.Eval[string](p.Page, `document.querySelector("[name=_key]").value`)
}

// draftsHaveBounds: drafts that are old, too long, too many or spoiled are not kept.
func draftsHaveBounds(t *testing.T, s *site) {
	p := s.as(t, ann, order)
	kept := func(want int) {
		t.Helper()
		const names = `Object.keys(localStorage).filter(n => n.startsWith("formulary.draft "))`
		testkit.Same(t, "drafts", browsertest.Eval[int](p.Page, names+".length"), want)
	}
	const back, earlier = "What you typed here earlier is back.", "You typed something here earlier."
	for _, tt := range []struct {
		change string // of the draft, while another page is open
		says   string // on the page of the form; "" if nothing is left
		kept   int
	}{
		{``, back + " It was not sent yet.", 1},
		{`draft.time -= 29 * day`, back, 1},
		{`draft.time -= 31 * day`, "", 0},
		{`draft = "spoiled"`, "", 0},
		{`draft.tag = "2"`, earlier + " It was changed elsewhere since. It was not sent yet.", 1},
		{`draft.values = {what: ["Desk"], thing: ["Sofa"], size: ["big"]}`, back, 1}, // earlier names
		{`draft.sent = true, draft.key = "first"`, back + " You have sent it, but it was not confirmed. Send it again: it is stored once.", 1},
		{`for (let i = 1; i <= 25; i++) localStorage["formulary.draft other /" + i] = JSON.stringify({time: draft.time - i})`, back, 20},
	} {
		browsertest.Eval[any](p.Page, `localStorage.clear(), 0`)
		p.goTo(order)
		p.Fill("Item", "Desk")
		p.Select("Size", "large")
		p.goTo("/")
		browsertest.Eval[any](p.Page, `(() => {
			const day = 24 * 3600 * 1000, [name] = Object.keys(localStorage);
			let draft = JSON.parse(localStorage[name]);
			`+tt.change+`;
			localStorage[name] = typeof draft === "string" ? draft : JSON.stringify(draft);
		})()`)
		p.goTo(order)
		item, size := "", ""
		if tt.says == "" {
			p.wantNot("earlier")
		} else if p.want(tt.says); strings.Contains(tt.says, back) {
			item, size = "Desk", "large"
		}
		p.wantValue("Item", item)
		p.wantValue("Size", size)
		kept(tt.kept)
		if tt.kept == 20 && !browsertest.Eval[bool](p.Page, `"formulary.draft other /19" in localStorage && !("formulary.draft other /20" in localStorage)`) {
			t.Error("others than the oldest are removed")
		}
		if strings.Contains(tt.change, `"first"`) {
			testkit.Same(t, "key", keyOf(p), "first")
			p.Click("button", "Discard")
			if keyOf(p) == "first" {
				t.Error("another answer has the key of what was sent")
			}
			kept(0)
		}
	}

	// A text that is erased, too long, or typed after a sign-out in another tab is not kept.
	for _, text := range []string{"", strings.Repeat("x", 100_000), "Lamp"} {
		browsertest.Eval[any](p.Page, `localStorage.clear(), 0`)
		p.goTo(order)
		p.Fill("Item", "Chair")
		if text == "Lamp" {
			browsertest.Eval[any](p.Page, `localStorage["formulary.signedOut"] = "now"`)
		}
		p.Fill("Item", text)
		p.goTo("/")
		kept(0)
	}
	p.goTo(order + "?item=Chair")
	p.Fill("Price", "7")
	p.goTo(order + "?item=Chair")
	p.want(back)
	p.wantValue("Item", "Chair")
	p.wantValue("Price", "7")
	p.goTo(order + "?item=Sofa")
	p.want(earlier)
	p.Fill("Price", "8")
	p.Click("button", "Restore")
	p.wantValue("Item", "Sofa")
	p.wantValue("Price", "8") // it is newer
	browsertest.Eval[any](p.Page, `Object.defineProperty(window, "localStorage", {get() { throw new Error("refused") }}), 0`)
	p.Fill("Item", "Lamp")
	p.press("Send")
	p.want("This is what was sent.", "Lamp")
}

const review = "/page/23/form/review"

// questions show and hide as answers change. Their ids hide members of the form.
func questions(t *testing.T, s *site) {
	p := s.as(t, ann, review)
	want := func(announced, shown string) {
		t.Helper()
		testkit.Same(t, "it says", said(p), announced)
		// Questions that show are in a section that shows, and have controls that can be used.
		const state = `Array.from(document.querySelectorAll("[data-field]"), (q) => q.hidden ?
			(q.querySelector(":enabled") ? q.dataset.field + " is sent" : "") :
			q.checkVisibility() && !q.querySelector(":disabled") ? q.dataset.field : q.dataset.field + " can't be used").filter(Boolean).join(" ")`
		testkit.Same(t, "questions", browsertest.Eval[string](p.Page, state), shown)
		testkit.Same(t, "the section shows",
			browsertest.Eval[bool](p.Page, `!document.querySelector("[data-section]").hidden`),
			shown != "rating",
		)
	}
	want("", "rating")
	testkit.Same(t, "the Enter key presses",
		browsertest.Eval[string](p.Page, `document.querySelector("[data-update]").type`),
		"button",
	)
	const four = "4 questions added: What went wrong?, Topics, Other and 1 more."
	p.In("Rating").Click("radio", "1")
	want(four, "rating reason topics hasAttribute matches")
	p.In("Rating").Click("radio", "2")
	want(four, "rating reason topics hasAttribute matches")
	p.In("Topics").Click("checkbox", "a")
	p.In("Topics").Click("checkbox", "b")
	want("1 question added: Both.", "rating reason topics append hasAttribute matches")
	// Half of a pair of surrogates is sent as U+FFFD.
	browsertest.Eval[any](p.Page, `(e => { e.value = "so \uD83D bad"; e.dispatchEvent(new Event("input", {bubbles: true})) })(document.querySelector("textarea"))`)
	want("1 question added: Proof.", "rating reason topics append proof hasAttribute matches")
	file := filepath.Join(t.TempDir(), "a.txt")
	testkit.WriteFile(t, file, "A")
	p.Attach("Proof", file)
	want("Added: a.txt. 1 question added: Thanks.", "rating reason topics append proof querySelectorAll hasAttribute matches")
	p.Click("button", "Remove a.txt")
	want("1 question removed: Thanks.", "rating reason topics append proof hasAttribute matches")
	p.Attach("Proof", file)
	p.In("Rating").Click("radio", "5")
	const seven = "7 questions removed: What went wrong?, Topics, Both and 4 more."
	want(seven, "rating")
	// The browser puts back the typed text.
	browsertest.Eval[any](p.Page, `document.querySelector("[name=rating]").checked = true, dispatchEvent(new Event("pageshow")), 0`)
	want(seven, "rating reason topics append proof querySelectorAll hasAttribute matches")
	p.In("Rating").Click("radio", "5")
	p.press("Send") // by the browser, as the file is not sent
	p.want("This is what was sent.", "Rating\n5")
	p.wantNot("a.txt")
}

// sendingOnce: a form is sent once, and again if there was no answer. One with files says
// how far it is, and stays as it is when the answer is no page with a form.
func sendingOnce(t *testing.T, s *site) {
	script, err := os.ReadFile("testdata/sending.js")
	testkit.Must(t, err)
	got := browsertest.Eval[string](s.as(t, ann, order).Page, string(script))
	const left = " What you entered is still here. | enabled | 1 | true | true"
	want := `twice | true | enabled | false | disabled | nothing
back | enabled | true
back at once | enabled | true
stopped | disabled | enabled | true
another form | true | true
upload | false | disabled | 1 | Sending… | 1 Sending… | 24 Sending… | 25 Sending: 25 % | 26 Sending: 25 % | 49 Sending: 25 % | 60 Sending: 60 % | 99 Sending: 99 % | 100 Sent. Waiting for the answer…
no answer | The server did not answer. Check your connection and the size of the files, then try again.` + left + `
again | false | 
too large | A file is too large.` + left + ` | false
unavailable | Try again in a moment.` + left + ` | false
not a page | The server refused the form (status 413). Check your connection and the size of the files, then try again.` + left + ` | false
refused | true | true | false | 1 | enabled | false
signed out | 1 | /login | main`
	testkit.Diff(t, "lines", strings.Split(got, "\n"), strings.Split(want, "\n"))
}

// numbers are understood as people write them, at once. One that can mean two is refused.
func numbers(t *testing.T, s *site) {
	p := s.as(t, ben, order)
	p.wantNot("Why so much?")
	p.Fill("Price", "1.234,50")
	p.Wait("the question shows", func() bool { return p.Has("textbox", "Why so much?") })
	p.Fill("Price", "1 000")
	p.Fill("Why so much?", "It is large.")
	p.Fill("Price", "1.000")
	p.Fill("Item", "Desk")
	p.press("Send")
	p.wantStatus(422)
	p.wantProblems("“Price” must be written as 1000 or as 1.0000: 1.000 can mean either")
	p.wantValue("Price", "1.000")
	p.wantNot("earlier")
	p.Check()
	p.goTo(order)
	p.want("What you typed here earlier is back. It was not sent yet.") // also if it was refused
	p.wantValue("Price", "1.000")
	p.Fill("Price", "1'000")
	p.Fill("Why so much?", "It is large.")
	p.press("Send")
	p.want("1000", "It is large.")
}

// scalesAndGrids: one row for a scale, a table for a grid where there is room, by keyboard too.
func scalesAndGrids(t *testing.T, s *site) {
	p := s.as(t, ann, "/page/22/form/office")
	// Of some elements, how many places they have from the left or from the top.
	places := func(p *page, elements, side string) int {
		return browsertest.Eval[int](p.Page, `new Set([...document.querySelectorAll('`+elements+`')].map(e => e.getBoundingClientRect().`+side+`)).size`)
	}
	if p.Has("radiogroup", "Light") {
		t.Error("the grid shows")
	}
	p.In("Likely").Click("radio", "10")
	p.Wait("the grid shows", func() bool { return p.Has("radiogroup", "Light") })
	p.Check()
	if rows, columns := places(p, `.grid input`, "top"), places(p, `.grid input`, "left"); rows != 2 || columns != 4 {
		t.Errorf("the grid has %d rows and %d columns", rows, columns)
	}
	testkit.Same(
		t, "controls of a number and a date differ, or are wide", places(p, `[name=way], [name=since]`, "width > 200"), 1,
	)
	p.In("Air").Click("radio", "good")
	p.Press("ArrowLeft")
	p.Wait("the draft is stored", func() bool {
		return strings.Contains(browsertest.Eval[string](p.Page, `JSON.stringify(localStorage)`), `\"air\":[\"2\"]`)
	})
	p.Reload()
	p.want("What you typed here earlier is back.")
	if p.In("Air").Value("fair") != "on" || p.In("Likely").Value("10") != "on" {
		t.Error("the draft is not back")
	}
	p.press("Send")
	p.wantProblems("“Light” is required")
	p.Check()
	p.Click("link", "“Light” is required")
	p.Press("Space")
	p.In("Air").Click("radio", "No answer")
	p.press("Send")
	p.want("Light\nbad", "3 questions without an answer") // Air is one of them

	phone := *s
	phone.options = browsertest.Options{Width: 360, NoScript: true, Shell: true}
	q := phone.as(t, ben, "/page/22/form/office?likely=3")
	q.Check()
	if rows, steps := places(q, `.grid input`, "top"), places(q, `.steps input`, "top"); rows != 4 || steps != 2 {
		t.Errorf("on a phone, the grid has %d rows, and the scale %d", rows, steps)
	}
	q.In("Light").Click("radio", "good")
	q.press("Send")
	q.want("Light\ngood")
}

// summaryCards: cards are one column at the frame's edge. The bars of a card begin at one line,
// close to the longest label, which takes at most half.
func summaryCards(t *testing.T, s *site) {
	const office = "/page/22/form/office"
	s.edit(t, office, "22-office.md", "[{value: 1, label: bad}", "[{value: 0}, {value: 1, label: "+strings.Repeat("Bad", 40)+"}")
	s.store(t, ann, ann+"-secret", office, map[string]string{"likely": "10", "light": "3", "air": "1", "way": "7"})
	p := s.as(t, eve, office+"/results")
	p.Check()
	const measure = `(() => {
		const box = e => e.getBoundingClientRect(), found = [];
		for (const card of document.querySelectorAll(".chart")) {
			const left = box(card).left - box(document.querySelector("h1")).left, starts = new Set(), ends = [];
			for (const bar of card.querySelectorAll("tbody svg")) {
				const label = document.createRange();
				label.selectNodeContents(bar.closest("tr").firstElementChild);
				starts.add(box(bar).left);
				ends.push(box(label).right);
			}
			const [bars] = starts, gap = bars - Math.max(...ends), labels = bars - gap - box(card).left;
			found.push([left, box(card).width <= 48 * 16, starts.size <= 1, !bars || gap > 0 && gap <= 16, !bars || labels <= box(card).width / 2].join());
		}
		return found.join(" ");
	})()`
	want := strings.Repeat(" 0,true,true,true,true", 4)[1:]
	for _, width := range []string{"", "24rem"} {
		browsertest.Eval[any](p.Page, `void (document.querySelector("main").style.width = "`+width+`")`)
		testkit.Same(t, "cards in a width of "+width, browsertest.Eval[string](p.Page, measure), want)
	}
}

// storedFiles: conditions count the stored files that are to stay, and those that are
// chosen.
func storedFiles(t *testing.T, s *site) {
	file := filepath.Join(t.TempDir(), "offer.txt")
	testkit.WriteFile(t, file, "Ten desks")
	p := s.as(t, ben, order)
	asked := func(want bool) {
		t.Helper()
		p.Wait("the question follows the files", func() bool { return p.Has("textbox", "Why is there none?") == want })
	}
	asked(true)
	p.Fill("Item", "Desk")
	p.Attach("Offer", file)
	asked(false)
	p.press("Send")
	p.follow("Change")
	asked(false)
	p.Click("checkbox", "Remove offer.txt")
	asked(true)
	p.Attach("Offer", file)
	asked(false)
	p.press("Save")
	p.want("The changes are saved.", "offer.txt")
	p.wantNot("offer (2).txt")
	p.follow("Change")
	p.Attach("Offer", file)
	p.press("Save")
	p.want("offer.txt", "offer (2).txt")
}

// whatFormsSay: titles, readers, defaults, addresses, editors' questions, thanks, forms
// that have closed, and what is broken.
func whatFormsSay(t *testing.T, s *site) {
	p := s.as(t, ben, leavePage)
	p.want("Leave request", "Sent with your name", "Visible to eve", "Open until the end of 31 Dec 2999", "Summer party", "This form has closed")
	p.wantNot("Meal", "This page has mistakes", "State")
	p.Check()
	p.goTo(leaveOf + "?name=Benjamin&days=7,5&state=granted&with=car")
	p.wantValue("Name", "Benjamin")
	p.wantValue("Days", "7.5")
	p.want("From 1 to 30.", "At most 30 characters.", "Answer until")
	if p.In("With").Value("car") != "on" || p.In("With").Value("pay") != "off" || p.In("Kind").Value("No answer") != "off" {
		t.Error("other choices are made than the address says")
	}
	p.Fill("Days", "31")
	p.press("Send")
	p.wantStatus(422)
	p.wantProblems("“Days” must be at most 30")
	p.Check()
	p.Fill("Days", "")
	p.In("With").Click("checkbox", "car")
	p.press("Send")
	p.want("Read https://wiki.example.org/leave.", "See you.", "This is what was sent.", "open")
	if !p.Has("link", "https://wiki.example.org/leave") || strings.Contains(s.get(t, leaveOf+"/result"), `"days":"5"`) {
		t.Errorf("%s: %s", p, s.get(t, leaveOf+"/result"))
	}
	p.Check()

	q := s.as(t, eve, leavePage)
	q.want("This page has mistakes", "Line 33:", "did you mean", "State")
	q.Check()
}
