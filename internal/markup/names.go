package markup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkID returns why s can't be the id of a form or section, or "".
func checkID(s string) string {
	if s == "." || s == ".." {
		return "has a special meaning in a web address"
	}
	return checkName(s, isIDRune)
}

// checkFieldID returns why s can't be the id of a field, or "".
func checkFieldID(s string) string {
	switch {
	case s == "id", strings.HasPrefix(s, "_"):
		return `is reserved: a field's id is not "id" and does not begin with "_"`
	case strings.HasPrefix(s, "-"):
		return `begins with "-", which stands for descending order when lists are sorted`
	case strings.TrimSpace(s) != s, strings.Contains(s, "  "):
		return "has spaces at an end, or two in a row"
	}
	return checkName(s, isVisible)
}

func checkName(s string, allowed func(rune) bool) string {
	if s == "" {
		return "is empty"
	}
	if len(s) > MaxIDBytes {
		return fmt.Sprintf("is longer than %d bytes", MaxIDBytes)
	}
	for _, r := range s {
		if !allowed(r) {
			return "contains " + describeRune(r)
		}
	}
	return ""
}

// isIDRune reports whether a form's id may contain r. Letters of all scripts are
// allowed, with the vowel signs and accents that are separate characters (marks).
func isIDRune(r rune) bool {
	return isVisible(r) && unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit) || strings.ContainsRune("-_.", r)
}

// isVisible is false for characters that don't show, or only change how others
// look: two ids that differ by one of them look the same.
func isVisible(r rune) bool {
	const brailleBlank = '\u2800'
	return unicode.IsPrint(r) && r != brailleBlank &&
		!unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

func describeRune(r rune) string {
	if isVisible(r) {
		return fmt.Sprintf("%q", string(r))
	}
	return fmt.Sprintf("the invisible character %U", r)
}

const (
	idHint      = "use letters, digits, '-', '_' and '.'"
	fieldIDHint = "use visible characters and single spaces"
)

// checkText returns why s can't be a label, a title, a help text, an option or a value of a rule, or
// "". Control characters would not survive a browser's form.
func checkText(s string) string {
	if len(s) > MaxTextBytes {
		return fmt.Sprintf("is longer than %d bytes", MaxTextBytes)
	}
	if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return fmt.Sprintf("contains the control character %U", r)
	}
	return ""
}

// nearest returns the word that s is probably a misspelling of, or "".
func nearest[T ~string](s string, words []T) string {
	best, bestDistance := "", 3
	for _, w := range words {
		limit := min(2, len(w)/2) // a two-letter word such as "id" is within two edits of every other: allow one
		if d := distance(strings.ToLower(s), strings.ToLower(string(w))); d <= limit && d < bestDistance {
			best, bestDistance = string(w), d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour to get from a to b. It does not look at long texts: that would take time.
func distance(a, b string) int {
	const longest = 20
	if len(a) > longest {
		return len(a)
	}
	s, t := []rune(a), []rune(b)
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case s[i-1] == t[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				rows[i][j] = min(rows[i][j], 1+rows[i-2][j-2])
			}
		}
	}
	return rows[len(s)][len(t)]
}

func didYouMean(word string) string {
	if word == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", word)
}

// otherWords are words that people know from elsewhere, in lower case, with hints, by what they stand for.
var otherWords = []struct{ noun, words, hint string }{
	{"type", "text string input url tel phone", "use textfield"},
	{"type", "time", `use textfield, with help such as "Write it as 14:30"`},
	{"type", "number numeric integer int float decimal range", "use textfield with validate: numeric"},
	{"type", "email mail", "use textfield with validate: email"},
	{"type", "textarea multiline paragraph", "use textbox"},
	{"type", "select list", "use dropdown"},
	{"type", "choice", "use radio or dropdown"},
	{"type", "multiselect checkboxes multiplechoice", "use checkbox"},
	{"type", "boolean bool yesno yes/no toggle switch", "use radio with options: [Yes, No]"},
	{"type", "rating stars scale likert", "use radio with options: [1, 2, 3, 4, 5] and scale: [Bad, Good]"},
	{"type", "matrix grid table", "use a section with grid: true, and a radio with the same options for each row"},
	{"type", "datetime day calendar", "use date"},
	{"type", "upload attachment image", "use file"},
	{"validation", "number integer decimal", `did you mean "numeric"?`},
	{"a field", "description hint placeholder", `did you mean "help"?`},
	{"a field", "minlength", `leave it out; "required: true" refuses an empty answer`},
	{"a field", "other", `add the option "other", and a second field with showIf: {field: ID, equals: other}`},
}

// wordHint is the hint for a word that is none of the known ones, and stands for a noun. The search takes
// time, and is left out if the hint would not be listed.
func wordHint[T ~string](p *reader, noun, s string, words []T) string {
	if p.full() {
		return ""
	}
	for _, other := range otherWords {
		if other.noun == noun && slices.Contains(strings.Fields(other.words), strings.ToLower(s)) {
			return other.hint
		}
	}
	return cmp.Or(didYouMean(nearest(s, words)), oneOf(words))
}
