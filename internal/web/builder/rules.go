package builder

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/markup"
)

// rule is a comparison as its controls show it.
type rule struct {
	field, operator string
	values          []string
}

// conditionOf returns how the rules of a condition combine, and the rules. One alone needs no list.
func conditionOf(showIf tree) (match string, rules []tree) {
	for _, match := range []string{"all", "any"} {
		if list := get(showIf, match); list.Kind == markup.List {
			return match, list.Items
		}
	}
	if isNone(showIf) {
		return "", nil
	}
	return "all", []tree{showIf}
}

// opposite has the comparisons that have no answer.
var opposite = map[string]string{"empty": "not-empty", "not-empty": "empty"}

func readRule(t tree) rule {
	r := rule{field: get(t, "field").Text}
	for _, o := range operators {
		if !slices.Contains(t.Keys, o.Value) {
			continue
		}
		value := get(t, o.Value)
		r.operator, r.values = o.Value, texts(value)
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
	slices.Sort(r.values) // several have no order
	return r
}

func (r rule) needsAnswer() bool { return opposite[r.operator] == "" }

func (r rule) tree() tree {
	value := leaf("true")
	if r.operator == oneOf {
		value = leaves(r.values)
	} else if len(r.values) > 0 {
		value = leaf(r.values[0])
	}
	return tree{Kind: markup.Mapping, Keys: []string{"field", r.operator}, Items: []tree{leaf(r.field), value}}
}

func ruleControl(i int, part string) string { return fmt.Sprintf("q-rule-%d-%s", i, part) }

// condition applies the controls of a condition. Rules that stay the same keep their spelling.
func (e *editor) condition(showIf tree, sent url.Values) tree {
	match := sent.Get("q-show")
	formerMatch, former := conditionOf(showIf)
	var rules []tree
	for i := 0; i <= markup.MaxRules && sent.Has(ruleControl(i, "field")); i++ {
		if e.isButton("unrule", i) {
			continue
		}
		r := rule{field: sent.Get(ruleControl(i, "field")), operator: operatorOf(sent.Get(ruleControl(i, "op"))).Value}
		for _, value := range sent[ruleControl(i, "value")] {
			if value = clean(value, false); value != "" && r.needsAnswer() {
				r.values = append(r.values, value)
			}
		}
		slices.Sort(r.values)
		if i < len(former) && reflect.DeepEqual(r, readRule(former[i])) {
			rules = append(rules, former[i])
		} else if r.field != "" {
			rules = append(rules, e.complete(r).tree())
		}
	}
	switch {
	case len(rules) == 0 || match == "":
		return none
	case len(rules) > 1 || get(showIf, formerMatch).Kind == markup.List:
		return put(none, match, listOf(rules))
	default:
		return rules[0]
	}
}

// complete adds the first choice, or any answer, to a rule that only names a question.
func (e *editor) complete(r rule) rule {
	_, card := e.find(r.field)
	choices := values(card)
	switch {
	case !r.needsAnswer() || len(r.values) > 0:
	case len(choices) > 0:
		if r.values = choices[:1]; isMulti(card) && r.operator == "equals" {
			r.operator = "contains"
		}
	case r.operator == "equals":
		r.operator = "not-empty"
	default:
		r.values = []string{""} // is refused
	}
	return r
}

// showRules are the controls of the rules of a card, and of one more. They name questions before it.
func (e *editor) showRules(to place, rules []tree) (list []Rule) {
	earlier := []Choice{{}}
	for path, card := range cards(e.root) {
		if slices.Equal(path, to) {
			break
		}
		if !isSection(card) {
			earlier = append(earlier, Choice{Value: nameOf(card), Label: e.label(card)})
		}
	}
	for i, t := range append(slices.Clone(rules), none) {
		r := readRule(t)
		_, card := e.find(r.field)
		choices := e.choices(card)
		shown := Rule{
			Field: ruleControl(i, "field"), Operator: ruleControl(i, "op"), Value: ruleControl(i, "value"),
			Fields: choose(earlier, r.field), NeedsAnswer: r.needsAnswer(), SeveralOf: r.operator == oneOf,
		}
		if len(choices) > 0 || shown.SeveralOf {
			shown.Answers = choose(choices, r.values...)
		} else {
			shown.Text = strings.Join(r.values, "")
		}
		for _, o := range operators {
			o.Chosen = o.Value == r.operator
			if o.Chosen || r.field == "" || !slices.Contains(unfit(card), o.Value) {
				shown.Operators = append(shown.Operators, o)
			}
		}
		list = append(list, shown)
	}
	return list
}

// unfit are comparisons that make no sense for the answers to a question.
func unfit(card tree) []string {
	switch {
	case len(values(card)) == 0:
		return []string{oneOf}
	case isMulti(card):
		return []string{"greater-than", "less-than"}
	default:
		return []string{"contains", "greater-than", "less-than"}
	}
}

func operatorOf(value string) Operator {
	i := slices.IndexFunc(operators, func(o Operator) bool { return o.Value == value })
	return operators[max(0, i)]
}

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
