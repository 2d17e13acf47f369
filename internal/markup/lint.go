package markup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// lint warns of fields that can never show. It looks only at forms without
// errors: conditions refer to known fields, and don't run in circles.
func (w *builder) lint() {
	l := &linter{
		form:      w.form,
		ranks:     w.ranks,
		carrierOf: w.carriersByRank(),
		reasons:   map[*carrier]*reason{},
		options:   map[int]map[string]bool{},
	}
	for i := range w.carriers {
		c := &w.carriers[i]
		if r := l.never(c); r.rule >= 0 {
			w.warnf(c.raw.rules[r.rule].at, r.hint, "%s can never show: %s", l.describe(c), r.text)
		}
	}
}

type linter struct {
	form      *forms.Form
	ranks     map[string]int
	carrierOf []*carrier
	reasons   map[*carrier]*reason
	options   map[int]map[string]bool // by rank
}

// reason tells which rule keeps a carrier from showing; rule is -1 when none does.
type reason struct {
	rule       int
	text, hint string
}

func (l *linter) describe(c *carrier) string {
	required := slices.ContainsFunc(l.form.Fields[c.first:c.first+c.count], func(f forms.Field) bool { return f.Required })
	switch {
	case !required:
		return c.name(l.form)
	case c.section == "":
		return "required " + c.name(l.form)
	default:
		return c.name(l.form) + " with required fields in it"
	}
}

// never tells why the carrier's condition can't hold, as far as can be told.
func (l *linter) never(c *carrier) *reason {
	if r := l.reasons[c]; r != nil {
		return r
	}
	var r *reason
	if c.condition.Match == forms.MatchAny {
		r = l.neverAny(c)
	} else {
		r = l.neverAll(c)
	}
	l.reasons[c] = r
	return r
}

func (l *linter) neverAny(c *carrier) *reason {
	for _, rule := range c.condition.Rules {
		if l.satisfiable(rule) {
			return &reason{rule: -1}
		}
	}
	r := l.explain(0, c.condition.Rules[:1])
	if len(c.condition.Rules) > 1 {
		r.text = "none of its rules can hold"
	}
	return r
}

func (l *linter) neverAll(c *carrier) *reason {
	byField := map[string][]forms.Rule{}
	for i, rule := range c.condition.Rules {
		if !l.satisfiable(rule) {
			return l.explain(i, []forms.Rule{rule})
		}
		byField[rule.FieldID] = append(byField[rule.FieldID], rule)
	}
	for i, rule := range c.condition.Rules {
		group := byField[rule.FieldID]
		if len(group) > 1 && !l.satisfiable(group...) {
			return l.explain(i, group)
		}
		delete(byField, rule.FieldID)
	}
	return &reason{rule: -1}
}

func (l *linter) explain(i int, rules []forms.Rule) *reason {
	rank := l.ranks[rules[0].FieldID]
	f := &l.form.Fields[rank]
	r := &reason{rule: i}
	switch {
	case !l.canShow(rank):
		r.text = fmt.Sprintf("it depends on field %s, which can never show", quote(f.ID))
	case len(rules) > 1:
		r.text = fmt.Sprintf("no value of field %s meets all its rules", quote(f.ID))
	case rules[0].Operator == forms.Empty:
		r.text = fmt.Sprintf("field %s is required and always shows, so it is never empty", quote(f.ID))
	default:
		r.text = fmt.Sprintf("no value of field %s meets its rule", quote(f.ID))
	}
	if len(f.Options) > 0 && rules[0].Operator != forms.Empty {
		r.hint = fmt.Sprintf("the options of %s are %s", quote(f.ID), list(f.Options))
	}
	return r
}

func list(options []string) string {
	const listed = 10
	quoted := make([]string, 0, listed)
	for i, o := range options {
		if i == listed {
			return strings.Join(quoted, ", ") + ", …"
		}
		quoted = append(quoted, quote(o))
	}
	return strings.Join(quoted, ", ")
}

func (l *linter) canShow(rank int) bool {
	c := l.carrierOf[rank]
	return c == nil || l.never(c).rule < 0
}

// satisfiable reports whether some value of the field that the rules are
// about meets all of them. When in doubt it says yes.
func (l *linter) satisfiable(rules ...forms.Rule) bool {
	rank := l.ranks[rules[0].FieldID]
	f := &l.form.Fields[rank]
	candidates, source, all := []string{""}, -1, true // a field that never shows counts as empty
	if l.canShow(rank) {
		if f.MultiValue() {
			return !slices.ContainsFunc(rules, func(r forms.Rule) bool { return !l.ticked(r, rank) })
		}
		candidates, source, all = l.candidates(rank, rules)
	}
	if !all || len(candidates) == 0 {
		return !all
	}
	var tests []func(string) bool
	for i, r := range rules {
		if i != source {
			tests = append(tests, test(r, f))
		}
	}
	return slices.ContainsFunc(candidates, func(value string) bool {
		return !slices.ContainsFunc(tests, func(holds func(string) bool) bool { return !holds(value) })
	})
}

// test is Rule.Holds, made ready for many values.
func test(r forms.Rule, f *forms.Field) func(string) bool {
	if r.Operator != forms.InList {
		return func(value string) bool { return r.Holds(f, value) }
	}
	set := map[string]bool{}
	for v := range strings.SplitSeq(r.Value, forms.Separator) {
		set[v] = true
	}
	return func(value string) bool { return set[value] }
}

// candidates returns values of a single-value field, one of which meets the
// rules if any value does; all is false when there are too many to list.
// source is the rule that all of them meet already, or -1.
func (l *linter) candidates(rank int, rules []forms.Rule) (values []string, source int, all bool) {
	f := &l.form.Fields[rank]
	for i, r := range rules {
		if r.Operator == forms.Equals || r.Operator == forms.InList {
			named := []string{r.Value}
			if r.Operator == forms.InList {
				named = strings.Split(r.Value, forms.Separator)
			}
			return slices.DeleteFunc(named, func(v string) bool { return !l.takes(rank, v) }), i, true
		}
	}
	if l.takes(rank, "") {
		values = []string{""}
	}
	onlyEmpty := slices.ContainsFunc(rules, func(r forms.Rule) bool { return r.Operator == forms.Empty })
	return append(values, f.Options...), -1, len(f.Options) > 0 || onlyEmpty
}

// takes reports whether a field can have the value. A field that may be
// hidden can be empty even when it is required.
func (l *linter) takes(rank int, value string) bool {
	f := &l.form.Fields[rank]
	if strings.TrimSpace(value) == "" {
		return !f.Required || f.Condition != nil
	}
	return len(f.Options) == 0 || l.optionSet(rank)[value]
}

func (l *linter) optionSet(rank int) map[string]bool {
	set := l.options[rank]
	if set == nil {
		set = map[string]bool{}
		for _, o := range l.form.Fields[rank].Options {
			set[o] = true
		}
		l.options[rank] = set
	}
	return set
}

// ticked reports whether some choice of options meets the rule. Rules on
// several values are looked at one by one: they rarely exclude each other.
func (l *linter) ticked(r forms.Rule, rank int) bool {
	f := &l.form.Fields[rank]
	takes := func(v string) bool { return l.takes(rank, v) }
	switch r.Operator {
	case forms.Empty:
		return takes("")
	case forms.Equals:
		return !slices.ContainsFunc(strings.Split(r.Value, forms.Separator), func(v string) bool { return !takes(v) })
	case forms.InList:
		return slices.ContainsFunc(strings.Split(r.Value, forms.Separator), takes)
	case forms.Contains:
		return takes(r.Value)
	case forms.GreaterThan, forms.LessThan:
		return len(f.Options) == 0 || slices.ContainsFunc(f.Options, func(o string) bool { return r.Holds(f, o) })
	default:
		return true
	}
}
