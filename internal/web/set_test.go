package web

import (
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

const requestForm = `form: feedback
fields:
  - {id: name, type: textfield, label: Name}
  - {id: state, type: status, label: State, by: editors, options: [New, Granted, Refused], default: New}
  - {id: level, type: radio, label: Level, by: editors, options: [Low, High]}
  - {id: tags, type: checkbox, label: Tags, by: editors, options: [a, b]}
  - {id: note, type: textfield, label: Note, by: editors, maxLength: 9}
`

// pressed are the values that are sent with the button of a name.
func (a *answer) pressed(button string) (action string, values url.Values) {
	a.t.Helper()
	for _, form := range a.find(".set") {
		values := a.values()
		for _, n := range find(form, "button") {
			if textOf(n) == button {
				if hasAttribute(n, "name") {
					values.Set(attribute(n, "name"), attribute(n, "value"))
				}
				return attribute(form, "action"), values
			}
		}
	}
	a.t.Fatalf("%s: no button %q in %s", a.path, button, a.body)
	return "", nil
}

// What editors ask on their part of a form is not in the pages of others.
func TestLabelsOfEditors(t *testing.T) {
	e, _ := newRequest(t)
	for user, want := range map[string]string{
		"alice": `{"name":"Name"}`, "carol": `{"level":"Level","name":"Name","note":"Note","state":"State","tags":"Tags"}`,
	} {
		b := e.signedIn(user)
		for _, path := range []string{"/page/1/form/feedback", "/page/1", requestPath + "/change"} {
			b.get(path).wantValues(labelsControl, want)
		}
	}
}

// newRequest has a submission of alice on a page that carol edits.
func newRequest(t *testing.T) (e *env, carol *browser) {
	t.Helper()
	e = newEnv(t, page1("edit: [carol]\n", requestForm))
	e.submit("alice", 1, "feedback", "name", "Ann")
	return e, e.signedIn("carol")
}

const requestPath = "/page/1/form/feedback/submission/1"

// TestSetWithOnePress has an editor set what editors answer, and nothing else.
func TestSetWithOnePress(t *testing.T) {
	e, b := newRequest(t)
	page := b.get(requestPath + "?q=ann")
	page.wantHTML(`<legend>State</legend>`, `value="New" aria-pressed="true">`, `value="Granted" aria-pressed="false">`)
	page.wantNoHTML("autofocus", "Send another") // it is not hers
	action, values := page.pressed("Granted")
	after := b.send(action, values)
	after.want(200, "Saved")
	testkit.Same(t, "after it one is at", after.path, requestPath+"?saved=state&q=ann")
	after.wantHTML(`value="Granted" aria-pressed="true" autofocus>`)
	e.wantStored("feedback", "state", "Granted", "name", "Ann")
	b.send(action, values).want(200, "Saved") // a second press of the same button
	// Whoever is no editor sees what is answered, and no buttons.
	mine := e.get("alice", requestPath)
	mine.want(200, "State", "Granted")
	mine.wantNoHTML("aria-pressed", "Level", "Tags", `name="note"`)
	e.signedIn("alice").send(action, with(values, "_tag", "x")).want(409) // the page was made for carol
}

// TestClearWithOnePress has an editor take back a choice that is optional and has no default.
func TestClearWithOnePress(t *testing.T) {
	e, b := newRequest(t)
	page := b.get(requestPath)
	page.wantHTML(`name="level" value="" aria-pressed="true"><bdi lang="en">No answer</bdi>`)
	page.wantNoHTML(`name="state" value=""`)
	page = b.send(page.pressed("High"))
	e.wantStored("feedback", "level", "High")
	b.send(page.pressed("No answer")).wantHTML(`name="level" value="" aria-pressed="true" autofocus>`)
	e.wantStored("feedback", "level", "", "state", "New")
}

// TestSetOfAChangedSubmission: an editor who decides about a submission that was changed
// meanwhile sees its current answers, and keeps the text that they have typed.
func TestSetOfAChangedSubmission(t *testing.T) {
	e, b := newRequest(t)
	action, values := b.get(requestPath).pressed("Granted")
	e.signedIn("alice").fill(requestPath+"/change", "name", "Ten laptops").want(200)
	again := b.send(action, with(values, "note", "fine"))
	again.want(409, "Nothing was saved. Look at it once more, and decide again.", "Ten laptops")
	again.wantHTML(`<title>Error: `, `value="New" aria-pressed="true">`, `value="fine"`)
	e.wantStored("feedback", "state", "New", "note", "")
	b.send(again.pressed("Granted")).want(200, "Saved")
	e.wantStored("feedback", "state", "Granted", "note", "fine", "name", "Ten laptops")
}

// TestNextSavesWhatIsTyped has "Next" keep a text beside it.
func TestNextSavesWhatIsTyped(t *testing.T) {
	e, b := newRequest(t)
	e.submit("alice", 1, "feedback", "name", "Ben")
	const path = "/page/1/form/feedback/submission/2"
	action, values := b.get(path).pressed("Next")
	next := b.send(action, with(values, "note", "typed"))
	next.want(200, "Ann")
	testkit.Same(t, "the next one is", next.path, requestPath)
	b.get(path).wantHTML(`value="typed"`)
	b.send(action, with(values, "note", "typed", "_tag", "x")).want(200, "Ann") // nothing to save
	action, values = b.get(path).pressed("Next")
	b.send(action, with(values, "note", "much too long")).want(422, "Note")
}

// TestSetInPlace has an editor write what can't be chosen, on the page of the submission.
func TestSetInPlace(t *testing.T) {
	e, b := newRequest(t)
	// Enter presses the first button of a form. It saves, and chooses nothing.
	page := b.get(requestPath)
	first := page.find("main button")[0]
	if textOf(first) != "Save" || hasAttribute(first, "name") {
		t.Errorf("the first button is %q", textOf(first))
	}
	action, values := page.pressed("Save")
	page = b.send(action, with(values, "note", "first", "tags", "b"))
	page.want(200, "Saved")
	page.wantHTML(`class="secondary" autofocus>Save</button>`)
	e.wantStored("feedback", "name", "Ann", "state", "New", "tags", "b", "note", "first")
	// What was typed is not lost by a press.
	action, values = page.pressed("Granted")
	values.Del("tags") // unticked
	page = b.send(action, with(values, "note", "second"))
	e.wantStored("feedback", "name", "Ann", "state", "Granted", "tags", "", "note", "second")
	page.want(200, "Saved", "first →became second")
	action, values = page.pressed("Save")
	b.send(action, with(values, "note", "much too long")).want(422, "at most 9 characters")
}

// TestSetNeedsFewOptions has buttons for a few options only.
func TestSetNeedsFewOptions(t *testing.T) {
	list := ""
	for i := range maxSetOptions + 1 {
		list += string(rune('a'+i)) + ", "
	}
	form := "form: feedback\nfields:\n  - {id: many, type: dropdown, label: Many, by: editors, options: [" + strings.TrimSuffix(list, ", ") + "]}\n"
	e := newEnv(t, page1("", form))
	e.submit("alice", 1, "feedback", "many", "b")
	e.get("alice", "/page/1/form/feedback/submission/1").wantNoHTML("aria-pressed")
}
