package forms

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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
	return invalid.Fields
}

// faultOf is what NewEntries says of one value for one field, "" when it takes it.
func faultOf(t *testing.T, f Field, value string) string {
	t.Helper()
	f.ID = "f"
	form := Form{Fields: []Field{f}}
	entries, _, err := form.NewEntries([]Answer{{FieldID: "f", Value: value}}, Writer{})
	if err != nil {
		return faultsOf(t, err)["f"]
	}
	if diff := cmp.Diff([]Entry{{FieldID: "f", Value: value}}, entries); diff != "" {
		t.Errorf("an accepted value is not stored as sent (-want +got):\n%s", diff)
	}
	return ""
}

func TestValidations(t *testing.T) {
	label63 := strings.Repeat("a", 63)
	for _, tt := range []struct {
		validation Validation
		good, bad  []string
	}{
		{
			Numeric,
			[]string{"0", "1", "-1", "-0", "007", "1.5", "-1.50", "0.0", strings.Repeat("9", 400) + "." + strings.Repeat("1", 400)},
			[]string{"1.", ".5", "-.5", "+1", "１", "٣", "-", "--1", "1e3", "0x1F", "1,5", "1 000", " 1", "1 ", "1\n", "1.2.3", "NaN", "-Inf", "−1", " "},
		},
		{
			Alpha,
			[]string{"a", "Ärger", "e\u0301", "日本語", "नमस्ते", "ǅ", "\u0301"},
			[]string{"a1", "٣", "Ⅷ", "a b", "a-b", "O'Neil", " ", "a\n", "ª!", "a\u200d", "😀"},
		},
		{
			Email,
			[]string{
				"a@b", "a@localhost", "first.last@example.org", ".a.@b", "a..b@c", "!#$%&'*+/=?^_`{|}~-@x", "a@1", "a@x-y.z",
				"a@" + label63, "a@" + label63 + "." + label63, strings.Repeat("l", 300) + "@b",
			},
			[]string{
				"a", "@b", "a@", "a@b@c", `"a b"@c`, `"a"@b`, "a b@c", "a@b c", "a@-b", "a@b-", "a@b..c", "a@.b", "a@b.", "a@b_c", "a@[127.0.0.1]",
				"ä@b", "a@ä", "a@b\n", " a@b", "a@b ", "a,b@c", "a(b)@c", "<a@b>", "a@" + label63 + "a", "a@b." + label63 + "a", "A <a@b>", "a\x7f@b",
			},
		},
		{
			DateOnly,
			[]string{"2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31", "1582-10-10"},
			[]string{
				"2023-02-29", "1900-02-29", "0000-01-01", "2024-2-9", "2024-02-9", "24-02-29", "2024-13-01", "2024-00-10", "2024-04-31", "2024-01-00",
				"2024-02-29\n", " 2024-02-29", "2024/02/29", "29.02.2024", "20240229", "2024-02-2９", "-024-02-29", "+024-02-29", "10000-01-01",
				"2024-02-29T00:00:00Z", "2024-02- 9", "today",
			},
		},
		{FileName, []string{"a.pdf", "anything at all; really", "\n"}, nil},
		{NoValidation, []string{"a", " ", "\t\r\n", "a;b", "\U0010FFFF", "\u2028", "\ufeff"}, nil},
	} {
		for _, value := range tt.good {
			if msg := faultOf(t, Field{Type: Textfield, Validation: tt.validation}, value); msg != "" {
				t.Errorf("%s refuses %q: %s", tt.validation, value, msg)
			}
		}
		for _, value := range tt.bad {
			if msg := faultOf(t, Field{Type: Textfield, Validation: tt.validation}, value); msg == "" {
				t.Errorf("%s takes %q", tt.validation, value)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	oneOf := Field{Type: Dropdown, Validation: OneOf, Options: []string{"1", "Two", "a b", "ä"}}
	anyOf := Field{Type: Checkbox, Validation: AnyOf, Options: []string{"1", "Two", "a b"}}
	for _, tt := range []struct {
		name, value string
		field       Field
		want        string
	}{
		{"an option", "Two", oneOf, ""},
		{"an option with a space", "a b", oneOf, ""},
		{"another case", "two", oneOf, "must be one of 1, Two, a b, ä"},
		{"white space around", " Two", oneOf, "must be one of 1, Two, a b, ä"},
		{"the same number, otherwise spelt", "1.0", oneOf, "must be one of 1, Two, a b, ä"},
		{"the same letter, otherwise composed", "a\u0308", oneOf, "must be one of 1, Two, a b, ä"},
		{"two options of one-of", "1;Two", oneOf, "must be one of 1, Two, a b, ä"},
		{"one option of any-of", "1", anyOf, ""},
		{"all options in another order", "a b;Two;1", anyOf, ""},
		{"the same option twice", "1;1", anyOf, ""},
		{"one part wrong", "1;three", anyOf, "must be any of 1, Two, a b"},
		{"empty part at the end", "1;", anyOf, "must be any of 1, Two, a b"},
		{"empty part in front", ";1", anyOf, "must be any of 1, Two, a b"},
		{"empty part within", "1;;Two", anyOf, "must be any of 1, Two, a b"},
		{"space after the separator", "1; Two", anyOf, "must be any of 1, Two, a b"},
		{"only separators", ";", anyOf, "must be any of 1, Two, a b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := faultOf(t, tt.field, tt.value); got != tt.want {
				t.Errorf("%q: got %q, want %q", tt.value, got, tt.want)
			}
		})
	}
}

func TestLongListOfOptionsIsCutInTheMessage(t *testing.T) {
	var options []string
	for i := range 21 {
		options = append(options, strconv.Itoa(i))
	}
	all := faultOf(t, Field{Type: Dropdown, Validation: OneOf, Options: options[:20]}, "x")
	if want := "must be one of " + strings.Join(options[:20], ", "); all != want {
		t.Errorf("20 options: got %q, want %q", all, want)
	}
	cut := faultOf(t, Field{Type: Dropdown, Validation: OneOf, Options: options}, "x")
	if want := "must be one of " + strings.Join(options[:20], ", ") + ", … (21 options)"; cut != want {
		t.Errorf("21 options: got %q, want %q", cut, want)
	}
}

// A checkbox takes several values, so each of them follows the validation.
func TestEachPartOfAMultiValueFieldIsChecked(t *testing.T) {
	for _, tt := range []struct {
		validation Validation
		good, bad  []string
	}{
		{Numeric, []string{"1", "1;-2.5;3"}, []string{"1;x", "1;", ";", "1;;2"}},
		{Alpha, []string{"a;b"}, []string{"a;1", "a;;b", ";"}},
		{Email, []string{"a@b;c@d"}, []string{"a@b;c", "a@b; c@d"}},
		{DateOnly, []string{"2024-02-29;2024-03-01"}, []string{"2024-02-29;2023-02-29"}},
	} {
		f := Field{Type: Checkbox, Validation: tt.validation}
		for _, value := range tt.good {
			if msg := faultOf(t, f, value); msg != "" {
				t.Errorf("%s refuses %q: %s", tt.validation, value, msg)
			}
		}
		for _, value := range tt.bad {
			if msg := faultOf(t, f, value); msg == "" {
				t.Errorf("%s takes %q", tt.validation, value)
			}
		}
	}
}

var everyValidation = append([]Validation{NoValidation, OneOf, AnyOf}, Validations...)

func TestRequired(t *testing.T) {
	blanks := []string{"", " ", "\t\n\v\f\r ", "\u0085", "\u00a0", "\u3000", "\u2003\u202f", " \u3000\u00a0 "}
	for _, v := range everyValidation {
		required := Field{ID: "f", Type: Textfield, Validation: v, Options: []string{"a"}, Required: true}
		for _, blank := range blanks {
			if msg := faultOf(t, required, blank); msg != msgRequired {
				t.Errorf("required %q field, value %q: got %q, want %q", v, blank, msg, msgRequired)
			}
		}
		form := Form{Fields: []Field{required}}
		_, _, err := form.NewEntries(nil, Writer{})
		if diff := cmp.Diff(map[string]string{"f": msgRequired}, faultsOf(t, err)); diff != "" {
			t.Errorf("required %q field, absent (-want +got):\n%s", v, diff)
		}
	}
	required := Field{Type: Textbox, Required: true}
	for _, value := range []string{"a", " a ", "\u200b", "0"} {
		if msg := faultOf(t, required, value); msg != "" {
			t.Errorf("required field, value %q: got %q, want it taken as sent", value, msg)
		}
	}
}

func TestRequiredMultiValueFieldNeedsAValue(t *testing.T) {
	form := Form{Fields: []Field{{ID: "f", Type: Checkbox, Required: true}}}
	for _, list := range [][]string{nil, {}, {""}, {"", ""}, {" ", "\u00a0"}} {
		_, _, err := form.NewEntries([]Answer{{FieldID: "f", IsList: true, List: list}}, Writer{})
		if diff := cmp.Diff(map[string]string{"f": msgRequired}, faultsOf(t, err)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", list, diff)
		}
	}
	if _, _, err := form.NewEntries([]Answer{{FieldID: "f", IsList: true, List: []string{"", "a"}}}, Writer{}); err != nil {
		t.Errorf("a list with a value: %v", err)
	}
}

func TestOptionalFieldMayBeEmpty(t *testing.T) {
	for _, v := range everyValidation {
		for _, typ := range []FieldType{Textfield, Checkbox} {
			f := Field{ID: "f", Type: typ, Validation: v, Options: []string{"a"}}
			if msg := faultOf(t, f, ""); msg != "" {
				t.Errorf("optional %s with validation %q refuses an empty value: %s", typ, v, msg)
			}
			form := Form{Fields: []Field{f}}
			entries, _, err := form.NewEntries(nil, Writer{})
			if err != nil || len(entries) != 0 {
				t.Errorf("optional %s with validation %q, absent: got %v, %v; want no entry", typ, v, entries, err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"a@example.org": true, "A@EXAMPLE.org": true, "a@intranet": true,
		"a@sub.example.org": false, "a@notexample.org": false, "a@example.org.evil.com": false, "a@org": false, "example.org": false, "": false, "a@": false,
	} {
		if got := domains.Allows(address); got != want {
			t.Errorf("%q is allowed: %t", address, got)
		}
	}
	if MailDomains(nil).Allows("a@example.org") {
		t.Error("no domain allows an address")
	}
}
