package web

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

var wiki = map[string]string{
	"1-survey.md": `---
title: Survey
---
# Survey

Before the form.

` + "```yaml form" + `
form: survey
fields:
  - {id: comment, type: textbox, label: Comment, required: true, help: A few words.}
  - {id: rating, type: dropdown, label: Rating, options: [1, 2, 3]}
  - {id: reason, type: textfield, label: "Why?", required: true, showIf: {field: rating, equals: 1}}
  - {id: days, type: checkbox, label: Days, options: [Mon, Tue]}
  - {id: kind, type: radio, label: Kind, options: [a, b]}
  - {id: mail, type: textfield, label: E-mail, validate: email}
  - {id: day, type: date, label: Day}
  - {id: state, type: status, label: State, options: [open, closed]}
  - {id: paper, type: file, label: Paper, accept: [.txt], maxSize: 1kB}
` + "```" + `

After the form.
`,
	"2-once.md": "---\ntitle: Once\nedit: [carol]\n---\n```yaml form\nform: once\noneSubmission: true\nfields:\n" +
		"  - {id: text, type: textfield, label: Text, required: true}\n```\n",
	"3-ballot.md": "---\ntitle: Ballot\nedit: [carol]\n---\n```yaml form\nform: ballot\nanonymous: true\noneSubmission: true\nfields:\n" +
		"  - {id: vote, type: radio, label: Vote, required: true, options: [yes, no]}\n```\n",
	"4-private.md": "---\ntitle: Private\nview: [carol]\n---\n```yaml form\nform: private\nfields:\n  - {id: text, type: textfield, label: Text}\n```\n",
}

const survey = "/page/1/form/survey"

func TestFillIn(t *testing.T) {
	e, b := newAlice(t, wiki)
	p := b.get(survey)
	p.want(200, "Survey", "A few words.", "Comment")

	// Wrong: every question at fault is told twice, in the order of the page.
	bad := with(p.values(), "rating", "1", "mail", "no mail", "day", "31.1.2026")
	p = b.send(survey, bad)
	p.want(422, "There is a problem")
	summary, beside := p.errors()
	want := []string{
		"“Comment” is required", "“Why?” is required", "“E-mail” must be an e-mail address such as name@example.org",
		"“Day” must be a date such as 2026-01-31 (yyyy-MM-dd)",
	}
	testkit.Diff(t, "summary", summary, want)
	testkit.Diff(t, "beside the questions", beside, want)
	testkit.Same(t, "title", p.title(), "Error: Survey – Formulary")
	kept := p.values()
	testkit.Diff(t, "kept", kept, with(bad, "reason", "")) // a question that shows now

	// Right, with line ends of a textarea, several values and a file.
	good := with(kept, "comment", "Two\r\nlines", "reason", "because", "mail", "a@example.org", "day", "2026-01-31", "state", "open")
	good["days"] = []string{"Mon", "Tue"}
	p = b.send(survey, good, chosenFile{"paper", "a b.txt", "the paper"})
	p.want(200, "Sent", "because", "a@example.org", "Mon", "Tue", "a b.txt", "open")
	// Somebody else got the address.
	e.get("bob", p.path).wantNoHTML("data-sent", "Send another", "This is what was sent.", "<title>Sent")
	sub := e.latest("alice", 1, "survey")
	testkit.Same(t, "stored", valuesOf(t, sub)["comment"], "Two\nlines")
	if _, stored := valuesOf(t, sub)["kind"]; stored {
		t.Error("a question without an answer is stored")
	}
	file := b.get(p.link("a b.txt"))
	testkit.Same(t, "file", file.body, "the paper")
	file.wantHeader("Content-Security-Policy", "sandbox")
	wantStart(t, "file", file.header.Get("Content-Disposition"), "attachment")

	// The same again, as by a second click, and changed after the back button.
	again := b.send(survey, good, chosenFile{"paper", "a b.txt", "the paper"})
	testkit.Same(t, "sent twice: and", again.path, p.path)
	changed := b.send(survey, with(good, "comment", "other"), chosenFile{"paper", "a b.txt", "the paper"})
	if changed.want(200, "other"); changed.path == p.path {
		t.Error("changed answers are no new submission")
	}
}

func TestUpdateQuestions(t *testing.T) {
	e, b := newAlice(t, wiki)
	p := b.get(survey)
	testkit.Same(t, "the question shows before it is asked", hidden(p, "reason"), true)
	p = b.send(survey, with(p.values(), "rating", "1", "mail", "no mail", "_update", "1"))
	p.want(200)
	p.wantValues("mail", "no mail")
	testkit.Same(t, "the question shows", hidden(p, "reason"), false)
	summary, beside := p.errors()
	testkit.Same(t, "errors", len(summary)+len(beside), 0)
	testkit.Same(t, "submissions", e.count("alice", 1, "survey"), 0)
}

func hidden(p *answer, field string) bool {
	for _, n := range p.find(`[data-field="` + field + `"]`) {
		return hasAttribute(n, "hidden")
	}
	p.t.Errorf("no question %s", field)
	return false
}

// What was typed survives a session that has ended: after the sign-in the form
// is there, and is not sent. Browser tests look at other answers, and at other users.
func TestExpiredSession(t *testing.T) {
	e, b := newAlice(t, wiki)
	typed := with(b.get(survey).values(), "comment", "long\r\nwork", "rating", "1", "reason", "r")
	typed["days"] = []string{"Mon", "Tue"}
	e.Clock.Advance(13 * time.Hour)
	p := b.send(survey, typed, chosenFile{"paper", "a.txt", "x"})
	p.want(403, "Sign in", "not signed in any more", "Files are not kept")
	p = b.send(survey, p.signedInAgain())
	p.want(200, "Nothing was sent yet", "Choose the file again: a.txt was not stored.")
	p.wantValues("comment", "long\nwork", "rating", "1", "reason", "r", "days", "Mon;Tue", "_key", typed.Get("_key"))
	testkit.Same(t, "submissions", e.count("alice", 1, "survey"), 0)
	b.send(survey, p.values()).want(200, "Sent")
}

// The form of an expired session comes without credentials. Its texts come back up
// to 64 KiB and 500 values; what is larger is refused before it is read.
func TestExpiredSessionIsBounded(t *testing.T) {
	b := newEnv(t, wiki).browser()
	text := url.Values{"comment": {strings.Repeat("x", 64<<10)}}
	file := chosenFile{"paper", "a.txt", strings.Repeat("x", 20_000)}
	p := b.send(survey, text)
	p.want(403, "Sign in")
	p.wantValues("comment", text.Get("comment"))
	p = b.send(survey, url.Values{"comment": {"long work"}}, file)
	p.want(403, "Files are not kept")
	p.wantValues("comment", "long work")
	many := url.Values{"days": make([]string, maxExpiredValues)}
	b.send(survey, many).want(403)
	many.Add("days", "")
	text["comment"][0] += text["comment"][0]
	file.content = strings.Repeat("x", 200_000)
	for _, p := range []*answer{
		b.send(survey, text), b.postForm(survey, text), b.send(survey, many), b.send(survey, nil, file),
	} {
		p.want(413, "Sign in in another tab")
	}
}

// A file has one representation, which its ETag names.
func TestFileIsNotCompressed(t *testing.T) {
	_, b := newAlice(t, wiki)
	content := strings.Repeat("the same ", 100)
	p := b.send(survey, with(b.get(survey).values(), "comment", "c"), chosenFile{"paper", "a.txt", content})
	f := b.get(p.link("a.txt"), "Accept-Encoding", "gzip")
	testkit.Same(t, "content", f.body, content)
	f.wantHeader("Content-Encoding", "", "No-Gzip-Compression", "")
}

// A page that alice has filled in is not sent in the name of bob, who has
// signed in with the same browser meanwhile.
func TestPageOfSomebodyElse(t *testing.T) {
	e, b := newAlice(t, wiki)
	typed := with(b.get(survey).values(), "comment", "by alice")
	b.postForm("/login", credentials("bob", ""))
	b.send(survey, typed).want(409, "Nothing was sent")
	testkit.Same(t, "stored in the name of somebody else", e.count("bob", 1, "survey"), 0)
}

// A form that takes one submission each leads to it. The second answer of an anonymous form
// is refused, and is not lost.
func TestOneSubmission(t *testing.T) {
	e, b := newAlice(t, wiki)
	const once, ballot = "/page/2/form/once", "/page/3/form/ballot"
	own := b.fill(once, "text", "mine").submission()
	testkit.Same(t, "the form again: at", b.get(once).path, own)
	b.get("/page/2").want(200, "You have filled in this form")

	secondTab := with(b.get(ballot).values(), "vote", "no", "_key", "another")
	b.fill(ballot, "vote", "yes").want(200, "Thank you", "without your name")
	p := b.send(ballot, secondTab)
	p.want(422, "There is a problem", "This form takes one submission from each person")
	p.wantValues("vote", "no")
	for _, path := range []string{ballot, "/page/3"} {
		b.get(path).want(200, "You have sent your answers")
	}
	testkit.Same(t, "an anonymous submission has a name", e.count("alice", 3, "ballot"), 0)
}

// Editors delete a submission as they have seen it. Conflicts of changes are in TestConflictShowsWhatSaveReplaces.
func TestDelete(t *testing.T) {
	e, alice := newAlice(t, wiki)
	carol := e.signedIn("carol")
	path := alice.fill("/page/2/form/once", "text", "first").submission()
	alice.get(path+"/delete").want(403, "Only editors")
	confirm := carol.get(path + "/delete").values()
	alice.fill(path+"/change", "text", "late")
	carol.postForm(path+"/delete", confirm).want(409, "It was not deleted", "late")
	carol.postForm(path+"/delete", carol.get(path+"/delete").values()).want(200)
	alice.get(path).want(404)
}

// A change touches what was changed and nothing else: not the files, not values
// that the form would no longer take.
func TestChangeKeepsTheRest(t *testing.T) {
	e, b := newAlice(t, wiki)
	p := b.send(survey, with(b.get(survey).values(), "comment", "c", "rating", "3"), chosenFile{"paper", "a.txt", "x"})
	path := p.submission() + "/change"
	e.Write(t, "1-survey.md", strings.ReplaceAll(wiki["1-survey.md"], "options: [1, 2, 3]", "options: [1, 2]"))
	b.get(path).wantValues("rating", "3")
	b.fill(path, "comment", "new").want(200, "new", "a.txt", "3")
}

// A page that a user may not see is like a page that is not there.
func TestRights(t *testing.T) {
	e, alice := newAlice(t, wiki)
	p := e.signedIn("carol").fill("/page/4/form/private", "text", "x")
	p.want(200, "Sent")
	for _, path := range []string{
		"/page/4", "/page/4/form/private", p.path, "/page/4/form/private/results",
		"/page/9", "/page/x", "/page/1/form/nope", survey + "/submission/99",
	} {
		alice.get(path).want(404)
	}
	home := alice.get("/?q=sur")
	home.want(200, "Survey")
	home.wantNoHTML("Once")
}

// Pages have a strict policy, and are not stored. TestHostileTexts finds no script or style in them.
func TestHeaders(t *testing.T) {
	_, b := newAlice(t, wiki)
	for _, path := range []string{"/", "/page/1", survey, "/login", "/nothing", "/author", survey + "/results", "/page/1/form/nope"} {
		p := b.get(path)
		policy := p.header.Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: policy %q", path, policy)
		}
		p.wantHeader("Referrer-Policy", "same-origin", "Cache-Control", "no-store")
	}
}

// The pages take no Basic credentials. TestOtherSites sends what other sites would.
func TestBasicCredentials(t *testing.T) {
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("alice:alice-secret"))
	testkit.Same(t, "they lead", newEnv(t, wiki).browser().get("/", "Authorization", basic).path, "/login?next=%2F")
}
