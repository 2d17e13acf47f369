package builder

import (
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// act makes the change of a click, once the open card is applied.
func (e *editor) act(kind string) {
	at := e.target
	card := get(e.root, at...)
	switch e.verb {
	case "done":
		e.path = nil
	case "choice", "unchoice", "several":
		e.Focus, e.plain = ChoiceControl, true
	case "other":
		e.addOther()
	case "add":
		if at != nil || strings.Trim(e.arg, ".") == "" {
			e.add(e.fill(findKind(kind).fields))
		}
	}
	switch {
	case at == nil:
	case e.verb == "open":
		e.path, e.at = at, at
	case e.verb == "up":
		e.move(card, after(at, -1))
	case e.verb == "down":
		e.move(card, after(at, 1))
	case e.verb == "copy" && !isSection(card):
		e.insert(after(at, 1), without(card, "was"), forms.Say("Copy “{0}”", e.label(card)))
	case e.verb == "delete":
		e.remove(at, card)
	}
}

// add adds a question or a section.
func (e *editor) add(card tree) {
	to := place{fieldsKey, 0}
	switch {
	case e.target == nil:
	case isSection(card):
		to = after(e.target[:2], 1)
	case strings.HasSuffix(e.arg, "."):
		to = join(e.target, to...)
	default:
		to = after(e.target, 1)
	}
	e.insert(to, card, forms.Say("Add a question"))
}

// insert adds a card, and opens it. Until it has a label, its name is a number.
func (e *editor) insert(to place, card tree, undo *message) {
	key, noun, taken := "id", "question", e.taken()
	if isSection(card) {
		key, noun = sectionKey, sectionKey
	}
	taken[noun] = true
	e.addCard(to, put(card, leaf(free(taken, noun, "-", 1)), key))
	e.path, e.at, e.Focus, e.Undo = to, to, "q-label", undo
	number, count := e.number(to)
	if e.Notice = forms.Say("Added question {0} of {1}.", number, count); key == sectionKey {
		e.Notice = forms.Say("Added a section.")
	}
}

func (e *editor) addCard(to place, card tree) {
	e.do(markup.Change{Do: markup.Insert, Path: to, Value: card})
}

// addOther adds a text question for the last choice of the open question.
func (e *editor) addOther() {
	card := get(e.root, e.path...)
	options := values(card)
	if len(options) == 0 {
		return
	}
	other := options[len(options)-1]
	question := e.fill(get(kindsTree, "other", fieldsKey))
	question = put(question, leaf(freeID(slug(e.label(question)), e.taken())), "id")
	e.addCard(after(e.path[:2], 1), put(question, chosen(card, "equals", other), "showIf"))
	e.Undo = forms.Say("Add “{0}”", other)
}

// moveTo moves a card. Its bytes go with it.
func (e *editor) moveTo(from, to place) {
	e.at, e.Undo = to, forms.Say("Move “{0}”", e.label(get(e.root, from...)))
	e.do(markup.Change{Do: markup.Move, Path: from, To: to})
}

// move exchanges neighbours.
func (e *editor) move(card tree, to place) {
	if _, found := e.root.Get(to); !found {
		return
	}
	e.moveTo(e.target, to)
	number, count := e.number(to)
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
	label := e.label(card)
	var owners []string
	e.change(each(e.root, func(t tree) tree {
		match, rules := conditionOf(get(t, "showIf"))
		left := slices.DeleteFunc(slices.Clone(rules), func(rule tree) bool {
			return get(rule, "field").Text == nameOf(card)
		})
		if len(left) < len(rules) {
			owners = append(owners, e.label(t))
			t = put(t, withRules(get(t, "showIf"), match, left), "showIf")
		}
		return t
	}))
	for i := range get(card, fieldsKey).Items {
		e.moveTo(join(at, fieldsKey, 0), after(at, i+1))
	}
	e.do(markup.Change{Do: markup.Delete, Path: at})
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
