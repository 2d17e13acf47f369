package markup

import (
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// condition checks a carrier's rules and makes its condition.
func (w *builder) condition(c *carrier) {
	c.condition.Match = forms.MatchAll
	if c.raw.any {
		c.condition.Match = forms.MatchAny
	}
	for i := range c.raw.rules {
		if w.rules++; w.rules > MaxRules {
			w.errorf(c.raw.at, "", "the form has more than %d rules", MaxRules)
			return
		}
		c.condition.Rules = append(c.condition.Rules, w.rule(&c.raw.rules[i], c))
	}
}

func (w *builder) rule(raw *rawRule, c *carrier) forms.Rule {
	rule := forms.Rule{FieldID: raw.field.text, Operator: forms.Operator(raw.operator.text)}
	rank, known := w.ranks[rule.FieldID]
	switch {
	case raw.field.null:
		w.errorf(raw.field.at, "", "the rule names no field")
	case !known:
		w.errorf(raw.field.at, w.nearestField(rule.FieldID), "unknown field %s", quote(rule.FieldID))
	case c.governs(rank) && c.section == "":
		w.errorf(raw.field.at, "", "field %s depends on itself", quote(rule.FieldID))
	case c.governs(rank):
		w.errorf(raw.field.at, "", "section %s depends on its own field %s", quote(c.section), quote(rule.FieldID))
	case rank >= c.first+c.count:
		w.warnf(raw.field.at, "put that field before", "%s depends on field %s, which stands later on the page", c.name(w.form), quote(rule.FieldID))
	}
	if raw.list != nil {
		rule.Operator, rule.Value = forms.InList, w.joined(raw)
	} else {
		w.operand(raw, &rule)
	}
	if known {
		w.warnOfSelection(raw, rule.Operator, &w.form.Fields[rank])
		w.countSearch(raw, rule, rank)
	}
	return rule
}

// countSearch bounds the work that one submission makes: a long value is
// searched once for each such rule about its field.
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

// warnOfSelection warns of operators that compare all that is ticked as one
// text. With a single option to tick that is what it looks like.
func (w *builder) warnOfSelection(raw *rawRule, o forms.Operator, f *forms.Field) {
	compares := o == forms.Equals || o == forms.NotEquals || o == forms.InList
	if compares && f.MultiValue() && len(f.Options) > 1 {
		w.warnf(raw.operator.at, "use contains", "%s compares all that is ticked in checkbox %s, not each option", raw.operator.text, quote(f.ID))
	}
}

// nearestField is the hint for a field that does not exist. In a large form
// the search would cost more than it helps.
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

func (w *builder) joined(raw *rawRule) string {
	if len(raw.list.values) > MaxOptions {
		w.errorf(raw.list.at, "", "the rule has more than %d values", MaxOptions)
		return ""
	}
	var texts []string
	for _, v := range raw.list.values {
		w.listed(v, "value")
		texts = append(texts, v.text)
	}
	return strings.Join(texts, forms.Separator)
}

// operand checks the single value of a rule.
func (w *builder) operand(raw *rawRule, rule *forms.Rule) {
	v := raw.one
	if !v.written() || v.odd {
		return // the decoder has complained about its shape
	}
	rule.Value = v.text
	if rule.Operator == forms.Empty || rule.Operator == forms.NotEmpty {
		w.emptiness(v, rule)
		return
	}
	if v.null {
		w.errorf(v.at, "write empty: true if the field shall be empty", "%s has no value", rule.Operator)
		return
	}
	if reason := checkText(v.text); reason != "" {
		w.errorf(v.at, "", "value %s %s", quote(v.text), reason)
		return
	}
	switch rule.Operator {
	case forms.InList:
		w.listed(v, "value")
	case forms.Contains:
		if v.text == "" {
			w.errorf(v.at, "write not-empty: true if anything will do", "contains needs a text: everything contains an empty one")
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

// findCycles reports conditions that wait for each other. The fields of a
// section wait for the same things, so that the search goes from carrier to
// carrier.
func (w *builder) findCycles() {
	s := cycleSearch{builder: w, carrierOf: w.carriersByRank(), state: map[*carrier]visit{}}
	for rank := range w.form.Fields {
		s.visit(rank)
	}
}

// carriersByRank holds nil for fields that always show.
func (w *builder) carriersByRank() []*carrier {
	byRank := make([]*carrier, len(w.form.Fields))
	for i := range w.carriers {
		c := &w.carriers[i]
		for rank := c.first; rank < c.first+c.count; rank++ {
			byRank[rank] = c
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
	carrierOf []*carrier
	state     map[*carrier]visit
	path      []int // ranks of the fields by which the carriers were reached
}

// visit walks depth first; the path is never longer than MaxFields.
func (s *cycleSearch) visit(rank int) {
	c := s.carrierOf[rank]
	if c == nil || s.state[c] != unvisited {
		return
	}
	s.state[c] = onPath
	s.path = append(s.path, rank)
	for i := range c.raw.rules {
		raw := &c.raw.rules[i]
		next, known := s.ranks[raw.field.text]
		if !known || c.governs(next) {
			continue // reported as such
		}
		if to := s.carrierOf[next]; to != nil && s.state[to] == onPath {
			s.errorf(raw.field.at, "", "conditions run in a circle: %s", s.nameCycle(next))
		}
		s.visit(next)
	}
	s.path = s.path[:len(s.path)-1]
	s.state[c] = visited
}

// nameCycle names the fields of the circle that the path closes with the
// given field, in the words "a needs b".
func (s *cycleSearch) nameCycle(closing int) string {
	const namedFields = 8
	start := slices.IndexFunc(s.path, func(rank int) bool { return s.carrierOf[rank] == s.carrierOf[closing] })
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
