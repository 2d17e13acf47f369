package web

import (
	"regexp"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// Patterns of numbers with separators, after groupMarks has replaced every separator of
// thousands that is no dot or comma by an apostrophe. conditions.js has the same patterns.
var (
	groupMarks    = strings.NewReplacer(" ", "'", "\u00a0", "'", "\u2009", "'", "\u202f", "'", "\u2019", "'")
	noMarks       = strings.NewReplacer("'", "", ".", "", ",", "")
	writtenNumber = regexp.MustCompile(`^(?:` +
		`(-?[0-9]+|-?[1-9][0-9]{0,2}(?:'[0-9]{3})+)(?:[.,]([0-9]+))?|` + // 1'000.5
		`(-?[1-9][0-9]{0,2}(?:\.[0-9]{3})+)(?:,([0-9]+))?|` + // 1.000,5
		`(-?[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.([0-9]+))?)$`) // 1,000.5
	ambiguousNumber = regexp.MustCompile(`^(-?[1-9][0-9]{0,2})[.,]([0-9]{3})$`)
)

// plainNumber is a number with a decimal point, and without marks between its digits.
// A text that is no number, or can mean two, stays as it is.
func plainNumber(text string) string {
	parts := writtenNumber.FindStringSubmatch(groupMarks.Replace(text))
	if parts == nil || ambiguousNumber.MatchString(text) {
		return text
	}
	whole, fraction := parts[1]+parts[3]+parts[5], parts[2]+parts[4]+parts[6]
	return strings.TrimSuffix(noMarks.Replace(whole)+"."+fraction, ".")
}

// twoMeanings says how to write a number that can mean two, and is nil for others.
func twoMeanings(text string) *forms.Message {
	parts := ambiguousNumber.FindStringSubmatch(text)
	if parts == nil {
		return nil
	}
	return forms.Say("must be written as {0} or as {1}: {2} can mean either",
		forms.Plain(parts[1]+parts[2]), forms.Plain(parts[1]+"."+parts[2]+"0"), text)
}
