package builder

import (
	"cmp"
	"slices"

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
	if e.known == nil {
		e.known = e.meaning(r.Text, e.root)
	}
	wanted := cmp.Or(r.wanted, &e.root)
	f := &Form{Settings: e.controls(*wanted, formControls, "f-", map[string]string{})}
	number := 0
	for path, card := range cards(e.root) {
		view := e.card(path, card)
		if !view.Section {
			number++
			view.Number = number
		}
		if view.Key == r.Open {
			open, _ := wanted.Get(path)
			view.Open = e.openCard(path, open)
		}
		f.Cards = append(f.Cards, view)
	}
	f.addProblems(r.Text, e.known.diagnostics)
	if len(f.Cards) == 0 && !hasError(f.Problems) {
		f.Problems = append(f.Problems,
			Problem{Severity: markup.Error, Say: forms.Say("The form has no questions. Add one.")})
	}
	f.Broken = hasError(f.Problems)
	for _, card := range f.Cards {
		f.Broken = f.Broken || hasError(card.Problems)
	}
	e.addFields(f)
	return f, nil
}

func hasError(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == markup.Error })
}

// card is a card without its field, and without problems that only the parser finds.
func (e *editor) card(path place, card tree) Card {
	_, isNext := e.root.Get(after(path, 1))
	view := Card{
		Key: keyOf(path), Path: path, Kind: e.kindOf(card), Label: e.label(card), Section: isSection(card), Next: keyOf(path),
		InSection: len(path) > 2, Shown: e.shownIf(get(card, "showIf")), ByEditors: get(card, "by").Text != "",
		IsFirst: last(path) == 0, IsLast: !isNext,
	}
	isEmpty := view.Section && len(get(card, fieldsKey).Items) == 0
	if view.Section {
		view.Next += "."
	}
	if view.InSection && view.IsLast || isEmpty {
		view.After = keyOf(path[:2])
	}
	p := Problem{Severity: markup.Error}
	switch {
	case isEmpty:
		p.Say = forms.Say("This section has no questions yet.")
	case e.words(get(card, "label")) == "" && unnamed.MatchString(nameOf(card)):
		p.Say = sayNoLabel
	case view.Kind.has("options") && len(values(card)) == 0:
		p.Say = forms.Say("Add a choice.")
	default:
		return view
	}
	if !isNone(e.onPage(card)) {
		p.Severity = markup.Warning // it was good enough
	}
	view.Problems = []Problem{p}
	return view
}

// addProblems gives problems to their cards.
func (f *Form) addProblems(text string, diagnostics []markup.Diagnostic) {
	if len(diagnostics) == 0 {
		return
	}
	pathAt := markup.Paths(text)
	for _, d := range diagnostics {
		p := Problem{Severity: d.Severity, English: d.Message}
		if d.Hint != "" {
			p.English += " (" + d.Hint + ")"
		}
		at := pathAt(d.Line, d.Column)
		if d.Severity == markup.Error {
			p.Say = faults[keyAt(at)]
		}
		list := &f.Problems
		for i := range f.Cards {
			if slices.Equal(f.Cards[i].Path, cardPath(at)) {
				list = &f.Cards[i].Problems
			}
		}
		*list = append(*list, p)
	}
}

// addFields gives cards their fields. In a broken form, cards without an error have one.
func (e *editor) addFields(f *Form) {
	form := e.known.form
	var list []tree
	var shown []*Card
	for i := range f.Cards {
		view := &f.Cards[i]
		if view.Section || form == nil && hasError(view.Problems) {
			continue
		}
		card, _ := e.root.Get(view.Path)
		shown, list = append(shown, view), append(list, without(card, "showIf", "was", "min", "max"))
	}
	if form == nil {
		fields := markup.Change{Do: markup.Set, Path: place{fieldsKey}, Value: listOf(list)}
		text, _, _ := markup.Edit("form: 1", fields)
		form = cmp.Or(e.meaning(text, none).form, &forms.Form{})
	}
	f.Languages = len(form.Languages()) > 1
	for i, field := range form.Fields {
		shown[i].Field = field
	}
}

// shownIf says when a question is shown, nil for always.
func (e *editor) shownIf(showIf tree) (say *message) {
	match, rules := conditionOf(showIf)
	for _, t := range rules {
		r := readRule(t)
		_, card := e.find(r.field)
		var answers []string
		for _, choice := range choose(e.choices(card), r.values...) {
			if choice.Chosen {
				answers = append(answers, choice.Label)
			}
		}
		next := forms.Say("{0} {1} {2}", e.label(card), operatorOf(r.operator).Say, answers)
		switch {
		case say == nil:
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

// controls are the controls of a card or of the form, and some others.
func (e *editor) controls(t tree, list []control, prefix string, values map[string]string) map[string]Control {
	for _, k := range list {
		if value, shown := e.show(k, t); shown {
			values[k.name] = value
		}
	}
	all := map[string]Control{}
	for name, value := range values {
		all[name] = Control{prefix + name, value, e.faults[prefix+name]}
	}
	return all
}

// openCard has the controls of a card.
func (e *editor) openCard(path place, card tree) *OpenCard {
	open, kind, others := &OpenCard{}, e.kindOf(card), map[string]string{}
	if e.plain && kind.Name == "yesno" {
		kind = findKind("choice")
	}
	if match, rules := conditionOf(get(card, "showIf")); len(path) == 2 || match != "" {
		others["show"], open.Rules = match, e.showRules(path, rules)
	}
	if !isSection(card) {
		open.Kinds, others["kind"], others["id"] = Kinds[:len(Kinds)-1], kind.Name, nameOf(card)
		open.Sections = e.sections(keyOf(path[:len(path)-2]))
	}
	if open.Sections != nil {
		others["section"] = keyOf(path[:len(path)-2])
	}
	if e.faults[ChoiceControl] != nil {
		others["choice"] = ""
	}
	open.Controls = e.controls(card, kind.controls, "q-", others)
	if kind.has("options") {
		if open.Choices = e.choices(card); kind.Name != "yesno" {
			open.Choices = append(open.Choices, Choice{})
		}
		open.Defaults = choose(append([]Choice{{}}, e.choices(card)...), others["default"])
	}
	return open
}

// sections are the sections that a question may be in, nil for no sections.
func (e *editor) sections(chosen string) []Choice {
	list := []Choice{{}}
	for path, card := range cards(e.root) {
		if isSection(card) {
			list = append(list, Choice{Value: keyOf(path), Label: e.label(card)})
		}
	}
	if len(list) == 1 {
		return nil
	}
	return choose(list, chosen)
}
