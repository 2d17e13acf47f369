package builder

import (
	_ "embed" // the form to start with
	"net/url"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

//go:embed new.yaml
var newText string

// New is a form to start with: one open question.
func New() Result {
	return Result{Text: newText, Open: "0", At: "0", Focus: "q-label"}
}

// Do applies one click: first the controls that were sent, then the action. These are the actions:
//
//	open:KEY, done             edit a card; close the open one
//	up:KEY, down:KEY, copy:KEY, delete:KEY
//	add:PLACE:KIND             a new question, or section
//	apply                      the controls alone: after a kind, a rule's question or comparison was chosen
//	choice, unchoice:INDEX     one more choice; remove a choice
//	several                    the lines of SeveralControl become choices
//	other                      the choice "Other", and a text question for it
//	unrule:INDEX               remove a rule of the condition
//
// A click that makes an error changes nothing, and the notice says why. Controls that can't be applied are shown again
// by Read, with their faults. An error means that the text before can't be parsed.
func Do(text, action string, sent url.Values, c Context) (Result, error) {
	e, err := newEditor(Result{Text: text}, c)
	if err != nil {
		return Result{}, err
	}
	words := strings.Split(action+"::", ":")
	e.before = e.root
	e.verb, e.arg = words[0], words[1]
	e.path, e.target = pathOf(e.root, sent.Get(OpenControl)), pathOf(e.root, strings.TrimSuffix(e.arg, "."))
	e.Open = keyOf(e.path)
	if e.verb == "delete" && slices.Equal(e.path, e.target) {
		e.path = nil // nobody needs its controls
	}
	e.applySent(sent)
	if applied := *e; !e.Refused() {
		e.act(words[2])
		if why, _ := e.commit(); why != nil { // then the controls alone
			*e = applied
			e.at, e.Notice = e.target, why
			if why, control := e.commit(); why != nil {
				e.fault(control, why)
			}
		}
	}
	if !e.Refused() {
		e.Open, e.At, e.wanted = keyOf(e.path), keyOf(e.at), nil
	}
	if e.Text == text {
		e.Undo = nil
		return e.Result, nil
	}
	say := []*message{e.Notice}
	if e.Notice == nil {
		say = e.compare(e.before, e.root)
	}
	e.Notice = forms.Sentences(append(say, e.also...))
	return e.Result, nil
}
