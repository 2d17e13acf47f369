package forms

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Messages that several functions use.
var (
	MsgNoFileField  = Say("takes no files")
	msgRequired     = Say("is required")
	MsgUnknownField = Say("is not a field of this form")
	MsgNotText      = Say("must be valid text without NUL characters")
)

// optionsNamed bounds how many options a message lists. A list of all countries
// makes an error unreadable.
const optionsNamed = 20

// check returns what is wrong with a value of a visible field, or nil.
func (f *Field) check(value string) *Message {
	if value == "" || (f.Required && f.IsBlank(value)) {
		if f.Required {
			return msgRequired
		}
		return nil
	}
	if msg := f.tooLong(value); msg != nil {
		return msg
	}
	if !f.MultiValue() || f.Validation == AnyOf {
		return f.checkOne(value)
	}
	for part := range strings.SplitSeq(value, Separator) {
		if msg := f.checkOne(part); msg != nil {
			return msg
		}
	}
	return nil
}

// checkOne returns what is wrong with one value, or nil. For AnyOf that is the
// list as a whole.
func (f *Field) checkOne(value string) *Message {
	switch f.Validation {
	case NoValidation, FileName:
		return nil
	case OneOf:
		if !slices.Contains(f.Options, value) {
			return f.mustBe(f.Options)
		}
	case AnyOf:
		if !f.allOptions(value) {
			return f.mustBe(f.Options)
		}
	case Numeric:
		if !IsDecimal(value) {
			return Say("must be a number such as 12 or -3.5")
		}
	case Alpha:
		if !isAlpha(value) {
			return Say("must consist of letters only")
		}
	case Email:
		if !IsEmail(value) {
			return Say("must be an e-mail address such as name@example.org")
		}
	case DateOnly:
		if !IsDay(value) {
			return Say("must be a date such as 2026-01-31 (yyyy-MM-dd)")
		}
	}
	return nil
}

// mustBe says which values the field takes, by their names.
func (f *Field) mustBe(options []string) *Message {
	var list any = options
	if n := len(options); n > optionsNamed {
		list = SayN("{1}, … ({0} option)", "{1}, … ({0} options)", n, options[:optionsNamed])
	}
	if f.Validation == AnyOf {
		return Say("must be any of {0}", list)
	}
	return Say("must be one of {0}", list)
}

// allOptions reports whether all values that are joined are options of the
// field. A list may have half a million values, and the field a thousand
// options, so the time it takes must not be their product.
func (f *Field) allOptions(joined string) bool {
	options := make(map[string]bool, len(f.Options))
	for _, o := range f.Options {
		options[o] = true
	}
	for part := range strings.SplitSeq(joined, Separator) {
		if !options[part] {
			return false
		}
	}
	return true
}

// IsBlank is also true for a list of blanks, which says no more than an empty
// one.
func (f *Field) IsBlank(value string) bool {
	if !f.MultiValue() {
		return IsBlank(value)
	}
	return !strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsSpace(r) && string(r) != Separator })
}

// IsBlank reports whether a text has only spaces.
func IsBlank(s string) bool { return strings.TrimSpace(s) == "" }

// IsDecimal accepts -?digits[.digits] in ASCII.
func IsDecimal(s string) bool {
	whole, frac, dot := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return IsDigits(whole) && (!dot || IsDigits(frac))
}

// IsDigits reports whether a text has only digits, and one at least.
func IsDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func isAlpha(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
}

// IsDay accepts a real calendar day. time.Parse alone would accept other lengths.
// The calendar has no year 0, and a browser's date field refuses it.
func IsDay(s string) bool {
	if len(s) != len(time.DateOnly) {
		return false
	}
	day, err := time.Parse(time.DateOnly, s)
	return err == nil && day.Year() > 0
}

// IsEmail is the HTML standard's rule for a valid e-mail address: what a
// browser's own check accepts, neither more nor less.
func IsEmail(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	if !ok || local == "" {
		return false
	}
	for i := range len(local) {
		if !isAlnum(local[i]) && !strings.ContainsRune(".!#$%&'*+/=?^_`{|}~-", rune(local[i])) {
			return false
		}
	}
	for label := range strings.SplitSeq(domain, ".") {
		if !isDomainLabel(label) {
			return false
		}
	}
	return true
}

func isDomainLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

func isAlnum(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// Storable reports whether a value can be stored and returned exactly: valid
// UTF-8 without NUL, which PostgreSQL does not store.
func Storable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

// MailDomains are the domains whose addresses get mail, in lower case.
type MailDomains []string

// ParseMailDomains reads the names of domains, in upper or lower case.
func ParseMailDomains(names []string) (MailDomains, error) {
	var domains MailDomains
	for _, name := range names {
		if !IsEmail("name@" + name) {
			return nil, fmt.Errorf("%q is not a domain such as example.org", name)
		}
		domains = append(domains, strings.ToLower(name))
	}
	return domains, nil
}

// Allows reports whether an address is in one of the domains. Subdomains are others.
func (d MailDomains) Allows(address string) bool {
	_, domain, _ := strings.Cut(address, "@")
	return slices.Contains(d, strings.ToLower(domain))
}
