package web

import (
	"testing"

	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/testkit"
)

const leave = "/page/1/form/leave"

var leavePage = map[string]string{"1-leave.md": "---\ntitle: Leave\nedit: [alice]\n---\n" + "```yaml form" + `
form: leave
withdraw: true
lockIf: {field: state, equals: granted}
fields:
  - {id: days, type: textfield, label: Days, required: true}
  - {id: paper, type: file, label: Paper}
  - {id: state, type: status, label: State, options: [open, granted], default: open, by: editors}
` + "```\n"}

// Whoever asked changes and withdraws a request until it is decided. Package service decides it.
func TestLockedSubmission(t *testing.T) {
	e := newEnv(t, leavePage)
	bob, alice := e.signedIn("bob"), e.signedIn("alice")
	path := bob.fill(leave, "days", "3").submission()
	const locked = "Only editors can change it now."
	shows := func(b *browser, yes, no []string) {
		t.Helper()
		page := b.get(path)
		page.want(200)
		page.wantHTML(yes...)
		page.wantNoHTML(no...)
	}
	const change, withdraw, del = ">Change</a>", ">Withdraw</a>", ">Delete</a>"
	shows(bob, []string{change, withdraw}, []string{locked, del})
	shows(alice, []string{change, del}, []string{locked, withdraw})
	open := bob.get(path + "/change").values()
	question := bob.get(path + "/delete")
	question.want(200, "Withdraw submission 1?")
	question.wantHTML(">Withdraw</button>")

	alice.fill(path+"/change", "state", "granted").want(200, "The changes are saved")
	shows(bob, []string{locked}, []string{change, withdraw})
	shows(alice, []string{change, del}, []string{locked})
	bob.reads("de").get(path).wantHTML(lang.Find("de").Text(locked))
	bob.reads("").get(path+"/change").want(403, locked)
	refused := bob.get(path + "/delete?sort=days")
	refused.want(403, locked)
	testkit.Same(t, "the way back leads", refused.link("Go to the submission"), path+"?sort=days")
	bob.postForm(path+"/delete", question.values()).want(403, locked)
	// What was typed is not lost.
	again := bob.send(path+"/change", with(open, "days", "17"), chosenFile{"paper", "a.txt", "x"})
	again.want(403, locked)
	again.wantNoHTML("data-send") // it could only fail again
	again.wantValues("days", "17")
	stored := valuesOf(t, e.latest("bob", 1, "leave"))
	testkit.Diff(t, "stored", stored, map[string]string{"days": "3", "state": "granted"})

	alice.fill(path+"/change", "state", "open", "days", "4").want(200)
	bob.postForm(path+"/delete", question.values()).want(409, "changed since you opened it. It was not withdrawn.")
	bob.postForm(path+"/delete", bob.get(path+"/delete").values()).want(200, "My submissions", "Submission 1 was withdrawn.")
	bob.get(path).want(404)
}
