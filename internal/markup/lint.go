package markup

import (
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// lint warns of rules that compare a field with what is not among its options.
// It looks only at forms without errors.
func (w *builder) lint() {
	for _, c := range w.carriers {
		for i, rule := range c.condition.Rules {
			f := &w.form.Fields[w.ranks[rule.FieldID]]
			if value, found := noOption(rule, f); found {
				w.warnf(c.raw.rules[i].at, "the options of "+quote(f.ID)+" are "+list(f.Options),
					"%s waits for %s, which is no option of field %s", c.name(w.form), quote(value), quote(f.ID))
			}
		}
	}
}

// noOption returns the first value of a rule that can't be chosen in field f.
func noOption(rule forms.Rule, f *forms.Field) (value string, found bool) {
	values := []string{rule.Value}
	switch {
	case len(f.Options) == 0:
		return "", false
	case rule.Operator == forms.InList, rule.Operator == forms.Equals && f.MultiValue():
		values = strings.Split(rule.Value, forms.Separator)
	case rule.Operator == forms.Equals && rule.Value != "", rule.Operator == forms.Contains && f.MultiValue():
	default:
		return "", false
	}
	for _, v := range values {
		if !slices.Contains(f.Options, v) {
			return v, true
		}
	}
	return "", false
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
