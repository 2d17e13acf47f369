package markup

import (
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// condition checks the rules of an owner and makes its condition.
func (w *builder) condition(o *owner) {
	o.condition.Match = forms.MatchAll
	if o.raw.any {
		o.condition.Match = forms.MatchAny
	}
	for i := range o.raw.rules {
		if w.rules++; w.rules > MaxRules {
			w.errorf(o.raw.at, "", "the form has more than %d rules", MaxRules)
			return
		}
		o.condition.Rules = append(o.condition.Rules, w.rule(&o.raw.rules[i], o))
	}
}

func (w *builder) rule(raw *rawRule, o *owner) forms.Rule {
	rule := forms.Rule{FieldID: raw.field.text, Operator: forms.Operator(raw.operator.text)}
	rank, known := w.ranks[rule.FieldID]
	switch {
	case raw.field.null:
		w.errorf(raw.field.at, "", "the rule names no field")
	case !known:
		w.errorf(raw.field.at, w.nearestField(rule.FieldID), "unknown field %s", quote(rule.FieldID))
	case o.appliesTo(rank) && o.section == "":
		w.errorf(raw.field.at, "", "field %s depends on itself", quote(rule.FieldID))
	case o.appliesTo(rank):
		w.errorf(raw.field.at, "", "section %s depends on its own field %s", quote(o.section), quote(rule.FieldID))
	case rank >= o.first+o.count:
		w.warnf(raw.field.at, "put that field first", "%s depends on field %s, which comes later on the page", o.name(w.form), quote(rule.FieldID))
	}
	if raw.list != nil {
		rule.Operator, rule.Value = forms.InList, w.joinValues(raw)
	} else {
		w.operand(raw, &rule)
	}
	if known {
		w.warnOfSelection(raw, rule.Operator, &w.form.Fields[rank])
		w.countSearch(raw, rule, rank)
	}
	return rule
}

// countSearch bounds the work that one submission causes: a long value is
// searched once for each rule with contains about its field.
func (w *builder) countSearch(raw *rawRule, rule forms.Rule, rank int) {
	field := &w.form.Fields[rank]
	if !rule.Searches(field) {
		return
	}
	if w.searches[rank]++; w.searches[rank] == MaxSearches+1 {
		w.errorf(raw.at, "put fields that show together into a section with one showIf",
			"the form has more than %d rules that search field %s with contains", MaxSearches, quote(field.ID))
	}
}

// warnOfSelection warns of operators that compare all ticked options of a
// checkbox as one text. With one option there is no difference.
func (w *builder) warnOfSelection(raw *rawRule, o forms.Operator, f *forms.Field) {
	compares := o == forms.Equals || o == forms.NotEquals || o == forms.InList
	if compares && f.MultiValue() && len(f.Options) > 1 {
		w.warnf(raw.operator.at, "use contains", "%s compares all ticked options of checkbox %s as one text, not each option", raw.operator.text, quote(f.ID))
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

func (w *builder) joinValues(raw *rawRule) string {
	if len(raw.list.values) > MaxOptions {
		w.errorf(raw.list.at, "", "the rule has more than %d values", MaxOptions)
		return ""
	}
	var texts []string
	for _, v := range raw.list.values {
		w.checkListValue(v, "value")
		texts = append(texts, v.text)
	}
	return strings.Join(texts, forms.Separator)
}

// operand checks the single value of a rule.
func (w *builder) operand(raw *rawRule, rule *forms.Rule) {
	v := raw.one
	if !v.written() || v.invalid {
		return // it is missing, or the decoder has reported it
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

// findCycles reports conditions that depend on each other. The fields of a
// section share one condition, so the nodes of the search are owners, not fields.
func (w *builder) findCycles() {
	s := cycleSearch{builder: w, ownerOf: w.ownersByRank(), state: map[*owner]visit{}}
	for rank := range w.form.Fields {
		s.visit(rank)
	}
}

// ownersByRank returns the owner of each field's condition; nil for fields that
// always show.
func (w *builder) ownersByRank() []*owner {
	byRank := make([]*owner, len(w.form.Fields))
	for i := range w.owners {
		o := &w.owners[i]
		for rank := o.first; rank < o.first+o.count; rank++ {
			byRank[rank] = o
		}
	}
	return byRank
}

type visit byte

const (
	unvisited visit = iota
	onPath
	visited
)

type cycleSearch struct {
	*builder
	ownerOf []*owner
	state   map[*owner]visit
	path    []int // ranks of the fields by which the owners were reached
}

// visit walks depth first; the path is never longer than MaxFields.
func (s *cycleSearch) visit(rank int) {
	o := s.ownerOf[rank]
	if o == nil || s.state[o] != unvisited {
		return
	}
	s.state[o] = onPath
	s.path = append(s.path, rank)
	for i := range o.raw.rules {
		raw := &o.raw.rules[i]
		next, known := s.ranks[raw.field.text]
		if !known || o.appliesTo(next) {
			continue // rule has reported it
		}
		if to := s.ownerOf[next]; to != nil && s.state[to] == onPath {
			s.errorf(raw.field.at, "", "conditions form a cycle: %s", s.nameCycle(next))
		}
		s.visit(next)
	}
	s.path = s.path[:len(s.path)-1]
	s.state[o] = visited
}

// nameCycle describes the cycle that the path and the given field form, as in
// "a needs b needs a".
func (s *cycleSearch) nameCycle(closing int) string {
	const namedFields = 8
	start := slices.IndexFunc(s.path, func(rank int) bool { return s.ownerOf[rank] == s.ownerOf[closing] })
	first := quote(s.form.Fields[closing].ID)
	names := []string{first}
	for _, rank := range s.path[start+1:] {
		if len(names) == namedFields {
			names = append(names, "…")
			break
		}
		names = append(names, quote(s.form.Fields[rank].ID))
	}
	return strings.Join(append(names, first), " needs ")
}
