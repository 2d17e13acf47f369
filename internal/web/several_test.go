package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

const requestsForm = `form: feedback
closes: 2025-11-14
lockIf: {field: state, equals: ok}
fields:
  - {id: name, type: textfield, label: Name}
  - {id: why, type: textfield, label: Why not?, required: true, showIf: {all: [{field: state, equals: refused}, {field: name, equals: n1}]}}
  - {id: level, type: radio, label: Level, by: editors, options: [low, high], showIf: {field: name, equals: n2}}
  - {id: tags, type: checkbox, label: Tags, by: editors, options: [a, b]}
  - {id: state, type: status, label: State, by: editors, options: [new, {value: ok, label: Granted}, refused]}
`

var requestsPage = page1("view: [alice, bob]\nedit: [alice]\n", requestsForm)

// newRequests has so many submissions of bob, who has sent them before the form has closed.
func newRequests(t testing.TB, on enginetest.Engine, count int) (*env, *browser) {
	t.Helper()
	e := newEnvOn(t, on, requestsPage)
	e.Clock.Set(began.AddDate(0, 0, -2))
	for i := range count {
		e.submit("bob", 1, "feedback", "name", fmt.Sprint("n", i+1))
	}
	e.Clock.Set(began)
	return e, e.signedIn("alice")
}

// button returns what a button that changes several submissions sends, with some rows ticked.
func (a *answer) button(do, answer, ticked string) url.Values {
	a.t.Helper()
	found := a.find(`button[value="` + do + `"]`)
	if len(found) == 0 {
		a.t.Fatalf("%s: no button %q: %s", a.path, do, a.text())
	}
	form := found[0]
	for form.Data != "form" {
		form = form.Parent
	}
	values := url.Values{doControl: {do}, answerControl: {answer}, "id": strings.Fields(ticked)}
	for _, n := range find(form, `[type="hidden"]`) {
		values.Add(attribute(n, "name"), attribute(n, "value"))
	}
	return values
}

// states are the stored states by id.
func (e *env) states() string {
	e.t.Helper()
	var list []string
	for _, sub := range e.own("bob", 1, "feedback") {
		list = append(list, strings.TrimSuffix(fmt.Sprint(sub.ID, "=", valuesOf(e.t, sub)["state"]), "="))
	}
	return strings.Join(list, " ")
}

// TestSeveral has each submission be written by itself: what can't be done is told, and undoes
// nothing. The form has closed, and lockIf holds: neither binds editors.
func TestSeveral(t *testing.T) {
	change := func(id int) func(*env, *browser, url.Values) {
		return func(_ *env, b *browser, _ url.Values) {
			b.fill(fmt.Sprintf("/page/1/form/feedback/submission/%d/change", id), "name", "other").want(200)
		}
	}
	for _, c := range []struct {
		name, do, answer, ticked string
		change                   func(e *env, b *browser, sent url.Values)
		status                   int
		says, states             string
	}{
		{"done", "set", "state=ok", "1 3", nil, 200, "State: Granted (2). Undo", "1=ok 2 3=ok"},
		{"all on the page", "set-all", "state=ok", "", nil, 200, "State: Granted (3). Undo", "1=ok 2=ok 3=ok"},
		{"the question", "delete", "", "1 2", nil, 200, "Delete 2 submissions?", "1 2 3"},
		{"the question about all", "delete-all", "", "1", nil, 200, "Delete 3 submissions?", "1 2 3"},
		{"gone", "set", "state=ok", "1 2", func(_ *env, b *browser, _ url.Values) {
			remove := b.get("/page/1/form/feedback/submission/1/delete")
			b.postForm(remove.action(), remove.values()).want(200)
		}, 200, "State: Granted (1). Undo 1 skipped: Submission 1 · There is no such submission.", "2=ok 3"},
		{"changed meanwhile", "set", "state=ok", "1 2", change(2), 200, "State: Granted (1). Undo 1 skipped: Submission 2 · Somebody changed it after you opened this list.", "1=ok 2 3"},
		{"refused by the form", "set", "state=refused", "1 2", nil, 200, "State: refused (1). Undo 1 skipped: Submission 1 · “Why not?” is required.", "1 2=refused 3"},
		{"a question that a row does not show", "set", "level=high", "1 2", nil, 200, "Level: high (1). Undo 1 skipped: Submission 1 · It does not show this question.", "1 2 3"},
		{"a tag that was never shown", "set", "state=ok", "1 4 x", nil, 200, "State: Granted (1). Undo 2 skipped: Submission 4 · There is no such submission.", "1=ok 2 3"},
		{"none ticked", "set", "state=ok", "", nil, 422, "Tick the submissions first. Nothing was changed.", "1 2 3"},
		{"no answer", "set", "", "1", nil, 422, "Choose an answer first. Nothing was changed.", "1 2 3"},
		{"no such option", "set", "state=maybe", "1", nil, 422, "Choose an answer first.", "1 2 3"},
		{"not by editors", "set", "name=x", "1", nil, 422, "Choose an answer first.", "1 2 3"},
		{"several answers", "set", "tags=a", "1", nil, 422, "Choose an answer first.", "1 2 3"},
		{"201 ticked", "set", "state=ok", "", func(_ *env, _ *browser, sent url.Values) {
			for i := range 201 {
				sent.Add("id", fmt.Sprint(i+1))
			}
		}, 422, "Choose at most 200 submissions at a time. Nothing was changed.", "1 2 3"},
		{"201 on the page", "set-all", "state=ok", "", func(_ *env, _ *browser, sent url.Values) {
			for i := range 201 {
				sent[rowsControl][0] += fmt.Sprintf("&%d=x", i+1)
			}
		}, 422, "Choose at most 200 submissions at a time. Nothing was changed.", "1 2 3"},
		{"somebody else", "set", "state=ok", "1", func(_ *env, _ *browser, sent url.Values) {
			sent.Set(forControl, "x")
		}, 409, "Somebody else has signed in", "1 2 3"},
		{"no editor any more", "set", "state=ok", "1", func(e *env, _ *browser, _ url.Values) {
			e.Write(t, "1.md", strings.Replace(requestsPage["1.md"], "edit: [alice]", "edit: [bob]", 1))
		}, 403, "Only editors of this page", "1 2 3"},
		{"no editor after the first", "set", "state=ok", "1 2 3", func(e *env, _ *browser, _ url.Values) {
			e.Store.FailWith(func(_ context.Context, operation string) error {
				if operation == "update" {
					e.Write(t, "1.md", strings.Replace(requestsPage["1.md"], "edit: [alice]", "edit: [bob]", 1))
				}
				return nil
			})
		}, 200, "State: Granted (1). 2 skipped: Submission 2 · Only editors of this page", "1=ok 2 3"},
		{"a fault of the store after the first", "set", "state=ok", "1 2 3", func(e *env, _ *browser, _ url.Values) {
			updates := 0
			e.Store.FailWith(func(_ context.Context, operation string) error {
				if operation == "update" {
					updates++
				}
				if updates == 2 {
					return errors.New("a fault")
				}
				return nil
			})
		}, 503, "State: Granted (1). Then it failed. The others are as they were.", "1=ok 2 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, b := newRequests(t, enginetest.Default(), 3)
			sent := b.get(feedbackResults).button(c.do, c.answer, c.ticked)
			if c.change != nil {
				c.change(e, b, sent)
			}
			after := b.postForm(feedbackResults, sent)
			e.Store.FailWith(func(context.Context, string) error { return nil })
			after.want(c.status, c.says)
			testkit.Same(t, "stored", e.states(), c.states)
		})
	}
}

// TestSeveralAndBack has decisions about a filtered list taken, undone and taken again, and its
// rows deleted, on both engines.
func TestSeveralAndBack(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, on enginetest.Engine) {
		e, b := newRequests(t, on, 4)
		const open = feedbackResults + "?filter%5Bstate%5D%5Bnot-equals%5D=ok"
		press := func(page *answer, do, answer, ticked, says, states string) *answer {
			t.Helper()
			after := b.postForm(page.action(), page.button(do, answer, ticked))
			after.want(200, says)
			testkit.Same(t, "stored", e.states(), states)
			return after
		}
		press(b.get(open), "set", "state=new", "3", "State: new (1).", "1 2 3=new 4")
		done := press(b.get(open), "set-all", "state=ok", "", "State: Granted (4). Undo", "1=ok 2=ok 3=ok 4=ok")
		done.want(200, "No submission matches.")
		press(b.get(feedbackResults), "set", "state=ok", "1", "State: Granted (1).", "1=ok 2=ok 3=ok 4=ok").wantNoHTML("undo-all")
		b.get("/page/1/form/feedback/submission/3").want(200, "History", "Statenew →became Granted")
		removed := b.get("/page/1/form/feedback/submission/4")
		b.postForm("/page/1/form/feedback/submission/4/history", removed.values()).want(200, "Earlier values were removed")
		back := press(done, "undo-all", "", "", "3 set back. Undo 1 skipped: Submission 4 · Its earlier values were removed.", "1 2 3=new 4=ok")
		back.wantHTML("not-equals")
		press(done, "undo-all", "", "", "0 set back. 4 skipped: Submission 1 · Somebody changed it after you opened this list.", "1 2 3=new 4=ok")
		press(back, "undo-all", "", "", "3 set back.", "1=ok 2=ok 3=ok 4=ok")
		question := press(b.get(feedbackResults), "delete", "", "2 3", "Delete 2 submissions?", "1=ok 2=ok 3=ok 4=ok")
		b.fill("/page/1/form/feedback/submission/2/change", "name", "other").want(200)
		press(question, "confirm-all", "", "", "1 deleted. 1 skipped: Submission 2 · Somebody changed it after you opened this list.", "1=ok 2=ok 4=ok").wantNoHTML("undo-all")
	})
}

// TestSeveralOfAWrongAddress changes nothing if the list can't be shown afterwards.
func TestSeveralOfAWrongAddress(t *testing.T) {
	e, b := newRequests(t, enginetest.Default(), 1)
	sent := b.get(feedbackResults).button("set", "state=ok", "1")
	b.postForm(feedbackResults+"?columns=nope", sent).want(400, "nope")
	testkit.Same(t, "stored", e.states(), "1")
}

// TestOutcomeIsInTheAddress has a reload tell an outcome again, and change nothing. Nobody can make an address that
// tells another one, or pass it on.
func TestOutcomeIsInTheAddress(t *testing.T) {
	e, b := newRequests(t, enginetest.Default(), 3)
	sent := b.get(feedbackResults).button("set", "state=ok", "1 2 x")
	sent[rowsControl][0] += "&x=tag"
	if a := e.signedIn("alice").stay().postForm(feedbackResults+"?view=table", sent); a.status != 303 {
		t.Fatalf("status %d", a.status)
	}
	done := b.postForm(feedbackResults+"?q=n", sent) // the answers are another editor's
	done.want(200, "State: Granted (0). 3 skipped:")
	if address, err := url.Parse(done.path); err != nil || address.Query().Get("q") != "n" {
		t.Fatalf("at %s", done.path)
	}
	b.get(done.path).want(200, "State: Granted (0). 3 skipped: Submission 1 · Somebody changed it after you opened this list.")
	testkit.Same(t, "stored", e.states(), "1=ok 2=ok 3")
	done.wantNoHTML(outcomeParameter + "=") // no link repeats it
	e.Write(t, "2.md", requestsPage["1.md"])
	for path, who := range map[string]string{
		done.path: "bob", done.path + "A": "alice", strings.Replace(done.path, "/page/1/", "/page/2/", 1): "alice",
		feedbackResults + "?done=": "alice", feedbackResults + "?done=x": "alice",
	} {
		if a := e.get(who, path); strings.Contains(a.text(), "Granted. 3") {
			t.Errorf("%s reads at %s: %s", who, path, a.text())
		}
	}
	// An address has room for 200 rows with their tags, but not for every filter.
	e, b = newRequests(t, enginetest.Default(), maxRows)
	all := b.get(feedbackResults+"?limit=200").button("set-all", "state=ok", "")
	done = b.postForm(feedbackResults+"?limit=200", all)
	if done.want(200, "State: Granted (200). Undo"); !strings.Contains(done.path, outcomeParameter) {
		t.Error("told at once")
	}
	b.postForm(done.action(), done.button("undo-all", "", "")).want(200, "200 set back.")
	long := feedbackResults + "?limit=200&q=" + strings.Repeat("n", 900) + "&view=table&filter[name]=" + strings.Repeat("n", 900)
	all = b.get(feedbackResults+"?limit=200").button("set-all", "state=new", "")
	if done = b.postForm(long, all); done.path != long {
		t.Errorf("at %s", done.path)
	}
	done.want(200, "State: new (200).")
	testkit.Same(t, "stored", strings.Count(e.states(), "=new"), 200)
}

// TestSeveralOfAnAnonymousForm names no submission.
func TestSeveralOfAnAnonymousForm(t *testing.T) {
	e, b := newAlice(t, page1("", strings.Replace(requestsForm, "closes: 2025-11-14", "anonymous: true", 1)))
	id := e.submit("bob", 1, "feedback", "name", "n1")
	e.submit("bob", 1, "feedback", "name", "n2")
	page := b.get(feedbackResults)
	sent := page.button("set-all", "state=refused", "")
	after := b.postForm(feedbackResults, sent)
	after.want(200, "State: refused (1). Undo 1 skipped: A submission · “Why not?” is required.")
	b.get(fmt.Sprint("/page/1/form/feedback/submission/", id)).want(200, "n1")
	b.postForm(feedbackResults, after.button("undo-all", "", "")).want(200, "1 set back.")
}

// TestSeveralWithFiles changes submissions that have files, and not one whose file was replaced meanwhile.
func TestSeveralWithFiles(t *testing.T) {
	ticket := strings.Replace(requestsForm, "closes: 2025-11-14", "", 1) + "  - {id: ticket, type: file, label: Ticket}\n"
	e, b := newAlice(t, page1("view: [alice, bob]\nedit: [alice]\n", ticket))
	bob := e.signedIn("bob")
	for range 2 {
		bob.send("/page/1/form/feedback", bob.get("/page/1/form/feedback").values(), chosenFile{"ticket", "a.txt", "x"}).want(200, "Sent")
	}
	sent := b.get(feedbackResults).button("set-all", "state=new", "")
	const change = "/page/1/form/feedback/submission/2/change"
	b.send(change, with(b.get(change).values(), "_remove", "ticket=a.txt"), chosenFile{"ticket", "a.txt", "y"}).want(200, "a.txt")
	b.postForm(feedbackResults, sent).want(200, "State: new (1). Undo 1 skipped: Submission 2 · Somebody changed it after you opened this list.")
	testkit.Same(t, "stored", e.states(), "1=new 2")
}

// TestSeveralAreForEditors shows others no controls, and paper neither.
func TestSeveralAreForEditors(t *testing.T) {
	e, b := newRequests(t, enginetest.Default(), 1)
	e.get("bob", feedbackResults).wantNoHTML(`id="several"`, rowsControl)
	bob := e.signedIn("bob")
	bob.postForm(feedbackResults, url.Values{"id": {"1"}, doControl: {"set"}}).want(403, "Only editors of this page")
	b.get(feedbackResults+"?print=true").wantNoHTML(`id="several"`, rowsControl, "tick")
	b.get(feedbackResults+"?view=summary").wantNoHTML(`id="several"`, rowsControl)
	b.postForm(feedbackResults+"?print=true", b.get(feedbackResults).button("set", "", "")).want(422, "Tick the submissions first.")
}

// BenchmarkSeveral sets as many as one request may.
func BenchmarkSeveral(b *testing.B) {
	_, alice := newRequests(b, enginetest.SQLite, maxRows)
	for i := 0; b.Loop(); i++ {
		option := []string{"new", "ok"}[i%2]
		sent := alice.get(feedbackResults+"?limit=200").button("set-all", "state="+option, "")
		alice.postForm(feedbackResults+"?limit=200", sent).want(200, "(200).")
	}
}
