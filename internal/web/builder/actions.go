package builder

import (
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// act makes the change of a click, once the open card is applied.
func (e *editor) act(place, kind string) {
	verb, at := e.verb, e.target
	card, _ := e.root.Get(at)
	switch {
	case verb == "done":
		e.path = nil
	case verb == "choice", verb == "unchoice", verb == "several":
		e.Focus, e.plain = ChoiceControl, true
	case verb == "other":
		e.addOther()
	case verb == "add" && (at != nil || place == ""):
		e.add(at, strings.HasSuffix(place, "."), findKind(kind))
	case at == nil:
	case verb == "open":
		e.path, e.at = at, at
	case verb == "up":
		e.move(card, after(at, -1))
	case verb == "down":
		e.move(card, after(at, 1))
	case verb == "copy" && !isSection(card):
		e.insert(after(at, 1), "id", put(card, "was", none), forms.Say("Copy “{0}”", e.label(card)))
	case verb == "delete":
		e.remove(at, card)
	}
}

// add adds a question or a section.
func (e *editor) add(at place, into bool, kind *Kind) {
	to, key := place{fieldsKey, 0}, kind.fields.Keys[0]
	switch {
	case at == nil:
	case key == sectionKey:
		to = after(at[:2], 1)
	case into:
		to = slices.Concat(at, place{fieldsKey, 0})
	default:
		to = after(at, 1)
	}
	e.insert(to, key, e.fill(kind.fields), forms.Say("Add a question"))
}

// insert adds a card with a new name, and opens it.
func (e *editor) insert(to place, key string, card tree, undo *message) {
	noun := "question-"
	if key == sectionKey {
		noun = "section-"
	}
	e.addCard(to, put(card, key, leaf(e.newID(noun))))
	e.path, e.at, e.Focus, e.Undo = to, to, "q-label", undo
	number, count := e.number(to)
	if e.Notice = forms.Say("Added question {0} of {1}.", number, count); key == sectionKey {
		e.Notice = forms.Say("Added a section.")
	}
}

func (e *editor) addCard(to place, card tree) {
	e.put(splice(e.root, to, 0, card), markup.Change{Do: markup.Insert, Path: to, Value: card})
}

// addOther adds a text question for the last choice of the open question.
func (e *editor) addOther() {
	card, _ := e.root.Get(e.path)
	options := values(card)
	if len(options) == 0 {
		return
	}
	shown := rule{nameOf(card), "equals", options[len(options)-1:]}
	if isMulti(card) {
		shown.operator = "contains"
	}
	question := e.fill(get(get(kindsTree, "other"), fieldsKey))
	question = put(question, "id", leaf(freeID(slug(e.label(question)), e.taken())))
	e.addCard(after(e.path[:2], 1), put(question, "showIf", shown.tree()))
	e.Undo = forms.Say("Add “{0}”", shown.values[0])
}

// move exchanges neighbours.
func (e *editor) move(card tree, to place) {
	if _, found := e.root.Get(to); !found {
		return
	}
	e.moveTo(e.target, to)
	number, count := e.number(to)
	e.at, e.Undo = to, forms.Say("Move “{0}”", e.label(card))
	e.Notice = forms.Say("“{0}” is now question {1} of {2}.", e.label(card), number, count)
	if isSection(card) {
		e.Notice = forms.Say("The section “{0}” was moved.", e.label(card))
	}
}

// number counts questions up to a path, and all.
func (e *editor) number(to place) (number, count int) {
	for path, card := range cards(e.root) {
		if !isSection(card) {
			count++
		}
		if slices.Equal(path, to) {
			number = count
		}
	}
	return number, count
}

// remove takes out a question, with the conditions that name it, or a section, whose questions stay.
func (e *editor) remove(at place, card tree) {
	root, label := e.root, e.label(card)
	var owners []string
	for path, other := range cards(e.root) {
		showIf := get(other, "showIf")
		match, rules := conditionOf(showIf)
		left := slices.DeleteFunc(slices.Clone(rules), func(rule tree) bool {
			return get(rule, "field").Text == nameOf(card)
		})
		if len(left) == len(rules) {
			continue
		}
		if showIf = put(showIf, match, listOf(left)); len(left) == 0 {
			showIf = none
		}
		root, owners = splice(root, path, 1, put(other, "showIf", showIf)), append(owners, e.label(other))
	}
	e.change(root)
	for i := range get(card, fieldsKey).Items {
		e.moveTo(append(slices.Clone(at), fieldsKey, 0), after(at, i+1))
	}
	e.put(splice(e.root, at, 1), markup.Change{Do: markup.Delete, Path: at})
	e.Undo = forms.Say("Delete “{0}”", label)
	switch {
	case isSection(card):
		e.Notice = forms.Say("Deleted the section “{0}”, and its condition if it had one. Its questions stay.", label)
	case len(owners) > 0:
		e.Notice = forms.Say("Deleted “{0}”, and the condition of “{1}”.", label, owners)
	default:
		e.Notice = forms.Say("Deleted “{0}”.", label)
	}
	for _, e.at = range []place{at, after(at, -1), at[:len(at)-2]} {
		if _, found := e.root.Get(e.at); found {
			break
		}
	}
}
