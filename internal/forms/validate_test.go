package forms

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/testkit"
)

// faultsOf are the field errors of a refused submission, nil when it was taken.
func faultsOf(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, err error,
) map[string]string {
	t.Helper()
	if err == nil {
		return nil
	}
	var invalid *Invalid
	if !errors.As(err, &invalid) {
		t.Fatalf("got the error %v of type %T, want an *Invalid", err, err)
	}
	if len(invalid.Errors) > 0 {
		t.Fatalf("got general errors %q, want field errors only", invalid.Errors)
	}
	texts := map[string]string{}
	for id, m := range invalid.Fields {
		texts[id] = m.String()
	}
	return texts
}

// faultOf is what NewEntries says of one value for one field, "" when it takes it.
func faultOf(t *testing.T, f Field, value string) string {
	t.Helper()
	f.ID = "f"
	form := Form{Fields: []*Field{&f}}
	entries, _, err := form.NewEntries([]Answer{{FieldID: "f", Value: value}}, Writer{})
	if err != nil {
		return faultsOf(t, err)["f"]
	}
	testkit.Diff(t, "stored as sent", entries, []Entry{{FieldID: "f", Value: value}})
	return ""
}

// quoted reads texts in quotes, as Go writes them.
func quoted(t *testing.T, s string) (texts []string) {
	t.Helper()
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		prefix, err := strconv.QuotedPrefix(s)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		text, _ := strconv.Unquote(prefix)
		texts, s = append(texts, text), s[len(prefix):]
	}
	return texts
}

func TestValidations(t *testing.T) {
	label63, nines := strings.Repeat("a", 63), strings.Repeat("9", 400)
	oneOf := Field{Type: Dropdown, Validation: OneOf, Options: []string{"1", "Two", "a b", "ä"}}
	anyOf := Field{Type: Checkbox, Validation: AnyOf, Options: []string{"1", "Two", "a b"}}
	for _, c := range []struct {
		field     Field
		good, bad string // texts in quotes
		message   string
	}{
		{
			Field{Type: Textfield, Validation: Numeric},
			`"0" "1" "-1" "-0" "007" "1.5" "-1.50" "0.0" "` + nines + "." + nines + `"`,
			`"1." ".5" "-.5" "+1" "１" "٣" "-" "--1" "1e3" "0x1F" "1,5" "1 000" " 1" "1 " "1\n" "1.2.3" "NaN" "-Inf" "−1" " "`,
			"must be a number such as 12 or -3.5",
		},
		{
			Field{Type: Textfield, Validation: Alpha},
			`"a" "Ärger" "e\u0301" "日本語" "नमस्ते" "ǅ" "\u0301"`,
			`"a1" "٣" "Ⅷ" "a b" "a-b" "O'Neil" " " "a\n" "ª!" "a\u200d" "😀"`,
			"must consist of letters only",
		},
		{
			Field{Type: Textfield, Validation: Email},
			"\"!#$%&'*+/=?^_`{|}~-@x\"" + `"a@b" "a@localhost" "first.last@example.org" ".a.@b" "a..b@c" "a@1" "a@x-y.z"
				"a@` + label63 + `" "a@` + label63 + "." + label63 + `" "` + strings.Repeat("l", 300) + `@b"`,
			`"a" "@b" "a@" "a@b@c" "\"a b\"@c" "\"a\"@b" "a b@c" "a@b c" "a@-b" "a@b-" "a@b..c" "a@.b" "a@b." "a@b_c" "a@[127.0.0.1]"
				"ä@b" "a@ä" "a@b\n" " a@b" "a@b " "a,b@c" "a(b)@c" "<a@b>" "a@` + label63 + `a" "a@b.` + label63 + `a" "A <a@b>" "a\x7f@b"`,
			"must be an e-mail address such as name@example.org",
		},
		{
			Field{Type: Textfield, Validation: DateOnly},
			`"2024-02-29" "2000-02-29" "0001-01-01" "9999-12-31" "1582-10-10"`,
			`"2023-02-29" "1900-02-29" "0000-01-01" "2024-2-9" "2024-02-9" "24-02-29" "2024-13-01" "2024-00-10" "2024-04-31" "2024-01-00"
				"2024-02-29\n" " 2024-02-29" "2024/02/29" "29.02.2024" "20240229" "2024-02-2９" "-024-02-29" "+024-02-29" "10000-01-01"
				"2024-02-29T00:00:00Z" "2024-02- 9" "today"`,
			"must be a date such as 2026-01-31 (yyyy-MM-dd)",
		},
		{Field{Type: File, Validation: FileName}, `"a.pdf" "anything at all; really" "\n"`, "", ""},
		{Field{Type: Textfield}, `"a" " " "\t\r\n" "a;b" "\U0010FFFF" "\u2028" "\ufeff"`, "", ""},
		// Options are compared byte for byte.
		{oneOf, `"Two" "a b"`, `"two" " Two" "1.0" "a\u0308" "1;Two"`, "must be one of 1, Two, a b, ä"},
		{anyOf, `"1" "a b;Two;1" "1;1"`, `"1;three" "1;" ";1" "1;;Two" "1; Two" ";"`, "must be any of 1, Two, a b"},
		// A checkbox takes several values, so each of them follows the validation.
		{
			Field{Type: Checkbox, Validation: Numeric},
			`"1" "1;-2.5;3"`, `"1;x" "1;" ";" "1;;2"`,
			"must be a number such as 12 or -3.5",
		},
		{Field{Type: Checkbox, Validation: Alpha}, `"a;b"`, `"a;1" "a;;b" ";"`, "must consist of letters only"},
		{
			Field{Type: Checkbox, Validation: Email},
			`"a@b;c@d"`, `"a@b;c" "a@b; c@d"`,
			"must be an e-mail address such as name@example.org",
		},
		{
			Field{Type: Checkbox, Validation: DateOnly},
			`"2024-02-29;2024-03-01"`, `"2024-02-29;2023-02-29"`,
			"must be a date such as 2026-01-31 (yyyy-MM-dd)",
		},
	} {
		for _, value := range quoted(t, c.good) {
			if msg := faultOf(t, c.field, value); msg != "" {
				t.Errorf("%s with %q refuses %q: %s", c.field.Type, c.field.Validation, value, msg)
			}
		}
		for _, value := range quoted(t, c.bad) {
			if msg := faultOf(t, c.field, value); msg != c.message {
				t.Errorf("%s with %q says %q of %q", c.field.Type, c.field.Validation, msg, value)
			}
		}
	}
}

func TestLongListOfOptionsIsCutInTheMessage(t *testing.T) {
	options := strings.Fields("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20")
	twenty := "must be one of " + strings.Join(options[:20], ", ")
	for n, want := range map[int]string{20: twenty, 21: twenty + ", … (21 options)"} {
		testkit.Same(t, n, faultOf(t, Field{Type: Dropdown, Validation: OneOf, Options: options[:n]}, "x"), want)
	}
}

var everyValidation = append([]Validation{NoValidation, OneOf, AnyOf}, Validations...)

func TestRequired(t *testing.T) {
	blanks := []string{"", " ", "\t\n\v\f\r ", "\u0085", "\u00a0", "\u3000", "\u2003\u202f", " \u3000\u00a0 "}
	for _, v := range everyValidation {
		required := Field{ID: "f", Type: Textfield, Validation: v, Options: []string{"a"}, Required: true}
		for _, blank := range blanks {
			if msg := faultOf(t, required, blank); msg != msgRequired.String() {
				t.Errorf("required %q field, value %q: got %q, want %q", v, blank, msg, msgRequired)
			}
		}
		sent{name: "absent", faults: "f: is required"}.run(t, &Form{Fields: []*Field{&required}})
	}
	required := Field{Type: Textbox, Required: true}
	for _, value := range []string{"a", " a ", "\u200b", "0"} {
		testkit.Same(t, value, faultOf(t, required, value), "")
	}
}

func TestRequiredMultiValueFieldNeedsAValue(t *testing.T) {
	form := &Form{Fields: []*Field{{ID: "f", Type: Checkbox, Required: true}}}
	for _, answers := range []string{"f[]=", "f=", "f=;", "f[]= ,\u00a0"} {
		sent{name: answers, answers: answers, faults: "f: is required"}.run(t, form)
	}
	sent{name: "a list with a value", answers: "f=;a", want: "f=;a"}.run(t, form)
}

func TestOptionalFieldMayBeEmpty(t *testing.T) {
	for _, v := range everyValidation {
		for _, typ := range []FieldType{Textfield, Checkbox} {
			f := Field{ID: "f", Type: typ, Validation: v, Options: []string{"a"}}
			if msg := faultOf(t, f, ""); msg != "" {
				t.Errorf("optional %s with validation %q refuses an empty value: %s", typ, v, msg)
			}
			sent{name: "absent"}.run(t, &Form{Fields: []*Field{&f}})
		}
	}
}

// htmlEmail is copied from the HTML standard, section "E-mail state".
var htmlEmail = regexp.MustCompile("^[a-zA-Z0-9.!#$%&'*+\\/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?" +
	"(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$")

func TestEmailIsTheRuleOfTheHTMLStandard(t *testing.T) {
	near := rapid.StringMatching("[a-z.\"ä !-]{0,3}@?[a-z0-9.@_ -]{0,5}(a{60,64})?(\\.[a-z-]{0,3}){0,2}")
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(near, rapid.String()).Draw(t, "address")
		if got, want := IsEmail(s), htmlEmail.MatchString(s); got != want {
			t.Errorf("IsEmail(%q) = %t, the standard says %t", s, got, want)
		}
	})
}

func TestMailDomains(t *testing.T) {
	for _, name := range []string{"", " ", "a@example.org", "@example.org", "*.example.org", "*", "example.org.", ".example.org", "two words", " example.org", "exämple.org", "a,b"} {
		if domains, err := ParseMailDomains([]string{"example.com", name}); err == nil {
			t.Errorf("%q is accepted: %q", name, domains)
		}
	}
	domains, err := ParseMailDomains([]string{"Example.ORG", "intranet"})
	testkit.Must(t, err)
	for address, want := range map[string]bool{
		"a@example.org": true, "A@EXAMPLE.org": true, "a@intranet": true,
		"a@sub.example.org": false, "a@notexample.org": false, "a@example.org.evil.com": false, "a@org": false, "example.org": false, "": false, "a@": false,
	} {
		testkit.Same(t, address, domains.Allows(address), want)
	}
	if MailDomains(nil).Allows("a@example.org") {
		t.Error("no domain allows an address")
	}
}
