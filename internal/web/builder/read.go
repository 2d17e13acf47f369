package builder

import (
	"cmp"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// Read shows a text as cards. Text and Open of the result are enough. A result of Do also has faults, and the values
// that somebody typed. An error means that the text can't be parsed.
func Read(r Result, c Context) (*Form, error) {
	e, err := newEditor(r, c)
	if err != nil {
		return nil, err
	}
	if e.known.Draft == nil {
		e.known = e.read(e.known.Document)
	}
	wanted := cmp.Or(r.wanted, &e.root)
	f := &Form{
		Settings: e.controls(*wanted, formControls, "f-"), Languages: len(e.known.Languages) > 1, Broken: e.known.Form == nil,
	}
	problems := e.problems()
	number, draft := 0, cmp.Or(e.known.Draft, &forms.Form{})
	for path, card := range cards(e.root) {
		view := e.card(path, card)
		view.Problems = append(view.Problems, problems[view.Key]...)
		failed := hasError(view.Problems)
		f.Broken = f.Broken || failed
		if !view.Section {
			number++
			view.Number = number
		}
		if field := draft.Field(nameOf(card)); field != nil && (e.known.Form != nil || !failed) {
			view.Field = field
		}
		if view.Key == r.Open {
			view.Open = e.openCard(path, get(*wanted, path...))
		}
		f.Cards = append(f.Cards, view)
	}
	if f.Problems = problems[""]; len(f.Cards) == 0 && !hasError(f.Problems) {
		p := Problem{Severity: markup.Error, Say: forms.Say("The form has no questions. Add one.")}
		f.Problems, f.Broken = append(f.Problems, p), true
	}
	return f, nil
}

// problems returns what the parser finds, by the keys of cards.
func (e *editor) problems() map[string][]Problem {
	all := map[string][]Problem{}
	for _, d := range e.known.diagnostics {
		path, key := cardAt(e.known.PathAt(d.Line, d.Column))
		p := Problem{Severity: d.Severity, English: d.Message}
		if d.Hint != "" {
			p.English += " (" + d.Hint + ")"
		}
		switch {
		case d.Severity == markup.Error:
			p.Say = faults[key]
		case strings.Contains(d.Message, "comes later on the page"):
			p.Say = forms.Say("It depends on a question below it. Move that question up.")
		}
		card := keyOf(pathOf(e.root, keyOf(path)))
		all[card] = append(all[card], p)
	}
	return all
}

func hasError(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == markup.Error })
}

// card is a card without its field, and without problems that only the parser finds.
func (e *editor) card(path place, card tree) Card {
	_, isNext := e.root.Get(after(path, 1))
	key := keyOf(path)
	view := Card{
		Key: key, Kind: e.kindOf(card), Label: e.label(card), Section: isSection(card), Next: key,
		InSection: len(path) > 2, Shown: e.shownIf(get(card, "showIf")), ByEditors: get(card, "by").Text != "",
		IsFirst: path[len(path)-1] == 0, IsLast: !isNext,
	}
	isEmpty := view.Section && len(get(card, fieldsKey).Items) == 0
	if view.Section {
		view.Next += "."
	}
	if view.InSection && view.IsLast || isEmpty {
		view.After = keyOf(path[:2])
	}
	why := say([]saying{
		{isEmpty, forms.Say("This section has no questions yet.")},
		{e.words(get(card, "label")) == "" && unnamed.MatchString(nameOf(card)), sayNoLabel},
		{view.Kind.has("options") && len(values(card)) == 0, forms.Say("Add a choice.")},
	})
	for _, say := range why {
		p := Problem{Severity: markup.Error, Say: say}
		if !isNone(e.readOpened().former(card)) {
			p.Severity = markup.Warning // it was good enough
		}
		view.Problems = append(view.Problems, p)
	}
	return view
}

// shownIf says when a question is shown, nil for always.
func (e *editor) shownIf(showIf tree) (say *message) {
	match, rules := conditionOf(showIf)
	for i, t := range rules {
		r := readRule(t)
		card := e.cards[r.field].tree
		var answers []string
		for _, choice := range choose(e.choices(card), r.values...) {
			if choice.Chosen {
				answers = append(answers, choice.Label)
			}
		}
		next := forms.Say("{0} {1} {2}", e.label(card), operatorOf(r.operator).Say, answers)
		switch {
		case i == 0:
			say = next
		case match == "any":
			say = forms.Say("{0} or {1}", say, next)
		default:
			say = forms.Say("{0} and {1}", say, next)
		}
	}
	if say != nil {
		say = forms.Say("Only if {0}", say)
	}
	return say
}

// controls are the controls of a card or of the form.
func (e *editor) controls(t tree, list []control, prefix string) map[string]Control {
	all := map[string]Control{}
	for _, k := range list {
		if value, shown := e.show(k, t); shown {
			all[k.name] = e.control(prefix+k.name, value)
		}
	}
	return all
}

func (e *editor) control(name, value string) Control { return Control{name, value, e.faults[name]} }

// openCard has the controls of a card.
func (e *editor) openCard(path place, card tree) *OpenCard {
	kind := e.kindOf(card)
	if e.plain && kind.Name == "yesno" {
		kind = findKind("choice")
	}
	open := &OpenCard{Controls: e.controls(card, kind.controls, "q-")}
	add := func(name, value string) { open.Controls[name] = e.control("q-"+name, value) }
	earlier, sections, section := []Choice{{}}, []Choice{{}}, keyOf(path[:len(path)-2])
	isEarlier := true
	for at, other := range cards(e.root) {
		isEarlier = isEarlier && !slices.Equal(at, path)
		choice := Choice{Value: nameOf(other), Label: e.label(other)}
		if isSection(other) {
			choice.Value = keyOf(at)
			sections = append(sections, choice)
		} else if isEarlier {
			earlier = append(earlier, choice)
		}
	}
	if match, rules := conditionOf(get(card, "showIf")); len(path) == 2 || match != "" {
		add("show", match)
		open.Rules = e.showRules(earlier, rules)
	}
	if !isSection(card) {
		add("kind", kind.Name)
		add("id", nameOf(card))
		add("section", section)
		open.Kinds = Kinds[:len(Kinds)-1]
		if len(sections) > 1 {
			open.Sections = choose(sections, section)
		}
	}
	if e.faults[ChoiceControl] != nil {
		add("choice", "")
	}
	if kind.has("options") {
		if open.Choices = e.choices(card); kind.Name != "yesno" {
			open.Choices = append(open.Choices, Choice{})
		}
		open.Defaults = choose(append([]Choice{{}}, e.choices(card)...), open.Controls["default"].Value)
	}
	return open
}
