package markup

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formulary/formulary/internal/forms"
)

const (
	ruleHint   = "write {field: …, equals: …}"
	showIfHint = ruleHint + ", or all: or any: with a list of such rules"
)

var ruleKeys = append([]string{"field"}, forms.Names(forms.Operators)...)

// condition reads the rules of an owner and makes its condition.
func (w *builder) condition(o *owner) {
	o.condition.Match = forms.MatchAll
	if !hasKey(o.showIf, "all", "any") {
		w.rule(o.showIf, o, "showIf", showIfHint)
		return
	}
	group := w.readMap(o.showIf, "showIf", showIfHint, []string{"all", "any"}, nil)
	if len(group.values) > 1 {
		w.errorf(group.at, "", `"all" and "any" exclude each other`)
		return
	}
	for key, list := range group.values {
		o.condition.Match = forms.Match(key)
		for _, n := range w.items(list, key, "write a list of rules: - "+ruleHint[len("write "):]) {
			switch {
			case w.rules == MaxRules:
				w.errorf(o.at, "", "the form has more than %d rules", MaxRules)
				return
			case hasKey(n, "all", "any"):
				w.errorf(n.Column, "", `"all" and "any" don't nest`)
			default:
				w.rule(n, o, "a rule", ruleHint)
			}
		}
	}
}

// rule reads one comparison: a field, and exactly one operator.
func (w *builder) rule(n *yaml.Node, o *owner, noun, hint string) {
	w.rules++
	m := w.readMap(n, noun, hint, ruleKeys, nil)
	if m == nil {
		return
	}
	field, operator := w.text(m, "field"), w.operator(m)
	if !field.written || field.null {
		w.errorf(m.at, hint, `the rule names no "field"`)
	}
	if !field.present() || operator == "" {
		return
	}
	rule := forms.Rule{FieldID: field.text, Operator: operator}
	w.operand(m, &rule)
	o.condition.Rules = append(o.condition.Rules, rule)
	rank, known := w.ranks[field.text]
	switch {
	case !known:
		w.errorf(field.at, w.nearestField(field.text), "unknown field %s", quote(field.text))
		return
	case o.appliesTo(rank):
		w.errorf(field.at, "", "%s depends on itself", o.name(w.form))
		return
	case rank >= o.first+o.count:
		w.warnf(field.at, "put that field first", "%s depends on field %s, which comes later on the page", o.name(w.form), quote(field.text))
	}
	o.needs = append(o.needs, need{field.at, rank})
	w.countScan(m.at, rule, rank)
	w.warnOfNoOption(m.at, o, rule, rank)
}

// operator returns the rule's operator, or "".
func (w *builder) operator(m *yamlMap) (operator forms.Operator) {
	for _, o := range forms.Operators {
		switch key := m.keys[string(o)]; {
		case key == nil:
		case operator != "":
			w.errorf(key.Column, "put the second one into a rule of its own", "a rule has one operator, but this one has %s and %s", operator, o)
		default:
			operator = o
		}
	}
	if operator == "" {
		w.errorf(m.at, oneOf(forms.Operators), "the rule has no operator")
	}
	return operator
}

// countScan bounds the work that one submission causes: each of these rules reads
// the answer, which may be as long as a request body.
func (w *builder) countScan(at int, rule forms.Rule, rank int) {
	if !rule.Scans() {
		return
	}
	if w.scans[rank]++; w.scans[rank] == MaxScans+1 {
		w.errorf(at, "put fields that show together into a section with one showIf",
			"the form has more than %d rules about field %s with other operators than equals, not-equals and one-of", MaxScans, quote(rule.FieldID))
	}
}

// nearestField is the hint for a field that does not exist. It is left out in
// large forms, where the search would take too long.
func (w *builder) nearestField(id string) string {
	const few = 100
	if len(w.form.Fields) > few || w.full() {
		return ""
	}
	var ids []string
	for i := range w.form.Fields {
		ids = append(ids, w.form.Fields[i].ID)
	}
	return didYouMean(nearest(id, ids))
}

// operand reads the value of a rule.
func (w *builder) operand(m *yamlMap, rule *forms.Rule) {
	key := string(rule.Operator)
	n := m.values[key]
	switch takesList := rule.Operator == forms.Equals || rule.Operator == forms.InList; {
	case takesList && n.Kind == yaml.SequenceNode:
		rule.Operator, rule.Value = forms.InList, w.joinValues(n.Column, w.list(n, key), "rule")
		return
	case rule.Operator == forms.Empty || rule.Operator == forms.NotEmpty:
		isEmpty := w.boolean(m, key) == (rule.Operator == forms.Empty) // not-empty: false is empty: true
		rule.Operator = forms.NotEmpty
		if isEmpty {
			rule.Operator = forms.Empty
		}
		return
	}
	v := w.scalar(n, key)
	rule.Value = v.text
	switch {
	case v.invalid:
	case v.null:
		w.errorf(v.at, "write empty: true if the field must be empty", "%s has no value", rule.Operator)
	case checkText(v.text) != "":
		w.errorf(v.at, "", "value %s %s", quote(v.text), checkText(v.text))
	case rule.Operator == forms.InList:
		w.checkListValue(v, "value")
	case rule.Operator == forms.Contains && v.text == "":
		w.errorf(v.at, "write not-empty: true if any value will do", "contains needs a text: everything contains an empty one")
	case (rule.Operator == forms.GreaterThan || rule.Operator == forms.LessThan) && !forms.Ordered(v.text):
		w.errorf(v.at, "use a number such as 12 or -3.5, or a day such as 2026-01-31", "%s needs a number or a day, not %s", rule.Operator, quote(v.text))
	}
}

func (w *builder) joinValues(at int, list []value, noun string) string {
	if len(list) > MaxOptions {
		w.errorf(at, "", "the %s has more than %d values", noun, MaxOptions)
		return ""
	}
	var texts []string
	for _, v := range list {
		w.checkListValue(v, "value")
		texts = append(texts, v.text)
	}
	return strings.Join(texts, forms.Separator)
}

// findCycles reports conditions that depend on each other. It walks depth first
// over owners, since the fields of a section share one condition.
func (w *builder) findCycles() {
	ownerOf := map[int]*owner{} // by rank
	for _, o := range w.owners {
		for rank := o.first; rank < o.first+o.count; rank++ {
			ownerOf[rank] = o
		}
	}
	onPath, visited := map[*owner]bool{}, map[*owner]bool{}
	var visit func(o *owner)
	visit = func(o *owner) {
		visited[o], onPath[o] = true, true
		for _, n := range o.needs {
			switch next := ownerOf[n.rank]; {
			case next == nil:
			case onPath[next]:
				w.errorf(n.at, "", "conditions form a cycle: %s needs field %s, which depends on it", o.name(w.form), quote(w.form.Fields[n.rank].ID))
			case !visited[next]:
				visit(next)
			}
		}
		onPath[o] = false
	}
	for _, o := range w.owners {
		if !visited[o] && o.count > 0 {
			visit(o)
		}
	}
}

// warnOfNoOption warns of a rule that compares a field with a value that is not
// one of its options.
func (w *builder) warnOfNoOption(at int, o *owner, rule forms.Rule, rank int) {
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
	const listed = 10
	for _, v := range values {
		if !w.options[rank][v] {
			w.warnf(at, oneOf(f.Options[:min(len(f.Options), listed)]),
				"%s depends on the value %s, which is not an option of field %s", o.name(w.form), quote(v), quote(f.ID))
			return
		}
	}
}
