package web

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/testkit"
)

// rows are the texts of the rows of a page.
func (a *answer) rows() (texts []string) {
	for _, row := range a.mine() {
		texts = append(texts, row[1])
	}
	return texts
}

// Editors see how many submissions wait for them, with a link to these. All see what
// became of their own.
func TestHomeTellsWhatWaits(t *testing.T) {
	const fields = "fields:\n  - {id: a, type: textfield}\n  - {id: state, type: status, label: State, by: editors, "
	e := newEnv(t, map[string]string{
		"1.md": "---\ntitle: Leave\nedit: [carol]\n---\n```form\nform: f\nlimit: 900\ntitle: Leave\n" + fields +
			"options: [New, {value: ok, label: Granted}], default: New}\n```\n",
		"2.md": "---\ntitle: Travel\nedit: [carol]\n---\n```form\nform: f\ntitle: Trip\nlimit: 1\n" + fields + "options: [ok]}\n```\n",
	}, func(o *envOptions) { o.Version = "0.1.0" })
	e.submit("alice", 1, "f", "a", "first")
	e.submit("alice", 1, "f", "a", "second")
	e.submit("bob", 2, "f", "a", "x")
	wants := func(user string, want ...string) *answer {
		t.Helper()
		home := e.get(user, "/")
		testkit.Diff(t, user, home.rows(), want)
		return home
	}
	wants("carol", "Leave 898 of 900 places left Open 2 submissions 2 waiting in “Leave”", "Trip Travel Full 1 submission 1 waiting in “Trip”")
	carol := e.signedIn("carol")
	carol.fill("/page/1/form/f/submission/1/change", "state", "ok")
	home := wants("carol", "Leave 898 of 900 places left Open 2 submissions 1 waiting in “Leave”", "Trip Travel Full 1 submission 1 waiting in “Trip”")
	list := carol.get(home.link("1 waiting in “Leave”"))
	list.want(200, "State is one of New, no answer")
	list.wantHTML("/submission/2?")
	list.wantNoHTML("/submission/1?")
	carol.get(home.link("1 waiting in “Trip”")).wantHTML("/submission/3?")
	carol.get(home.link("1 submission")).want(200, "Trip Results")
	wants("alice", "Leave 898 of 900 places left",
		"My submission: Leave second State New 15 Nov 2025, 12:03 UTC", "My submission: Leave first State Granted 15 Nov 2025, 12:03 UTC")
	for range 200 {
		e.submit("bob", 1, "f")
	}
	e.get("carol", "/").wantHTML(`<p class="version"><bdi>Formulary 0.1.0</bdi></p>`)
	e.get("alice", "/").wantNoHTML("0.1.0") // she may edit no page
	wants("carol", "Leave 698 of 900 places left Open 99+ submissions 201 waiting in “Leave”", "Trip Travel Full 1 submission 1 waiting in “Trip”")
	page := e.get("carol", "/page/1/form/f")
	page.want(200, "201 waiting in “Leave”")
	e.get("carol", page.link("201 waiting in “Leave”")).want(200, "of 201")
	e.get("alice", "/page/1/form/f").wantNoHTML("waiting")
}

// A form to fill in takes a submission of the caller now. Editors see all forms of their pages, and the
// state of each. A list asks the store once.
func TestHomeLists(t *testing.T) {
	form := func(title, keys string) string {
		return "```form\nform: " + title + "\ntitle: " + title + "\n" + keys + "fields: [{id: a, type: textfield}]\n```\n"
	}
	e := newEnv(t, map[string]string{
		"1.md": "---\ntitle: Z\nedit: [carol]\n---\n" + form("beta", "") + form("Alpha", "closes: 2025-11-15\n") + form("over", "closes: 2025-11-14\n") +
			form("early", "opens: 2025-11-16\n") + form("full", "limit: 1\n") + form("once", "oneSubmission: true\n") +
			form("ballot", "oneSubmission: true\nanonymous: true\n"),
		"2.md": "---\ntitle: Y\nedit: [dave]\n---\n" + form("Gamma", ""),
	})
	e.submit("bob", 1, "full", "a", "x")
	e.submit("alice", 1, "once", "a", "x")
	e.submit("alice", 1, "ballot", "a", "x")
	for range 99 {
		e.submit("bob", 1, "beta", "a", "x")
	}
	var asked []string
	e.Store.FailWith(func(_ context.Context, operation string) error { asked = append(asked, operation); return nil })
	wants := func(user, path, headings string, queries int, want ...string) {
		t.Helper()
		e.get(user, path) // may sign in, which leads home, too
		asked = nil
		home := e.get(user, path)
		rows := slices.DeleteFunc(home.rows(), func(row string) bool { return strings.HasPrefix(row, "My submission:") })
		testkit.Diff(t, user+path, strings.Join(rows, "\n"), strings.Join(want, "\n"))
		testkit.Same(t, user+path, strings.Join(textsOf(home.find("h2")), ", "), headings)
		asked = slices.DeleteFunc(asked, func(operation string) bool { return operation != "tallies" })
		testkit.Same(t, "queries for "+user+path, len(asked), queries)
	}
	wants("alice", "/", "To fill in, My latest submissions", 1, "Alpha Z Closes on 15 Nov 2025", "beta Z", "Gamma Y")
	edited := []string{
		"Alpha Z Closes on 15 Nov 2025 0 submissions", "ballot Z Open 1 submission", "beta Z Open 99 submissions",
		"early Z Not open yet 0 submissions", "full Z Full 1 submission", "once Z Open 1 submission", "over Z Closed 0 submissions",
	}
	wants("carol", "/", "To fill in, Forms that I edit", 2, append([]string{"Gamma Y"}, edited...)...)
	wants("carol", "/?q=z", "Forms that I edit", 1, edited...)
	wants("carol", "/?q=gamma", "To fill in", 1, "Gamma Y")
	wants("alice", "/?q=over", "My latest submissions", 0)
	e.get("alice", "/?q=over").want(200, "No form that you can fill in or edit has “over” in its name or in the name of its page. Show all")
	e.submit("bob", 1, "beta", "a", "x")
	e.get("carol", "/").want(200, "beta Z Open 99+ submissions")
	e.Clock.Set(began.AddDate(0, 0, 2))
	e.edit(map[string]string{"2.md": "---\ntitle: Y\n---\n", "1.md": "---\ntitle: Z\nedit: [carol]\n---\n" + form("over", "closes: 2025-11-14\n")})
	const nothing = "You have nothing to fill in now. Forms appear here when they open."
	e.signedIn("alice").get("/").want(200, nothing)
	e.signedIn("carol").get("/").wantNoHTML(nothing)
}

// The first forms by title are listed. Among these, forms with waiting submissions come first. Forms that take nothing leave
// room for others.
func TestHomeShowsTheFirstForms(t *testing.T) {
	text := func(i int, keys string) string {
		return fmt.Sprintf("```form\nform: f%03d\n%sfields: [{id: a, type: status, by: editors, options: [ok]}]\n```\n", i, keys)
	}
	mine, others := "---\ntitle: Mine\nedit: [alice]\n---\n", "---\ntitle: Others\nedit: [carol]\n---\n"
	for i := range maxHomeForms + 1 {
		mine += text(i, "")
	}
	for i := range 2*maxHomeForms + 1 {
		keys := ""
		if i < maxHomeForms {
			keys = "oneSubmission: true\n"
		}
		others += text(i, keys)
	}
	e := newEnv(t, map[string]string{"1.md": mine, "2.md": others})
	for i := range maxHomeForms {
		e.submit("alice", 2, fmt.Sprintf("f%03d", i))
	}
	for _, i := range []int{3, maxHomeForms - 1, maxHomeForms} {
		e.submit("bob", 1, fmt.Sprintf("f%03d", i))
	}
	home := e.get("alice", "/")
	rows := home.rows()
	testkit.Same(t, "rows", len(rows), 2*maxHomeForms+maxHomeLatest)
	testkit.Same(t, "to fill in", rows[0]+", "+rows[maxHomeForms-1], "f050 Others, f099 Others")
	testkit.Diff(t, "edited", rows[maxHomeForms:maxHomeForms+3],
		[]string{"f003 Mine Open 1 submission 1 waiting in “f003”", "f049 Mine Open 1 submission 1 waiting in “f049”", "f000 Mine Open 0 submissions"})
	testkit.Same(t, "notes", strings.Count(home.text(), "These are the first 50 forms by title. Search to find the others."), 2)
}

// A number that is not final has a plus, and a form that nobody could look at may have some.
func TestWaitingLink(t *testing.T) {
	access := &service.Access{Form: &forms.Form{PageID: 1, ID: "f"}}
	c := &call{Lang: english}
	for _, tt := range []struct {
		n      service.Waiting
		number string
		leads  bool
	}{
		{service.Waiting{Count: 41, Exact: true}, "41", true},
		{service.Waiting{Count: 41}, "41+", true},
		{service.Waiting{}, "", true},
		{service.Waiting{Exact: true}, "", false},
	} {
		if got := c.newWaitingLink(access, tt.n); got.Number != tt.number || (got.Path != "") != tt.leads {
			t.Errorf("%+v: %q leads to %q", tt.n, got.Number, got.Path)
		}
	}
}
