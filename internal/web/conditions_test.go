//go:build !race

package web

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// conditionsModule makes a global function of the module. It takes a form as the API
// describes it and sets of values, by rank. It returns a line for each set: the ids of
// the fields that show.
const conditionsModule = `
import { tidy, visibility } from "conditions.js";

globalThis.tidied = (json) => {
  const { values, oneLine, numeric } = JSON.parse(json);
  return JSON.stringify(values.map((value) => tidy(value, { oneLine, numeric })));
};

globalThis.shownOf = (json) => {
  const { form, sets } = JSON.parse(json);
  const visible = visibility(form);
  const ids = Object.values(form.fields).sort((a, b) => a.rank - b.rank).map((field) => field.fieldId);
  const shown = (values) => [...visible(new Map(values.map((value, rank) => [ids[rank], value])))];
  return sets.map((values) => shown(values).join(" ")).join("\n");
};
`

// newConditions returns a function that has the browser's module and the server
// decide which fields show, and compares them.
func newConditions(t *testing.T) func(form *forms.Form, sets ...[]string) {
	t.Helper()
	vm := newVM(t)
	runModule(t, vm, conditionsModule)
	return func(form *forms.Form, sets ...[]string) {
		t.Helper()
		text, err := json.Marshal(map[string]any{"form": json.RawMessage(encode.Form(form)), "sets": sets})
		testkit.Must(t, err)
		for i, got := range strings.Split(callScript(t, vm, "shownOf", string(text)), "\n") {
			var want []string
			for rank, shown := range form.Visible(sets[i]) {
				if shown {
					want = append(want, form.Fields[rank].ID)
				}
			}
			if got != strings.Join(want, " ") {
				t.Errorf("values %.100q: JavaScript shows %.1000q, Go %.1000q", sets[i], strings.Fields(got), want)
			}
		}
	}
}

func showIf(match forms.Match, rules ...forms.Rule) *forms.Condition {
	return &forms.Condition{Match: match, Rules: rules}
}

// operatorsForm has a field f, and a field for each operator and operand that shows
// by the value of f.
func operatorsForm(fieldType forms.FieldType, operands []string) *forms.Form {
	form := &forms.Form{Fields: []*forms.Field{{ID: "f", Type: fieldType}}}
	for _, operator := range forms.Operators {
		for i, operand := range operands {
			form.Fields = append(form.Fields, &forms.Field{
				ID: string(operator) + strconv.Itoa(i), Type: forms.Textfield,
				Condition: showIf(forms.MatchAll, forms.Rule{FieldID: "f", Operator: operator, Value: operand}),
			})
		}
	}
	return form
}

// awkward are texts that some language takes for numbers, days, lists or blanks.
var awkward = []string{
	"", "0", "-0", "-0.0", "00", "007", "-007.500", "1e3", "0x1F", "0b1", "NaN", "Infinity", "inf", "+1", "-", "--1", ".", ".5", "5.", "-.5", "1.2.3", "1,5", "1_000",
	"1 ", " 1", "\n1", "1", "1n", "１", "٣", "½", "−1", "null", "undefined", "true", "9007199254740992", "9007199254740993", "0.1", "0.10", "0.30000000000000004", "0.3",
	"179769313486231570000000000000000000000000000000000000000", "0.00000000000000000000000000000000000000000000000001",
	"2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "2024-1-01", "2024-13-01", "2024-04-31", "2024-01-00",
	"-2024-01-01", "2024-01-01\n", "2024/01/01", "2024-01-01T00:00", "２０２４-01-01", "2024-01-é", ";", ";;", " ; ", "a", "A", "a;", ";a", "a;b", "a; b", "b;a", "b;a;b", "a;a", "a\x00b",
	"é", "e\u0301", "ß", "İ", "\U0001F600", "\U0001F601", "\U00010000", "\uFFFD", "\uE000", "\uFFFF", `"`, `\`, "</script>",
	" ", "\t", "\v", "\f", "\r\n", "\u0085", "\u00A0", "\u1680", "\u2000", "\u200A", "\u2028", "\u202F", "\u205F", "\u3000", "\uFEFF", "\u180E", "\u200B", "\u2060", "\x1C", "\x00",
}

// Each value is compared with each other one by each operator.
func TestScriptsCompareAsTheServerDoes(t *testing.T) {
	compare := newConditions(t)
	for _, fieldType := range []forms.FieldType{forms.Textfield, forms.Checkbox} {
		form := operatorsForm(fieldType, awkward)
		var sets [][]string
		for _, value := range awkward {
			sets = append(sets, append([]string{value}, make([]string, len(form.Fields)-1)...))
		}
		compare(form, sets...)
	}
}

// What is typed is stored without spaces around a single line, and with a decimal
// point. Conditions look at the same values before and after it is sent.
func TestScriptsTidyAsTheServerDoes(t *testing.T) {
	vm := newVM(t)
	runModule(t, vm, conditionsModule)
	values := append([]string{"7,50", " -7,50\t", "1,2,3", ",5", "5,", "\u00A0a b\u2003"}, awkward...)
	values = append(values, slices.Collect(maps.Keys(writtenNumbers))...)
	values = append(append(values, ambiguousNumbers...), noNumbers...)
	for _, tt := range []struct {
		field            forms.Field
		oneLine, numeric bool
	}{
		{forms.Field{Type: forms.Textfield}, true, false},
		{forms.Field{Type: forms.Textfield, Validation: forms.Numeric}, true, true},
		{forms.Field{Type: forms.Textbox}, false, false},
		{forms.Field{Type: forms.Textbox, Validation: forms.Numeric}, false, true},
		{forms.Field{Type: forms.Dropdown, Options: []string{"a"}, Validation: forms.OneOf}, false, false},
	} {
		text, err := json.Marshal(map[string]any{"values": values, "oneLine": tt.oneLine, "numeric": tt.numeric})
		testkit.Must(t, err)
		var got []string
		testkit.Must(t, json.Unmarshal([]byte(callScript(t, vm, "tidied", string(text))), &got))
		for i, value := range values {
			if want := tidyValue(&tt.field, value); got[i] != want && value != "\r\n" { // no control of a browser has CR
				t.Errorf("%s %q of %q: JavaScript makes %q, Go %q", tt.field.Type, tt.field.Validation, value, got[i], want)
			}
		}
	}
}

// A hidden field counts as empty, whatever its value is, and wherever it stands. In
// JavaScript, objects order keys that are integers by number, and inherit members.
func TestScriptsShowTheSameFieldsAsTheServer(t *testing.T) {
	compare := newConditions(t)
	rule := func(id string, operator forms.Operator, value string) forms.Rule {
		return forms.Rule{FieldID: id, Operator: operator, Value: value}
	}
	for _, match := range []forms.Match{forms.MatchAll, forms.MatchAny} {
		fields := []*forms.Field{
			{ID: "constructor"},
			{ID: "10", Condition: showIf(match, rule("constructor", forms.Equals, "x"))},
			{ID: "9", Condition: showIf(match, rule("constructor", forms.Equals, "x"), rule("10", forms.NotEmpty, ""))},
			{ID: "a.b", Condition: showIf(match, rule("9", forms.Equals, "y"), rule("10", forms.Empty, ""))},
			{ID: "toString", Condition: showIf(match, rule("unknown", forms.NotEquals, "x"), rule("9", forms.NotEmpty, ""))},
			{ID: "length", Condition: showIf(match, rule("9", "unknown", "x"), rule("a.b", forms.NotEmpty, ""))},
		}
		var sets [][]string
		for n := range 3 * 3 * 3 * 3 {
			set := make([]string, len(fields))
			for rank := range 4 {
				set[rank] = []string{"", "x", "y"}[n%3]
				n /= 3
			}
			sets = append(sets, set)
		}
		compare(&forms.Form{Fields: fields}, sets...)
		slices.Reverse(fields)
		for _, set := range sets {
			slices.Reverse(set)
		}
		compare(&forms.Form{Fields: fields}, sets...)
	}
}

// Rules may name an earlier value. Both know values by their present names.
func TestScriptsKnowEarlierValues(t *testing.T) {
	was := map[string]string{"old": "new", "older": "new", "first": "1st"}
	form := &forms.Form{Fields: []*forms.Field{{ID: "one", Type: forms.Radio, ValueWas: was}, {ID: "many", Type: forms.Checkbox, ValueWas: was}}}
	values := []string{"", "new", "1st", "new;1st", "1st;new"}
	for _, rule := range []forms.Rule{
		{FieldID: "one", Operator: forms.Equals, Value: "old"},
		{FieldID: "one", Operator: forms.NotEquals, Value: "older"},
		{FieldID: "one", Operator: forms.InList, Value: "old;first"},
		{FieldID: "many", Operator: forms.Contains, Value: "old"},
		{FieldID: "many", Operator: forms.Equals, Value: "first;older;old"},
	} {
		field := &forms.Field{ID: string(rule.Operator) + " " + rule.Value, Condition: showIf(forms.MatchAll, rule)}
		form.Fields = append(form.Fields, field)
	}
	form.NameFields()
	var sets [][]string
	shown := map[string]int{}
	for _, value := range values {
		set := append([]string{value, value}, make([]string, len(form.Fields)-2)...)
		for rank, shows := range form.Visible(set) {
			if shows {
				shown[form.Fields[rank].ID]++
			}
		}
		sets = append(sets, set)
	}
	want := map[string]int{"one": 5, "many": 5, "equals old": 1, "not-equals older": 4, "one-of old;first": 2, "contains old": 3, "equals first;older;old": 2}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error(diff)
	}
	newConditions(t)(form, sets...)
}

// chain makes a form of which each field shows when the one before is a.
func chain(length int) *forms.Form {
	f := &forms.Form{}
	for i := range length {
		field := &forms.Field{ID: "f" + strconv.Itoa(i), Type: forms.Textfield}
		if i > 0 {
			field.Condition = showIf(forms.MatchAll, forms.Rule{FieldID: f.Fields[i-1].ID, Operator: forms.Equals, Value: "a"})
		}
		f.Fields = append(f.Fields, field)
	}
	return f
}

// A form may have 1,000 rules, and the last field may be the first on the page:
// then the recursion is as deep as it can be.
func TestScriptsFollowLongChainsOfConditions(t *testing.T) {
	form := chain(1000)
	slices.Reverse(form.Fields)
	all := slices.Repeat([]string{"a"}, 1000)
	half := slices.Clone(all)
	half[500] = "b"
	newConditions(t)(form, all, half)
}

// The parser refuses cycles. The page must not hang should one get past it.
func TestScriptsEndCycles(t *testing.T) {
	form := chain(3)
	form.Fields[0].Condition = showIf(forms.MatchAll, forms.Rule{FieldID: "f2", Operator: forms.Equals, Value: "a"})
	newConditions(t)(form, []string{"a", "a", "a"})
}
