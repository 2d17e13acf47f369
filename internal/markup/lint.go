package markup

import (
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// lint warns of rules that compare a field with a value that is not one of its
// options. It is called for forms without errors only.
func (w *builder) lint() {
	for _, o := range w.owners {
		for i, rule := range o.condition.Rules {
			f := &w.form.Fields[w.ranks[rule.FieldID]]
			if value, found := noOption(rule, f); found {
				w.warnf(o.raw.rules[i].at, "the options of "+quote(f.ID)+" are "+list(f.Options),
					"%s depends on the value %s, which is not an option of field %s", o.name(w.form), quote(value), quote(f.ID))
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

// list quotes the first options.
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
