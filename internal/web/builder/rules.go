package builder

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

const oneOf = string(forms.InList)

// operators are the comparisons, as filters of results call them. Some make no sense for texts, one choice or several.
var operators = []Operator{
	{"equals", forms.Say("filter|is"), false, ""},
	{"not-equals", forms.Say("filter|is not"), false, ""},
	{oneOf, forms.Say("filter|is one of"), false, "text"},
	{"contains", forms.Say("filter|contains"), false, "one"},
	{"empty", forms.Say("filter|is empty"), false, ""},
	{"not-empty", forms.Say("filter|is not empty"), false, ""},
	{"greater-than", forms.Say("filter|is above or after"), false, "one several"},
	{"less-than", forms.Say("filter|is below or before"), false, "one several"},
}

// opposite has the comparisons that have no answer.
var opposite = map[string]string{"empty": "not-empty", "not-empty": "empty"}

func operatorOf(value string) Operator {
	i := slices.IndexFunc(operators, func(o Operator) bool { return o.Value == value })
	return operators[max(0, i)]
}

// rule is a comparison as its controls show it.
type rule struct {
	field, operator string
	values          []string // sorted: several have no order
}

func readRule(t tree) rule {
	r := rule{field: get(t, "field").Text}
	for i, value := range t.Items {
		if len(t.Keys) == 0 || t.Keys[i] == "field" {
			continue
		}
		r.operator, r.values = t.Keys[i], slices.Sorted(slices.Values(texts(value)))
		if value.Kind == markup.List {
			r.operator = oneOf
		}
	}
	if other := opposite[r.operator]; other != "" {
		if slices.Contains(r.values, "false") {
			r.operator = other
		}
		r.values = nil
	}
	return r
}

func (r rule) needsAnswer() bool { return opposite[r.operator] == "" }

// tree writes a rule. Without an answer that it needs, it is refused.
func (r rule) tree() tree {
	value := leaves(r.values)
	if !r.needsAnswer() {
		value = leaf("true")
	}
	return tree{Kind: markup.Mapping, Keys: []string{"field", r.operator}, Items: []tree{leaf(r.field), value}}
}

// conditionOf returns how the rules of a condition combine, and the rules. One alone needs no list.
func conditionOf(showIf tree) (match string, rules []tree) {
	switch {
	case isNone(showIf):
		return "", nil
	case len(showIf.Keys) == 1 && showIf.Items[0].Kind == markup.List:
		return showIf.Keys[0], showIf.Items[0].Items
	}
	return "all", []tree{showIf}
}

// withRules returns a condition with other rules.
func withRules(showIf tree, match string, rules []tree) tree {
	switch {
	case len(rules) == 0 || match == "":
		return none
	case len(rules) == 1 && len(showIf.Keys) != 1:
		return rules[0]
	}
	return put(none, listOf(rules), match)
}

// ruleControl begins the names of the controls of a rule.
func ruleControl(i int) string { return fmt.Sprintf("q-rule-%d-", i) }

// condition applies the controls of a condition. Rules that stay the same keep their spelling.
func (e *editor) condition(showIf tree, sent url.Values) tree {
	_, former := conditionOf(showIf)
	var rules []tree
	for i := range markup.MaxRules + 1 {
		name := ruleControl(i)
		r := rule{field: sent.Get(name + "field"), operator: operatorOf(sent.Get(name + "op")).Value}
		for _, value := range sent[name+"value"] {
			if value = clean(value, false); value != "" && r.needsAnswer() {
				r.values = append(r.values, value)
			}
		}
		slices.Sort(r.values)
		switch {
		case e.isButton("unrule", i):
		case i < len(former) && reflect.DeepEqual(r, readRule(former[i])):
			rules = append(rules, former[i])
		case r.field != "":
			rules = append(rules, e.complete(r))
		}
	}
	return withRules(showIf, sent.Get("q-show"), rules)
}

// complete writes a rule. One that only names a question gets the first choice, or any answer.
func (e *editor) complete(r rule) tree {
	card := e.cards[r.field].tree
	choices := values(card)
	switch {
	case !r.needsAnswer() || len(r.values) > 0:
	case len(choices) > 0:
		return chosen(card, r.operator, choices[0])
	case r.operator == "equals":
		r.operator = "not-empty"
	}
	return r.tree()
}

// chosen is a rule about a choice.
func chosen(card tree, operator, choice string) tree {
	if isMulti(card) && operator == "equals" {
		operator = "contains"
	}
	return rule{nameOf(card), operator, []string{choice}}.tree()
}

// showRules are the controls of the rules of a card, and of one more. They name questions before it.
func (e *editor) showRules(earlier []Choice, rules []tree) (list []Rule) {
	for i, t := range append(slices.Clone(rules), none) {
		r, name := readRule(t), ruleControl(i)
		card := e.cards[r.field].tree
		shown := Rule{
			Field: name + "field", Operator: name + "op", Value: name + "value",
			Fields: choose(earlier, r.field), NeedsAnswer: r.needsAnswer(), SeveralOf: r.operator == oneOf,
		}
		choices, answers := e.choices(card), "text"
		if len(choices) > 0 || shown.SeveralOf {
			shown.Answers = choose(choices, r.values...)
		} else {
			shown.Text = strings.Join(r.values, "")
		}
		if isMulti(card) {
			answers = "several"
		} else if len(choices) > 0 {
			answers = "one"
		}
		for _, o := range operators {
			o.Chosen = o.Value == r.operator
			if o.Chosen || r.field == "" || !strings.Contains(o.unfit, answers) {
				shown.Operators = append(shown.Operators, o)
			}
		}
		list = append(list, shown)
	}
	return list
}

func isMulti(card tree) bool { return get(card, "type").Text == "checkbox" }

// choose chooses values of a list. A value that is not there is added: otherwise another one would be sent.
func choose(list []Choice, values ...string) []Choice {
	list = slices.Clone(list)
	for _, value := range values {
		i := slices.IndexFunc(list, func(c Choice) bool { return c.Value == value })
		if i < 0 {
			i, list = len(list), append(list, Choice{Value: value, Label: value})
		}
		list[i].Chosen = true
	}
	return list
}
