package rest

import "strings"

// The pages that the tests share. Each holds what one group of rules is about.
const (
	allPage = "---\ntitle: All there is\n---\n# All there is\n\n" +
		"```yaml form\n" + `form: zeta
fields:
  - {id: one, type: textfield, label: One}
` + "```\n\nThe order of the forms is the page's.\n\n```yaml form\n" + allForm + "```\n"

	// allForm has every type and every validation, and addresses, which the API never shows. Its ids are not in
	// alphabetical order, so that rank order can be told from it.
	allForm = `form: all
notify: [hr@example.org]
fields:
  - {id: name, type: textfield, label: 'Your <b>"name"</b> & title', required: true}
  - {id: note, type: textbox, label: Note}
  - {id: size, type: dropdown, label: Size, options: [S, M, L]}
  - {id: colour, type: radio, label: Colour, options: [red, green]}
  - {id: extras, type: checkbox, label: Extras, options: [a, b, c]}
  - {id: day, type: date, label: Day}
  - {id: state, type: status, label: State, options: [open, done]}
  - {id: doc, type: file, label: Document}
  - {id: count, type: textfield, label: Count, validate: numeric}
  - {id: word, type: textfield, label: Word, validate: alpha}
  - {id: mail, type: textfield, label: Mail, validate: email}
  - {id: why, type: textbox, label: Why, required: true, showIf: {field: size, equals: L}}
`
	nonePage = "# Nothing to fill in\n"

	// staffPage can be seen by alice, bob and the group hr, and edited by alice.
	staffPage = "---\nview: [bob, '@hr']\nedit: [alice]\n---\n```form\n" + `form: staff
fields:
  - {id: text, type: textfield, label: Text}
` + "```\n"

	// ballotPage is anonymous, once each, edited by carol, and kept from dave.
	ballotPage = "---\nview: [alice, bob, carol]\nedit: [carol]\n---\n```form\n" + `form: ballot
anonymous: true
oneSubmission: true
fields:
  - {id: vote, type: radio, label: Vote, required: true, options: ["yes", "no"]}
` + "```\n"

	oncePage = "```form\n" + `form: once
oneSubmission: true
fields:
  - {id: text, type: textfield, label: Text, required: true}
` + "```\n"

	// openPage shows its results to testsite.Everybody, but only carol's group edits.
	openPage = "---\nedit: ['@hr']\nresults: viewers\n---\n```form\n" + `form: open
fields:
  - {id: text, type: textfield, label: Text}
` + "```\n"

	// pollPage is anonymous and shows its results; carol edits.
	pollPage = "---\nedit: [carol]\nresults: viewers\n---\n```form\n" + `form: poll
anonymous: true
fields:
  - {id: text, type: textfield, label: Text}
` + "```\n"
)

var (
	allPath    = form(1, "all")
	staffPath  = form(3, "staff")
	ballotPath = form(4, "ballot")
	oncePath   = form(5, "once")
	openPath   = form(6, "open")
	pollPath   = form(7, "poll")
)

// house serves all of them.
func house() map[string]string {
	return map[string]string{
		"1-all.md": allPage, "2-none.md": nonePage, "3-staff.md": staffPage,
		"4-ballot.md": ballotPage, "5-once.md": oncePage, "6-open.md": openPage, "7-poll.md": pollPage,
	}
}

// texts are what may be hard to keep as it is, and what must not be kept.
var texts = []string{
	"Ann", "", " ", "x;y", `say "hi" \ bye`, "\x01\x1f\x7f", "e\u0301 is not é", "名字", "🙂", "\u2028\u2029", "<b>&amp;</b>", "\ufffd", "\ufeff",
	"null", "'; DROP TABLE submissions; --", "$1 %s {id}", "a\tb\r\nc", `\u0000`, `{"id":7,"fieldId":"x"}`, "L", "2023-02-29", strings.Repeat("long ", 700),
}
