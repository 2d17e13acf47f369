package markup

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

const (
	ruleHint   = "write {field: …, equals: …}"
	showIfHint = ruleHint + ", or all: or any: with a list of such rules"
)

var ruleKeys = append([]string{"field"}, operatorNames()...)

func operatorNames() []string {
	names := make([]string, len(forms.Operators))
	for i, o := range forms.Operators {
		names[i] = string(o)
	}
	return names
}

// condition reads the rules of an owner and makes its condition.
func (w *builder) condition(o *owner) {
	o.condition.Match = forms.MatchAll
	if !hasKey(o.showIf, "all", "any") {
		w.rule(o.showIf, o, "showIf", showIfHint)
		return
	}
	group := w.readMap(o.showIf, "showIf", showIfHint, []string{"all", "any"})
	if len(group.values) > 1 {
		w.errorf(group.at, "", `"all" and "any" exclude each other`)
		return
	}
	for key, list := range group.values {
		o.condition.Match = forms.Match(key)
		for _, n := range w.items(list, key, "write a list of rules: - "+ruleHint[len("write "):]) {
			switch {
			case w.spent():
				return
			case w.rules == MaxRules:
				w.errorf(o.at, "", "the form has more than %d rules", MaxRules)
				return
			case hasKey(n, "all", "any"):
				w.misplaced(n, "", `"all" and "any" don't nest`)
			default:
				w.rule(n, o, "a rule", ruleHint)
			}
		}
	}
}

// rule reads one comparison: a field, and exactly one operator.
func (w *builder) rule(n *yaml.Node, o *owner, noun, hint string) {
	w.rules++
	m := w.readMap(n, noun, hint, ruleKeys)
	if m == nil {
		return
	}
	field, operator := w.text(m, "field"), w.operator(m)
	if !field.written() {
		w.errorf(m.at, hint, `the rule names no "field"`)
	}
	if !field.written() || field.invalid || !operator.written() {
		return
	}
	rule := forms.Rule{FieldID: field.text, Operator: forms.Operator(operator.text)}
	rank, known := w.ranks[rule.FieldID]
	switch {
	case field.null:
		w.errorf(field.at, "", "the rule names no field")
	case !known:
		w.errorf(field.at, w.nearestField(rule.FieldID), "unknown field %s", quote(rule.FieldID))
	case o.appliesTo(rank) && o.section == "":
		w.errorf(field.at, "", "field %s depends on itself", quote(rule.FieldID))
	case o.appliesTo(rank):
		w.errorf(field.at, "", "section %s depends on its own field %s", quote(o.section), quote(rule.FieldID))
	case rank >= o.first+o.count:
		w.warnf(field.at, "put that field first", "%s depends on field %s, which comes later on the page", o.name(w.form), quote(rule.FieldID))
	}
	w.operand(m.values[operator.text], &rule)
	if known {
		w.warnOfSelection(operator, rule.Operator, &w.form.Fields[rank])
		w.countSearch(m.at, rule, rank)
		w.warnOfNoOption(m.at, o, rule, rank)
	}
	o.condition.Rules = append(o.condition.Rules, rule)
	o.fields = append(o.fields, field)
}

// operator returns the key of the rule's operator.
func (w *builder) operator(m *yamlMap) (operator value) {
	for _, o := range forms.Operators {
		switch key := m.keys[string(o)]; {
		case key == nil:
		case operator.written():
			w.errorf(spotOf(key), "put the second one into a rule of its own", "a rule has one operator, but this one has %s and %s", operator.text, o)
		default:
			operator = value{text: string(o), at: spotOf(key)}
		}
	}
	if !operator.written() {
		w.errorf(m.at, oneOf(forms.Operators), "the rule has no operator")
	}
	return operator
}

// countSearch bounds the work that one submission causes: a long value is
// searched once for each rule with contains about its field.
func (w *builder) countSearch(at spot, rule forms.Rule, rank int) {
	field := &w.form.Fields[rank]
	if !rule.Searches(field) {
		return
	}
	if w.searches[rank]++; w.searches[rank] == MaxSearches+1 {
		w.errorf(at, "put fields that show together into a section with one showIf",
			"the form has more than %d rules that search field %s with contains", MaxSearches, quote(field.ID))
	}
}

// warnOfSelection warns of operators that compare all ticked options of a
// checkbox as one text. With one option there is no difference.
func (w *builder) warnOfSelection(operator value, o forms.Operator, f *forms.Field) {
	compares := o == forms.Equals || o == forms.NotEquals || o == forms.InList
	if compares && f.MultiValue() && len(f.Options) > 1 {
		w.warnf(operator.at, "use contains", "%s compares all ticked options of checkbox %s as one text, not each option", operator.text, quote(f.ID))
	}
}

// nearestField is the hint for a field that does not exist. It is left out in
// large forms, where the search would take too long.
func (w *builder) nearestField(id string) string {
	const few = 100
	if len(w.form.Fields) > few || w.full() {
		return ""
	}
	ids := make([]string, 0, len(w.form.Fields))
	for i := range w.form.Fields {
		ids = append(ids, w.form.Fields[i].ID)
	}
	if near := nearest(id, ids); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	return ""
}

// operand reads the value of a rule.
func (w *builder) operand(n *yaml.Node, rule *forms.Rule) {
	takesList := rule.Operator == forms.Equals || rule.Operator == forms.InList
	if takesList && resolveAlias(n).Kind == yaml.SequenceNode {
		list := w.list(n, string(rule.Operator))
		rule.Operator, rule.Value = forms.InList, w.joinValues(list)
		return
	}
	v := w.scalar(n, string(rule.Operator))
	if v.invalid {
		return
	}
	rule.Value = v.text
	if rule.Operator == forms.Empty || rule.Operator == forms.NotEmpty {
		w.emptiness(v, rule)
		return
	}
	if v.null {
		w.errorf(v.at, "write empty: true if the field must be empty", "%s has no value", rule.Operator)
		return
	}
	if reason := checkText(v.text); reason != "" {
		w.errorf(v.at, "", "value %s %s", quote(v.text), reason)
		return
	}
	switch rule.Operator {
	case forms.InList:
		w.checkListValue(v, "value")
	case forms.Contains:
		if v.text == "" {
			w.errorf(v.at, "write not-empty: true if any value will do", "contains needs a text: everything contains an empty one")
		}
	case forms.GreaterThan, forms.LessThan:
		if !forms.Ordered(v.text) {
			w.errorf(v.at, "use a number such as 12 or -3.5, or a day such as 2026-01-31", "%s needs a number or a day, not %s", rule.Operator, quote(v.text))
		}
	}
}

func (w *builder) joinValues(list valueList) string {
	if len(list.values) > MaxOptions {
		w.errorf(list.at, "", "the rule has more than %d values", MaxOptions)
		return ""
	}
	var texts []string
	for _, v := range list.values {
		w.checkListValue(v, "value")
		texts = append(texts, v.text)
	}
	return strings.Join(texts, forms.Separator)
}

func (w *builder) emptiness(v value, rule *forms.Rule) {
	rule.Value = ""
	if v.null {
		w.errorf(v.at, "use true or false", "%s has no value", rule.Operator)
		return
	}
	if w.boolean(v, string(rule.Operator)) {
		return
	}
	if rule.Operator == forms.Empty {
		rule.Operator = forms.NotEmpty
	} else {
		rule.Operator = forms.Empty
	}
}

// findCycles reports conditions that depend on each other. It walks depth first
// over owners, since the fields of a section share one condition.
func (w *builder) findCycles() {
	ownerOf := map[int]*owner{} // by rank
	for i := range w.owners {
		for rank := range w.owners[i].count {
			ownerOf[w.owners[i].first+rank] = &w.owners[i]
		}
	}
	visited := map[*owner]bool{}
	var path []*owner
	var names []string // of the fields by which the owners on the path were reached
	var visit func(o *owner, name string)
	visit = func(o *owner, name string) {
		visited[o] = true
		path, names = append(path, o), append(names, quote(name))
		for _, field := range o.fields {
			rank, known := w.ranks[field.text]
			next := ownerOf[rank]
			if !known || next == nil || next == o { // rule has reported the first and the last
				continue
			}
			if i := slices.Index(path, next); i >= 0 {
				w.errorf(field.at, "", "conditions form a cycle: %s", nameCycle(quote(field.text), names[i+1:]))
			} else if !visited[next] {
				visit(next, field.text)
			}
		}
		path, names = path[:len(path)-1], names[:len(names)-1]
	}
	for i := range w.owners {
		if o := &w.owners[i]; !visited[o] && o.count > 0 {
			visit(o, w.form.Fields[o.first].ID)
		}
	}
}

// nameCycle describes a cycle, as in "a needs b needs a".
func nameCycle(closing string, between []string) string {
	const namedFields = 7
	if len(between) > namedFields {
		between = append(slices.Clip(between[:namedFields]), "…")
	}
	return strings.Join(slices.Concat([]string{closing}, between, []string{closing}), " needs ")
}

// warnOfNoOption warns of a rule that compares a field with a value that is not
// one of its options.
func (w *builder) warnOfNoOption(at spot, o *owner, rule forms.Rule, rank int) {
	f := &w.form.Fields[rank]
	values := []string{rule.Value}
	switch {
	case len(f.Options) == 0:
		return
	case rule.Operator == forms.InList, rule.Operator == forms.Equals && f.MultiValue():
		values = strings.Split(rule.Value, forms.Separator)
	case rule.Operator == forms.Equals && rule.Value != "", rule.Operator == forms.Contains && f.MultiValue():
	default:
		return
	}
	if w.optionSets[rank] == nil { // a rule and a field may have a thousand values each
		w.optionSets[rank] = map[string]bool{}
		for _, option := range f.Options {
			w.optionSets[rank][option] = true
		}
	}
	for _, v := range values {
		if !w.optionSets[rank][v] {
			w.warnf(at, "the options of "+quote(f.ID)+" are "+quoteList(f.Options),
				"%s depends on the value %s, which is not an option of field %s", o.name(w.form), quote(v), quote(f.ID))
			return
		}
	}
}

// quoteList quotes the first options.
func quoteList(options []string) string {
	const listed = 10
	quoted := make([]string, 0, listed+1)
	for _, o := range options[:min(len(options), listed)] {
		quoted = append(quoted, quote(o))
	}
	if len(options) > listed {
		quoted = append(quoted, "…")
	}
	return strings.Join(quoted, ", ")
}
