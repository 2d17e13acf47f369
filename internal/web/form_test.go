//go:build !race

package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"modernc.org/quickjs"

	"github.com/formulary/formulary/internal/testkit"
)

// pageState is what testdata/questions.js tells about its page.
type pageState struct {
	Shown        []string
	SectionShown bool
	Enabled      []string
	Announced    string
	Live         string
	UpdateButton string
}

// The steps follow one another on one page.
func TestScriptsShowAndHideQuestions(t *testing.T) {
	vm := newVM(t)
	runModule(t, vm, `import "questions.js"; import "form.js";`)
	for _, step := range []struct {
		change    string
		shown     string
		announced string
	}{
		{"nothing", "rating", ""},
		{"rateOne", "rating reason topics other last", "4 questions added: What went wrong?, Topics, Other and 1 more."},
		{"rateTwo", "rating reason topics other last", "4 questions added: What went wrong?, Topics, Other and 1 more."},
		{"tickBoth", "rating reason topics append other last", "1 question added: append."},
		{"typeHalfAPair", "rating reason topics append proof other last", "1 question added: Proof."},
		{"chooseFiles", "rating reason topics append proof querySelectorAll other last", "1 question added: Thanks."},
		{"chooseNoFile", "rating reason topics append proof other last", "1 question removed: Thanks."},
		{"storeFiles", "rating reason topics append proof querySelectorAll other last", "1 question added: Thanks."},
		{"rateFive", "rating", "7 questions removed: What went wrong?, Topics, append and 4 more."},
		{"putBack", "rating reason topics append proof querySelectorAll other last", "7 questions removed: What went wrong?, Topics, append and 4 more."},
	} {
		var got pageState
		if err := json.Unmarshal([]byte(callScript(t, vm, "after", step.change)), &got); err != nil {
			t.Fatal(err)
		}
		shown := strings.Fields(step.shown)
		want := pageState{
			Shown: shown, SectionShown: len(shown) > 1, Enabled: shown, Announced: step.announced, Live: "polite", UpdateButton: "button true",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", step.change, diff)
		}
	}
}

func TestScriptsSendAForm(t *testing.T) {
	vm := newVM(t)
	runModule(t, vm, `import "sending.js"; import "form.js";`)
	for _, row := range testkit.Rows(`
		twoClicks | true | enabled | false | disabled
		back | enabled | true
		backAtOnce | enabled | true
		stopped | enabled | true
		otherForm | true | true
		uploaded | false | POST | https://forms.example/page/1/form/cv | _save=1 | disabled | Sending… | 1 Sending… | 24 Sending… | 25 Sending: 25 % | 26 Sending: 25 % | 49 Sending: 25 % | 60 Sending: 60 % | 99 Sending: 99 % | 100 Sent. Waiting for the answer… | https://forms.example/page/1/form/cv/submission/7 | disabled
		refused | Error: CV | true | name,type,value,id,aria-invalid | true | enabled | false | true
		signedOut | 1 | main | main | /login
		cancelled | 0 | enabled | true | Sending was cancelled.
		noAnswer | 1 | The server did not answer. Check your connection and the size of the files, then try again. What you entered is still here. | enabled | 1 | 0
		tooLarge | true | A file is larger than 1000 bytes. What you entered is still here. | enabled | 1 | true | false
		unavailable | true | This can't be done right now. Try again in a moment. What you entered is still here. | enabled | 1 | true | false
		notAPage | The server refused the form (status 413). | enabled
		sizeKnown | “a.pdf” is too large: at most 1 kB each. | false | “a.pdf” is too large: at most 1 kB each. | enabled | true | | false | disabled
		hiddenFile | true
		summary | false,0,true | false,1,true | true,1,true | true,1,true | true,1,true
	`) {
		tells(t, vm, row[0], row[1:]...)
	}
}

// tells has the scripts act out a story, and compares what comes of it.
func tells(t *testing.T, vm *quickjs.VM, story string, want ...string) {
	t.Helper()
	t.Run(story, func(t *testing.T) {
		got := strings.Split(callScript(t, vm, "tell", story), "\n")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The error summary has the focus when the page is there.
func TestScriptsFocusTheErrorSummary(t *testing.T) {
	vm := newVM(t)
	runModule(t, vm, `
import { element, show } from "page.js";
show(element("div", { "data-error-summary": "" }));
globalThis.focused = () => String(document.activeElement?.hasAttribute("data-error-summary"));`)
	if got := callScript(t, vm, "focused", ""); got != "undefined" {
		t.Errorf("before form.js: %s", got)
	}
	runModule(t, vm, `import "form.js";`)
	if got := callScript(t, vm, "focused", ""); got != "true" {
		t.Errorf("after form.js: %s", got)
	}
}

// A page that was kept for the back button is loaded again after a sign-out. A
// control of another form may have any name.
func TestScriptsNoteTheSignOut(t *testing.T) {
	t.Run("form", func(t *testing.T) { testSignOut(t, "form", "submit") })
	t.Run("link", func(t *testing.T) { testSignOut(t, "a", "click") })
}

func testSignOut(t *testing.T, element, event string) {
	vm := newVM(t)
	runModule(t, vm, fmt.Sprintf(`
import { button, element, input, show } from "page.js";
const stored = new Map();
globalThis.localStorage = { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) };
globalThis.sessionStorage = window.localStorage = localStorage;
const signOut = element("%s", { "data-sign-out": "" }, button());
const other = element("form", { "data-form": "" }, input("hasAttribute", "text"), input("matches", "text"));
show(signOut, other);
let reloads = 0;
location.reload = () => reloads++;
const press = (target, event) => [target, document].forEach((at) => at.fire(event, { target }));
globalThis.reloadsAfter = (sent) => {
  if (sent) {
    sent === "sign-out" ? press(signOut, "%s") : press(other, "submit");
  }
  window.fire("pageshow", { persisted: true });
  return String(reloads);
};`, element, event))
	runModule(t, vm, `import "session.js";`)
	for _, step := range []struct{ sent, reloads string }{{"", "0"}, {"other", "0"}, {"sign-out", "1"}} {
		if got := callScript(t, vm, "reloadsAfter", step.sent); got != step.reloads {
			t.Errorf("after %q: %s reloads, want %s", step.sent, got, step.reloads)
		}
	}
}

// What is typed and not sent is kept for the same user and form, within bounds.
func TestScriptsKeepDrafts(t *testing.T) {
	vm := newVM(t)
	runModule(t, vm, `import "typing.js"; import { attachDrafts } from "drafts.js"; import "form.js"; globalThis.attachDrafts = attachDrafts;`)
	const filled, empty = "hello|two lines|S|false|true", "|||false|false"
	const back, offered = "What you typed here earlier is back. It was not sent yet.|Discard",
		"You typed something here earlier. It was not sent yet.|Restore|Discard"
	const unconfirmed = "You have sent it, but it was not confirmed. Send it again: it is stored once."
	backWithoutFiles := strings.Replace(back, "|", " Files are not kept: choose “cv.pdf”, “photo.png” again.|", 1)
	tells(t, vm, "restored", "0", "1", filled, back, "true", empty, "nothing", "0")
	tells(t, vm, "leftAtOnce", filled)
	tells(t, vm, "otherUser", empty, "nothing")
	tells(t, vm, "anonymous", "0")
	tells(t, vm, "prefilled", "x|||false|false", offered, "hello|newer|S|false|true", back)
	tells(t, vm, "changedByOthers", empty, strings.Replace(offered, "earlier.", "earlier. It was changed elsewhere since.", 1))
	tells(t, vm, "renamed", "hello|two lines|S|true|true", back, `{"text":["hello"],"note":["two lines"],"size":["S"],"boxes":["a","b"]}`)
	tells(t, vm, "refused", "7.50|||false|false", "nothing", "7.50|corrected||false|false")
	tells(t, vm, "erased", "0")
	tells(t, vm, "sent", "1", "formulary.draft amy /page/1/form/f")
	tells(t, vm, "sentWithoutAnswer", "first", strings.Replace(back, "It was not sent yet.", unconfirmed, 1), "new")
	tells(t, vm, "sentAndRefused", "first", back)
	tells(t, vm, "sentAndKeptByTheBrowser", "first", "nothing")
	tells(t, vm, "keyOfWhatIsRestored", "new", "first", "first")
	tells(t, vm, "sameAddress", "x|typed||false|false", "y|||false|false")
	tells(t, vm, "files", backWithoutFiles, backWithoutFiles, back)
	tells(t, vm, "signedOutInAnotherTab", "1") // the sign-out itself
	tells(t, vm, "tooLong", "0")
	tells(t, vm, "tooMany", "20", "false", "true")
	tells(t, vm, "old", "1", "0")
	tells(t, vm, "spoiled", empty, "0")
	tells(t, vm, "noStorage", filled)
}
