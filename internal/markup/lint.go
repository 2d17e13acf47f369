package markup

import (
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// lint warns of rules that compare a field with a value that is not one of its
// options. It is called for forms without errors only.
func (w *builder) lint() {
	options := make([]map[string]bool, len(w.form.Fields)) // by rank: a rule and a field may have a thousand values each
	for _, o := range w.owners {
		for i, rule := range o.condition.Rules {
			rank := w.ranks[rule.FieldID]
			f := &w.form.Fields[rank]
			if options[rank] == nil {
				options[rank] = setOf(f.Options)
			}
			if value, found := noOption(rule, f, options[rank]); found {
				w.warnf(o.rules[i].at, "the options of "+quote(f.ID)+" are "+list(f.Options),
					"%s depends on the value %s, which is not an option of field %s", o.name(w.form), quote(value), quote(f.ID))
			}
		}
	}
}

// noOption returns the first value of a rule that can't be chosen in field f.
func noOption(rule forms.Rule, f *forms.Field, options map[string]bool) (value string, found bool) {
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
		if !options[v] {
			return v, true
		}
	}
	return "", false
}

func setOf(texts []string) map[string]bool {
	set := make(map[string]bool, len(texts))
	for _, t := range texts {
		set[t] = true
	}
	return set
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
