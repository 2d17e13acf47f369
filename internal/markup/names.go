package markup

import (
	"cmp"
	"fmt"
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

// typeHints are for the names that types of fields have elsewhere.
var typeHints = map[string]string{
	"text": useTextfield, "string": useTextfield, "input": useTextfield, "url": useTextfield,
	"tel": useTextfield, "phone": useTextfield, "time": useTextfield,
	"number": useNumeric, "numeric": useNumeric, "integer": useNumeric, "int": useNumeric,
	"float": useNumeric, "decimal": useNumeric, "range": useNumeric,
	"email": "use textfield with validate: email", "mail": "use textfield with validate: email",
	"textarea": "use textbox", "multiline": "use textbox", "paragraph": "use textbox",
	"select": "use dropdown", "list": "use dropdown", "choice": "use radio or dropdown",
	"multiselect": "use checkbox", "checkboxes": "use checkbox", "multiplechoice": "use checkbox",
	"boolean": useYesNo, "bool": useYesNo, "yesno": useYesNo, "toggle": useYesNo, "switch": useYesNo,
	"datetime": "use date", "day": "use date", "calendar": "use date",
	"upload": "use file", "attachment": "use file", "image": "use file",
}

const (
	useTextfield = "use textfield"
	useNumeric   = "use textfield with validate: numeric"
	useYesNo     = "use radio with options: [Yes, No]"
)

// wordHint is the hint for a word that is none of the known ones. The search takes time,
// and is left out if the hint would not be listed.
func wordHint[T ~string](p *reader, s string, words []T) string {
	if p.full() {
		return ""
	}
	return cmp.Or(didYouMean(nearest(s, words)), oneOf(words))
}
