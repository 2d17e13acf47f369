//go:build release

package browser

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/formulary/formulary/e2e/browsertest"
	"github.com/formulary/formulary/internal/testkit"
)

var screenshots = flag.String("screenshots", "", "write pictures of all pages to this `directory`, and keep them")

// examplePasswords are those of examples/users.htpasswd.
var examplePasswords = map[string]string{"alice": "wonderland", "bob": "scaffold", "carol": "christmas"}

// Forms of examples/pages.
const (
	feedback     = "/page/101/form/feedback"
	leave        = "/page/102/form/leave"
	ballot       = "/page/103/form/ballot"
	registration = "/page/104/form/registration"
	leaveEdited  = "/author?page=102&form=leave"
)

// shot is a page in one state, with what leads there.
type shot struct {
	name    string
	user    string // who signs in first; "" for nobody
	path    string
	alive   bool // the examples have the answers of four months, as with `make run`
	window  int  // the height of the window that is shown; 0 for the whole page
	prepare func(p *page)
}

// shots are all pages in all states. Those that send something come after those
// that show an empty form.
var shots = []shot{
	{name: "login", path: "/login"},
	{name: "login-error", path: "/login", prepare: func(p *page) {
		p.Fill("User name", "alice")
		p.Fill("Password", "wrong")
		p.press("Sign in")
	}},
	{name: "page", user: "alice", path: "/page/101"},
	{name: "page-wikitext", user: "alice", path: "/page/102"},
	{name: "page-two-forms", user: "alice", path: "/page/104"},
	{name: "form", user: "bob", path: leave, prepare: fillLeave},
	{name: "form-empty", user: "bob", path: leave},
	{name: "errors", user: "bob", path: leave, prepare: func(p *page) {
		p.In("Kind of leave").Click("radio", "holiday")
		p.press("Send")
	}},
	{name: "form-anonymous", user: "alice", path: ballot},
	{name: "home", user: "alice", path: "/", alive: true},
	{name: "home-menu", user: "alice", path: "/", alive: true, prepare: func(p *page) { p.Click("button", "More for “Leave request”") }},
	{name: "summary", user: "alice", path: "/page/105/form/office/results", alive: true},
	{name: "home-none", user: "alice", path: "/?q=nothing"},
	{name: "sent", user: "bob", path: leave, prepare: sendLeave},
	{name: "sent-anonymous", user: "bob", path: ballot, prepare: func(p *page) {
		p.In("My vote").Click("radio", "Lake")
		p.press("Send")
	}},
	{name: "once-anonymous", user: "bob", path: ballot},
	{name: "once", user: "bob", path: registration, prepare: func(p *page) {
		p.Fill("Your name", "Bob")
		p.Fill("E-mail", "bob@example.org")
		p.press("Send")
		p.goTo("/page/104")
	}},
	{name: "change", user: "carol", path: leave, prepare: func(p *page) {
		sendLeave(p)
		p.follow("Change")
	}},
	{name: "conflict", user: "carol", path: feedback, prepare: func(p *page) {
		sendFeedback(p)
		p.follow("Change")
		other := p.tab(p.path())
		other.Fill("Comment", "The last sprint was long, and it rained. We should plan fewer things.")
		other.press("Save")
		p.Fill("Comment", "We have finished all that we had planned.")
		p.press("Save")
	}},
	{name: "delete", user: "carol", path: feedback, prepare: func(p *page) {
		sendFeedback(p)
		p.follow("Delete")
	}},
	{name: "results", user: "alice", path: leave + "/results?view=table", alive: true},
	{name: "submission", user: "alice", path: leave + "/submission/2", alive: true},
	{name: "results-filtered", user: "alice", path: feedback + "/results?filter[rating][one-of]=1;2&sort=rating&limit=50"},
	{name: "results-error", user: "alice", path: feedback + "/results?filter[rating][greater-than]=many"},
	{name: "results-own", user: "bob", path: leave + "/results"},
	{name: "results-none", user: "alice", path: "/page/104/form/helpers/results"},
	{name: "author", user: "alice", path: "/author?template=survey", window: 1200},
	{name: "author-keys", user: "alice", path: "/author", prepare: func(p *page) {
		showText(p.Page, false)
		p.Click("link", "All keys")
	}},
	{name: "author-problems", user: "alice", path: "/author", prepare: func(p *page) {
		showText(p.Page, false)
		p.Fill("Text of the form", "form: lunch\nfields:\n  - id: meal\n    type: dropdwon\n    label: Meal\n")
		p.WaitText("did you mean")
	}},
	{name: "author-card", user: "alice", path: "/author?template=survey", prepare: func(p *page) {
		p.Click("button", "Edit “Which tools do you use every day?”")
		p.Wait("the card is open", func() bool { return p.Has("textbox", "Choice 3") })
	}},
	{name: "author-preview", user: "alice", path: "/author?template=survey", prepare: func(p *page) { p.Click("button", "Preview") }},
	{name: "author-new", user: "alice", path: "/author?template=survey", prepare: func(p *page) { p.press("Save") }},
	{name: "author-saved", user: "alice", path: "/author?template=survey", prepare: saveSurvey},
	{name: "author-removed", user: "alice", path: "/author?template=survey", prepare: func(p *page) {
		saveSurvey(p)
		p.Click("DisclosureTriangle", "Settings")
		p.press("Remove this form")
	}},
	{name: "author-settings", user: "alice", path: leaveEdited, alive: true, prepare: func(p *page) { p.Click("DisclosureTriangle", "Settings") }},
	{name: "author-people", user: "alice", path: leaveEdited, alive: true, prepare: func(p *page) {
		p.Click("DisclosureTriangle", "Settings")
		p.Fill("People who manage the form and its answers", "alice\nbob")
		p.press("Save people")
	}},
	{name: "author-asked", user: "alice", path: leaveEdited, alive: true, prepare: func(p *page) {
		p.Click("button", "Delete “Half days”")
		p.WaitText("Deleted “Half days”")
		p.press("Save")
	}},
	{name: "author-conflict", user: "alice", path: leaveEdited, alive: true, prepare: func(p *page) {
		other := p.tab(p.path())
		other.Fill("Title", "Leave or illness")
		other.press("Save")
		p.Fill("Title", "Request for leave")
		p.press("Save")
	}},
	{name: "home-continue", user: "alice", path: "/author", alive: true, prepare: func(p *page) {
		p.Fill("Title", "Lunch on Friday")
		p.Press("Tab")
		p.WaitText("Undo")
		p.goTo("/")
		p.WaitText("Continue")
	}},
	{name: "closed", user: "alice", path: leave, alive: true, prepare: func(p *page) { p.press("Close now") }},
	{name: "embed-without-tls", path: "/embed/page/101/form/feedback"},
	{name: "expired", user: "alice", path: feedback, prepare: func(p *page) {
		p.Fill("Comment", "A long text")
		p.tab("/").signOut()
		p.press("Send")
	}},
	{name: "not-found", user: "alice", path: "/page/999"},
	{name: "api", path: "/docs", prepare: func(p *page) { p.WaitText("/page/{pageId}/form/{formId}") }},
}

func fillLeave(p *page) {
	p.In("Kind of leave").Click("radio", "holiday")
	p.Fill("First day", "2026-07-06")
	p.Fill("Last day", "2026-07-17")
	p.In("Half days").Click("checkbox", "last day")
	p.Fill("Who stands in for you?", "Bob")
	p.In("They know").Click("checkbox", "yes")
}

func sendLeave(p *page) {
	fillLeave(p)
	p.press("Send")
}

func sendFeedback(p *page) {
	p.Fill("Comment", "Good mood, short meetings.")
	p.Select("Rating", "4")
	p.press("Send")
}

// saveSurvey saves a new form on a page of its own.
func saveSurvey(p *page) {
	p.press("Save")
	p.press("Save")
	p.want("Saved.")
}

// TestScreenshots takes pictures of the pages with the examples: wide and light,
// and narrow and dark. Without the flag it takes those of docs/images, and removes
// them.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := *screenshots
	if dir == "" {
		dir = t.TempDir()
	}
	for suffix, options := range map[string]browsertest.Options{"": {}, "-dark-phone": {Width: 360, Dark: true}} {
		pages := filepath.Join(t.TempDir(), "pages")
		testkit.Must(t, os.CopyFS(pages, os.DirFS("../../examples/pages")))
		empty := &site{url: serve(t, "--brand-css", inter(t), "--pages", pages, "--authors", "alice"), options: options}
		alive := &site{url: serveAlive(t), options: options}
		var list []browsertest.Shot
		for _, shot := range shots {
			if _, err := os.Stat("../../docs/images/" + shot.name + suffix + ".png"); *screenshots == "" && err != nil {
				continue
			}
			s := empty
			if shot.alive {
				s = alive
			}
			if options.Cookies = nil; shot.user != "" {
				options.Cookies = login(t, s.url, shot.user, examplePasswords[shot.user])
			}
			options.Height = shot.window
			list = append(list, browsertest.Shot{
				Name: shot.name + suffix, Address: s.url + shot.path, Options: options, Window: shot.window > 0, Prepare: s.prepare(t, shot),
			})
		}
		browsertest.Screenshots(t, dir, list)
	}
}

// inter is a stylesheet with a font that many people have.
func inter(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "brand.css")
	testkit.WriteFile(t, file, `:root { --font: Inter, "Noto Sans CJK JP", "Noto Sans Arabic", sans-serif; }`)
	return file
}

// serveAlive starts a server as "make run" does.
func serveAlive(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run") // a folder that is there keeps its store
	fill := exec.CommandContext(t.Context(), "go", "run", "./scripts/fill-examples", "examples/pages", dir)
	fill.Dir = "../.."
	if out, err := fill.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	url, _ := startIn(t, dir, "--pages", filepath.Join(dir, "pages"), "--brand-css", inter(t), "--authors", "alice",
		"--users", "../../examples/users.htpasswd", "--groups", "../../examples/groups")
	return url
}

func (s *site) prepare(t *testing.T, shot shot) func(*browsertest.Page) {
	return func(tab *browsertest.Page) {
		p := &page{tab, t, s}
		if shot.prepare != nil {
			shot.prepare(p)
		}
		if shot.window == 0 { // what stands at the end of the window would cover the middle of the page
			browsertest.Eval[any](tab, `scrollTo(0, 0), document.querySelectorAll(".bar").forEach((bar) => (bar.style.position = "static"))`)
		}
	}
}

// TestScreenshotsInMediaWiki takes pictures of a form in the wiki's page.
func TestScreenshotsInMediaWiki(t *testing.T) {
	t.Parallel()
	dir := *screenshots
	if dir == "" {
		dir = t.TempDir()
	}
	w := newLiveWiki(t, browsertest.Options{Height: 900})
	browsertest.Screenshots(t, dir, []browsertest.Shot{{Name: "wiki", Address: w.page(), Options: w.options, Prepare: func(tab *browsertest.Page) {
		p := &page{tab, t, w.site}
		w.signIn(p, "Ann")
		frame := p.InnerFrame()
		frame.WaitText("Signed in as Ann")
		frame.In("Will you be there?").Click("radio", "yes")
		frame.Fill("How many people do you bring?", "2")
	}}})
}
