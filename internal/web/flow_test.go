package web

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

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
	if !slices.Equal(summary, want) || !slices.Equal(beside, want) || !strings.HasPrefix(p.title(), "Error: ") {
		t.Errorf("summary %q\nbeside %q\ntitle %q", summary, beside, p.title())
	}
	kept := p.values()
	for name, value := range bad {
		testkit.Same(t, name, kept.Get(name), value[0])
	}

	// Right, with line ends of a textarea, several values and a file.
	good := with(kept, "comment", "Two\r\nlines", "reason", "because", "mail", "a@example.org", "day", "2026-01-31", "state", "open")
	good["days"] = []string{"Mon", "Tue"}
	p = b.send(survey, good, chosenFile{"paper", "a b.txt", "the paper"})
	p.want(200, "Sent", "because", "a@example.org", "Mon", "Tue", "a b.txt", "open")
	if !strings.HasSuffix(p.path, "?sent") {
		t.Errorf("at %s", p.path)
	}
	e.get("bob", p.path).wantNoHTML("data-sent", "Send another", "This is what was sent.", "<title>Sent") // he got the address
	sub := e.latest("alice", 1, "survey")
	testkit.Same(t, "stored", valuesOf(t, sub)["comment"], "Two\nlines")
	if _, stored := valuesOf(t, sub)["kind"]; stored {
		t.Error("a question without an answer is stored")
	}
	file := b.get(p.link("a b.txt"))
	if file.body != "the paper" || !strings.HasPrefix(file.header.Get("Content-Disposition"), "attachment") || file.header.Get("Content-Security-Policy") != "sandbox" {
		t.Errorf("file: %q %v", file.body, file.header)
	}

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
	if hidden(p, "reason") || p.values().Get("mail") != "no mail" {
		t.Errorf("after an update: hidden %t, values %v", hidden(p, "reason"), p.values())
	}
	if summary, _ := p.errors(); summary != nil {
		t.Errorf("an update complains: %q", summary)
	}
	testkit.Same(t, "an update stored submissions", e.count("alice", 1, "survey"), 0)
}

func hidden(p *answer, field string) bool {
	for _, n := range p.find(`[data-field="` + field + `"]`) {
		return hasAttribute(n, "hidden")
	}
	p.t.Errorf("no question %s", field)
	return false
}

// What was typed survives a session that has ended: after the sign-in the form
// is there, and is not sent. Somebody else gets an empty one.
func TestExpiredSession(t *testing.T) {
	e := newEnv(t, wiki)
	for _, tt := range []struct {
		user string
		kept bool
	}{{"alice", true}, {"bob", false}} {
		b := e.signedIn("alice")
		typed := with(b.get(survey).values(), "comment", "long\r\nwork", "rating", "1", "reason", "r")
		typed["days"] = []string{"Mon", "Tue"}
		e.Clock.Advance(13 * time.Hour)
		p := b.send(survey, typed, chosenFile{"paper", "a.txt", "x"})
		p.want(403, "Sign in", "not signed in any more", "Files are not kept")
		p = b.send(survey, with(p.values(), "_username", tt.user, "_password", "wrong"))
		p.want(422, "There is a problem")
		p = b.send(survey, with(p.values(), "_username", tt.user, "_password", tt.user+"-secret"))
		got := p.values()
		if !tt.kept {
			if p.want(200); got.Get("comment") != "" {
				t.Errorf("%s sees what alice has typed", tt.user)
			}
			continue
		}
		p.want(200, "Nothing was sent yet", "Choose the file again: a.txt was not stored.")
		for _, name := range []string{"comment", "rating", "reason", "_key"} {
			if want := strings.ReplaceAll(typed.Get(name), "\r", ""); got.Get(name) != want {
				t.Errorf("%s was %q and is %q", name, want, got.Get(name))
			}
		}
		if !slices.Equal(got["days"], typed["days"]) {
			t.Errorf("days are %q", got["days"])
		}
		if n := e.count("alice", 1, "survey"); n != 0 {
			t.Fatal("the form was sent by itself")
		}
		b.send(survey, got).want(200, "Sent")
	}
}

// The form of an expired session comes without credentials. Its texts come back up
// to 64 KiB and 500 values; what is larger is refused before it is read.
func TestExpiredSessionIsBounded(t *testing.T) {
	e := newEnv(t, wiki)
	b := e.browser()
	text := strings.Repeat("x", 64<<10)
	file := chosenFile{"paper", "a.txt", strings.Repeat("x", 20_000)}
	p := b.send(survey, url.Values{"comment": {text}})
	if p.want(403, "Sign in"); p.values().Get("comment") != text {
		t.Errorf("%d bytes are left of %d", len(p.values().Get("comment")), len(text))
	}
	p = b.send(survey, url.Values{"comment": {"long work"}}, file)
	if p.want(403, "Files are not kept"); p.values().Get("comment") != "long work" {
		t.Errorf("values %v", p.values())
	}
	many := url.Values{"days": make([]string, maxExpiredValues)}
	b.send(survey, many).want(403)
	many.Add("days", "")
	file.content = strings.Repeat("x", 200_000)
	for name, p := range map[string]*answer{
		"long text":        b.send(survey, url.Values{"comment": {text + text}}),
		"long text, query": b.postForm(survey, url.Values{"comment": {text + text}}),
		"many values":      b.send(survey, many),
		"file":             b.send(survey, url.Values{"comment": {"x"}}, file),
	} {
		if p.status != 413 || !strings.Contains(p.text(), "Sign in in another tab") {
			t.Errorf("%s: status %d: %s", name, p.status, p.text())
		}
	}
}

// What is not the form of a browser is told as such, and stores nothing.
func TestUnreadableForm(t *testing.T) {
	e, b := newAlice(t, wiki)
	b.postForm(survey, with(b.get(survey).values(), "comment", "c")).want(400, "The form can't be read")
	testkit.Same(t, "a form that can't be read is stored", e.count("alice", 1, "survey"), 0)
}

// A file has one representation, which its ETag names.
func TestFileIsNotCompressed(t *testing.T) {
	_, b := newAlice(t, wiki)
	content := strings.Repeat("the same ", 100)
	p := b.send(survey, with(b.get(survey).values(), "comment", "c"), chosenFile{"paper", "a.txt", content})
	if f := b.get(p.link("a.txt"), "Accept-Encoding", "gzip"); f.body != content || f.header.Get("Content-Encoding") != "" || f.header.Get("No-Gzip-Compression") != "" {
		t.Errorf("%d bytes with %v", len(f.body), f.header)
	}
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

func TestOneSubmission(t *testing.T) {
	e, b := newAlice(t, wiki)
	const form = "/page/2/form/once"
	first := b.get(form).values()
	p := b.send(form, with(first, "text", "mine"))
	p.want(200, "Sent", "mine")
	own := p.submission()
	if p := b.get(form); p.path != own {
		t.Errorf("the form again: at %s, want %s", p.path, own)
	}
	b.get("/page/2").want(200, "You have filled in this form")
	p = b.send(form, with(first, "text", "second", "_key", "another"))
	p.want(422, "This form takes one submission from each person")

	const ballot = "/page/3/form/ballot"
	p = b.get(ballot)
	p.want(200, "This form is anonymous")
	secondTab := with(p.values(), "vote", "no", "_key", "another")
	p = b.send(ballot, with(p.values(), "vote", "yes"))
	p.want(200, "Thank you", "without your name")
	p = b.send(ballot, secondTab)
	p.want(422, "There is a problem", "This form takes one submission from each person")
	if p.values().Get("vote") != "no" {
		t.Errorf("what was chosen in a second tab is gone: %v", p.values())
	}
	b.get(ballot).want(200, "You have sent your answers")
	b.get("/page/3").want(200, "You have sent your answers")
	testkit.Same(t, "an anonymous submission has a name", e.count("alice", 3, "ballot"), 0)
}

func TestChangeAndDelete(t *testing.T) {
	e := newEnv(t, wiki)
	alice, carol := e.signedIn("alice"), e.signedIn("carol")
	const form = "/page/2/form/once"
	p := alice.fill(form, "text", "first")
	path := p.submission()
	if p.link("Delete") != "" || p.link("Change") != path+"/change" {
		t.Errorf("links of the sender: %q %q", p.link("Delete"), p.link("Change"))
	}
	alice.get(path+"/delete").want(403, "Only editors")

	// Two people change it: the second sees both versions.
	mine, theirs := alice.get(path+"/change"), carol.get(path+"/change")
	alice.send(path+"/change", with(mine.values(), "text", "alice's")).want(200, "The changes are saved", "alice's")
	p = carol.send(path+"/change", with(theirs.values(), "text", "carol's"))
	p.want(409, "The submission or its form has changed", "alice's", "carol's")
	carol.send(path+"/change", p.values()).want(200, "carol's")

	p = carol.fill(path+"/change", "text", "")
	p.want(422, "“Text” is required")

	confirm := carol.get(path + "/delete")
	alice.fill(path+"/change", "text", "late")
	carol.postForm(path+"/delete", confirm.values()).want(409, "It was not deleted", "late")
	p = carol.postForm(path+"/delete", carol.get(path+"/delete").values())
	if p.want(200); !strings.HasPrefix(p.path, form+"/results") {
		t.Errorf("after the delete: at %s", p.path)
	}
	alice.get(path).want(404)
}

// A change touches what was changed and nothing else: not the files, not values
// that the form would no longer take.
func TestChangeKeepsTheRest(t *testing.T) {
	e, b := newAlice(t, wiki)
	p := b.send(survey, with(b.get(survey).values(), "comment", "c", "kind", "a", "rating", "3"), chosenFile{"paper", "a.txt", "x"})
	path := p.submission()
	e.Write(t, "1-survey.md", strings.ReplaceAll(wiki["1-survey.md"], "options: [1, 2, 3]", "options: [1, 2]"))
	p = b.get(path + "/change")
	if p.values().Get("rating") != "3" {
		t.Errorf("what is stored is not shown: %v", p.values())
	}
	p = b.send(path+"/change", with(p.values(), "comment", "new"))
	p.want(200, "new", "a.txt", "3")
	p = b.fill(path+"/change", "_remove", "paper/a.txt")
	if p.want(200); p.link("a.txt") != "" {
		t.Error("the file is still there")
	}
}

func TestRights(t *testing.T) {
	e := newEnv(t, wiki)
	alice, carol := e.signedIn("alice"), e.signedIn("carol")
	p := carol.fill("/page/4/form/private", "text", "x")
	p.want(200, "Sent")
	for _, path := range []string{"/page/4", "/page/4/form/private", p.path, "/page/4/form/private/results", "/page/9", "/page/x", "/page/1/form/nope", survey + "/submission/99"} {
		alice.get(path).want(404)
	}
	home := alice.get("/")
	if home.want(200, "Survey", "Once"); strings.Contains(home.text(), "Private") {
		t.Error("the home page names a page that alice may not view")
	}
	if p := alice.get("/?q=sur"); strings.Contains(p.text(), "Once") || !strings.Contains(p.text(), "Survey") {
		t.Errorf("search: %s", p.text())
	}
	alice.fill(survey, "comment", "c")
	alice.get("/").want(200, "My latest submissions", "My submission: Survey")
}

func TestPageWithText(t *testing.T) {
	e := newEnv(t, wiki)
	text := e.signedIn("alice").get("/page/1").text()
	before, form, after := strings.Index(text, "Before the form."), strings.Index(text, "Comment"), strings.Index(text, "After the form.")
	if before < 0 || form < before || after < form || strings.Count(text, "Survey") != 1 {
		t.Errorf("the form is not in its place, or the title stands twice: %s", text)
	}
}

func TestHeaders(t *testing.T) {
	_, b := newAlice(t, wiki)
	for _, path := range []string{"/", "/page/1", survey, "/login", "/nothing", "/author", survey + "/results", "/page/1/form/nope"} {
		p := b.get(path)
		policy := p.header.Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: policy %q", path, policy)
		}
		testkit.Same(t, path, p.header.Get("Referrer-Policy"), "same-origin")
		testkit.Same(t, path, p.header.Get("Cache-Control"), "no-store")
		for n := range p.root.Descendants() {
			if hasAttribute(n, "style") || n.Data == "style" || slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return strings.HasPrefix(a.Key, "on") }) {
				t.Errorf("%s: <%s> has style or script in it", path, n.Data)
			}
		}
	}
}

// The pages take no Basic credentials, and nothing from another site.
func TestForeignRequests(t *testing.T) {
	e := newEnv(t, wiki)
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("alice:alice-secret"))
	if p := e.browser().get("/", "Authorization", basic); !strings.HasPrefix(p.path, "/login") {
		t.Errorf("Basic credentials open %s", p.path)
	}
	b := e.signedIn("alice")
	for _, path := range []string{"/login", "/logout", survey, "/author"} {
		b.postForm(path, nil, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site").want(403)
	}
	if p := b.get("/"); p.path != "/" {
		t.Error("signed out by another site")
	}
}
