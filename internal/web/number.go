package web

import (
	"regexp"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
)

// Numbers as people write them. An apostrophe stands for all marks that only separate
// groups of three digits; see groupMarks. conditions.js has the same.
var (
	groupMarks    = strings.NewReplacer(" ", "'", "\u00a0", "'", "\u2009", "'", "\u202f", "'", "\u2019", "'")
	writtenNumber = regexp.MustCompile(`^-?(?:[0-9]+,[0-9]+|[1-9][0-9]{0,2}(?:` +
		`(?:'[0-9]{3})+(?:[.,][0-9]+)?|` + // 1'000.5
		`(?:\.[0-9]{3})+,[0-9]+|(?:,[0-9]{3})+\.[0-9]+|` + // 1.234,5
		`(?:\.[0-9]{3}){2,}|(?:,[0-9]{3}){2,}))$`) // 1.234.567
	ambiguousNumber = regexp.MustCompile(`^(-?[1-9][0-9]{0,2})[.,]([0-9]{3})$`)
)

// plainNumber is a number with a decimal point, and without marks between its digits.
// A text that is no number, or can mean two, stays as it is.
func plainNumber(text string) string {
	number := groupMarks.Replace(text)
	if !writtenNumber.MatchString(number) || ambiguousNumber.MatchString(number) {
		return text
	}
	whole, fraction := number, ""
	if mark := strings.LastIndexAny(number, ".,"); mark >= 0 && strings.Count(number, number[mark:mark+1]) == 1 {
		whole, fraction = number[:mark], "."+number[mark+1:]
	}
	return strings.NewReplacer("'", "", ".", "", ",", "").Replace(whole) + fraction
}

// twoMeanings says how to write a number that can mean two, and is "" for others.
func twoMeanings(text string) string {
	digits := ambiguousNumber.FindStringSubmatch(text)
	if digits == nil {
		return ""
	}
	return "must be written as " + digits[1] + digits[2] + " or as " + digits[1] + "." + digits[2] + "0: " + text + " can mean either"
}

// filledIn lists the numbers that a new form begins with and that can mean two, when
// they are typed. It is sent along: whoever leaves such a number alone is not asked.
func filledIn(access *service.Access, values []string) (list []string) {
	for rank := range access.Form.Fields {
		f := &access.Form.Fields[rank]
		if f.Validation == forms.Numeric && access.MaySet(f) && twoMeanings(values[rank]) != "" {
			list = append(list, f.ID+"="+values[rank])
		}
	}
	return list
}

// refuseTwoMeanings refuses a number that can mean two, unless the form began with it.
func refuseTwoMeanings(f *forms.Field, a *forms.Answer, filled []string) {
	if message := twoMeanings(a.Value); message != "" && f.Validation == forms.Numeric && !slices.Contains(filled, f.ID+"="+a.Value) {
		a.Misfit = message
	}
}
