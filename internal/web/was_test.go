package web

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

const commentForm = `form: f
fields:
  - {id: comment, type: textbox, label: Your words}
  - {id: days, type: checkbox, label: Days, options: [monday, tuesday], default: [monday]}
  - {id: papers, type: file, label: Papers}
`

var remarksForm = strings.NewReplacer("id: comment", "id: remarks, was: comment",
	"monday, tuesday", "{value: mo, was: monday}, tuesday", "[monday]", "[mo]", "id: papers", "id: files, was: papers").Replace(commentForm)

// TestRenamedWhileOpen: a form that was open while its page was changed can be sent, and so
// can a link that fills in the old names.
func TestRenamedWhileOpen(t *testing.T) {
	e, b := newAlice(t, page1("edit: [carol]\n", commentForm))
	typed := with(b.get(leavePath).values(), "comment", "Mine")
	delete(typed, "days") // no box is ticked
	e.edit(page1("edit: [carol]\n", remarksForm))
	sent := b.send(leavePath, typed, chosenFile{"papers", "a.txt", "text"}, chosenFile{"papers", "b.txt", "text"})
	sent.want(200)
	testkit.Diff(t, "stored", e.stored("f"), map[string]string{"remarks": "Mine", "days": "", "files": "a.txt;b.txt"})
	// The same for a change, with a file that goes.
	change := sent.submission() + "/change"
	open := with(b.get(change).values(), "remarks", "Other", "days", "tuesday", "_remove", "files/a.txt")
	e.Write(t, "1.md", page1("edit: [carol]\n", strings.NewReplacer("remarks, was: comment", "words, was: [remarks, comment]",
		"files, was: papers", "pages, was: [files, papers]").Replace(remarksForm))["1.md"])
	conflict := b.send(change, open) // the tag covers the names
	conflict.want(409)
	b.send(change, conflict.values()).want(200)
	e.wantStored("f", "words", "Other", "days", "tuesday", "pages", "b.txt")
	filled := b.get(leavePath + "?comment=Filled&days=monday&days=tuesday")
	filled.wantValues("words", "Filled", "days", "mo;tuesday")
	filled.wantHTML(`data-was="{&#34;ids&#34;:[&#34;remarks&#34;,&#34;comment&#34;],&#34;values&#34;:{}}"`,
		`data-was="{&#34;ids&#34;:[],&#34;values&#34;:{&#34;monday&#34;:&#34;mo&#34;}}"`)
	e.get("carol", leavePath+"/results?columns=comment&view=table").want(200, "Your words", "Other")
	e.get("carol", leavePath+"/results?by=days").want(200)
}

// TestTableOpenDuringARename: what the table of before sends means the options of now, and an old filter is named by them.
func TestTableOpenDuringARename(t *testing.T) {
	e, alice := newRequests(t, enginetest.Default(), 1)
	sent := alice.get(feedbackResults).button("set", "state=ok", "1")
	e.Write(t, "1.md", strings.NewReplacer("{value: ok, label: Granted}", "{value: yes, label: Agreed, was: [ok, fine]}",
		"id: state", "id: result, was: state", "field: state", "field: result").Replace(requestsPage["1.md"]))
	alice.postForm(feedbackResults, sent).want(200, "Somebody changed it after you opened this list.") // the tag covers the ids of fields
	sent.Set(rowsControl, alice.get(feedbackResults).button("set", "", "1").Get(rowsControl))
	alice.postForm(feedbackResults, sent).want(200, "State: Agreed (1). Undo")
	alice.get(feedbackResults+"?filter[state][one-of]=fine;new").want(200, "State is one of Agreed, new", "n1")
	alice.get(feedbackResults+"?filter[state]=ok").want(200, "State is Agreed", "n1")
}

// TestSentAgainAfterARename: what was stored before the page was changed, but not confirmed, is stored once.
func TestSentAgainAfterARename(t *testing.T) {
	e, b := newAlice(t, page1("edit: [carol]\n", commentForm))
	typed := with(b.get(leavePath).values(), "comment", "Two\r\nlines", "days", "monday")
	first := b.send(leavePath, typed)
	first.want(200)
	e.edit(page1("edit: [carol]\n", remarksForm))
	testkit.Same(t, "again", b.send(leavePath, typed).submission(), first.submission())
}

// TestLostForm: editors of a form without submissions are told of those under an id that the
// page no longer has.
func TestLostForm(t *testing.T) {
	e := newEnv(t, page1("edit: [carol]\n", commentForm))
	for range 2 {
		e.submit("alice", 1, "f", "comment", "x")
	}
	e.edit(page1("edit: [carol]\n", strings.Replace(commentForm, "form: f", "form: g", 1)))
	const told = "2 submissions are stored under f, which the page no longer has: keep form: f, and change title."
	for _, path := range []string{"/page/1/form/g", "/page/1/form/g/results"} {
		e.get("carol", path).want(200, told)
		e.get("alice", path).wantNoHTML("stored under")
	}
	e.submit("alice", 1, "g", "comment", "x")
	e.get("carol", "/page/1/form/g").wantNoHTML("stored under")
	both := page1("edit: [carol]\n", strings.Replace(commentForm, "form: f", "form: h", 1))["1.md"] + "\n```form\n" + commentForm + "```\n"
	e.Write(t, "1.md", both) // f is back, g is not
	text := e.get("carol", "/page/1/form/h").text()
	if !strings.Contains(text, "1 submission is stored under g,") || strings.Contains(text, "under f,") {
		t.Errorf("got %s", text)
	}
	for _, broken := range []string{"form: g\nfields: {}", "form: ["} { // a broken block is no missing form
		e.Write(t, "1.md", both+"\n```form\n"+broken+"\n```\n")
		for _, path := range []string{"/page/1/form/h", "/author?page=1&form=h"} {
			e.get("carol", path).wantNoHTML("no longer has")
		}
	}
}
