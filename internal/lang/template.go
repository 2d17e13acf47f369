package lang

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// templateCalls are those of t and tn in templates: one or two texts, and arguments, which are fields, variables or
// calls in parentheses.
var templateCalls = regexp.MustCompile(
	"(?:\\s*{{- t|{{t)(n?)(?:\\s+(" + templateText + "))?\\s+(" + templateText + ")((?:\\s+" + argument.String() + ")*)}}")

const templateText = "\"[^\"]*\"|`[^`]*`"

var (
	argument    = regexp.MustCompile(`(?:[.$][\w.]*|\([^()]*\))`)
	placeholder = regexp.MustCompile(`\{\d\}`)
)

// Funcs are functions that translated templates call.
func (l *Language) Funcs() map[string]any {
	return map[string]any{"count": l.Count, "plural": l.plural}
}

// Translate puts the texts of the language into the source of a template:
//
//	{{t "Sent by {0} on {1}" .Name (include "time" .At)}}
//	{{tn "{0} submission" "{0} submissions" .Count}}
//
// becomes Gesendet von {{.Name}} am {{template "time" .At}}, and a branch for each plural form. The first argument of
// tn is the number that decides. Messages may have tags of HTML. Texts cost nothing when a page is made, and arguments
// are escaped as they need to be at their place.
func (l *Language) Translate(source string) string {
	return templateCalls.ReplaceAllStringFunc(source, func(call string) string {
		parts := templateCalls.FindStringSubmatch(call)
		one, text := textsOf(parts)
		args := argument.FindAllString(parts[4], -1)
		if one == "" {
			return fill(l.find("", text, other), args)
		}
		number := args[0]
		args[0] = "(count " + number + ")"
		most := fill(l.find(one, text, other), args)
		translated := most
		for _, form := range categories {
			if inForm := fill(l.find(one, text, form), args); inForm != most {
				translated = fmt.Sprintf("{{if eq (plural %s) %q}}%s{{else}}%s{{end}}", number, form, inForm, translated)
			}
		}
		return translated
	})
}

// textsOf are the texts of a call. tn has two, or one that is the same for any number; t has no first one.
func textsOf(call []string) (one, text string) {
	text = unquote(call[3])
	if call[1] != "" {
		one = cmp.Or(unquote(call[2]), text)
	}
	return one, text
}

// unquote is the text of a literal, which may have several lines; "" for none.
func unquote(literal string) string {
	text, _ := strconv.Unquote(literal) // the pattern has found it
	return strings.ReplaceAll(text, "\n", " ")
}

// fill writes the arguments of a text as a template does: {{ARG}}, or {{template NAME DATA}} for (include NAME DATA).
func fill(text string, args []string) string {
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		action := strings.TrimSuffix(strings.TrimPrefix(args[p[1]-'0'], "("), ")")
		if data, ok := strings.CutPrefix(action, "include"); ok {
			action = "template" + data
		}
		return "{{" + action + "}}"
	})
}
