package forms

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestRuleHolds(t *testing.T) {
	var fieldType FieldType
	var operator Operator
	var value, operand string
	var want bool
	testkit.ScanRows(t, "%s %q %s %q %t", []any{&fieldType, &value, &operator, &operand, &want}, func(line string) {
		testkit.Same(t, line, (Rule{Operator: operator, Value: operand}).Holds(&Field{Type: fieldType}, value), want)
	}, strings.ReplaceAll(`
textfield "a" equals "a" true
textfield "A" equals "a" false
textfield "1.0" equals "1" false  (values are texts, not numbers)
textfield "" equals "" true
checkbox "a;b" equals "a" false
checkbox "a;b" equals "a;b" true
checkbox "b;a;b" equals "a;b" true  (a set)
checkbox "a;b;c" equals "a;b" false
checkbox "a" equals "a;b" false
textfield "b;a" equals "a;b" false
checkbox "b;a" not-equals "a;b" false

textfield "a" not-equals "a" false
textfield "b" not-equals "a" true
textfield "" not-equals "a" true

textfield "2" one-of "1;2" true
textfield "3" one-of "1;2" false
textfield "1;2" one-of "1;2" false
checkbox "2;2" one-of "1;2" true
checkbox "1;2" one-of "1;2" false

textfield "abc" contains "b" true
textfield "abc" contains "B" false
checkbox "ab;c" contains "c" true
checkbox "ab;c" contains "b" false  (a whole value, not a part of one)

textfield "" empty "" true
textfield " \u00a0\u3000" empty "" true
textfield "0" empty "" false
textfield "" not-empty "" false
textfield ";" empty "" false
checkbox "; ;" empty "" true  (as for required)
checkbox ";a" not-empty "" true

textfield "10" greater-than "9" true  (as numbers, not as texts)
textfield "9.0" greater-than "9" false
textfield "009.10" greater-than "9.09" true
textfield "-1" greater-than "-2" true
textfield "-0.00" less-than "0" false
textfield "-0.01" less-than "-0" true
textfield "-10" less-than "9" true
textfield "0.5" less-than "0.45" false
textfield "9007199254740993" greater-than "9007199254740992" false  (equal as floats)
textfield "1e3" greater-than "1" false
textfield "+2" greater-than "1" false
textfield "" less-than "1" false

textfield "2024-03-01" greater-than "2024-02-29" true
textfield "2024-02-29" greater-than "2024-02-29" false
textfield "2023-12-31" less-than "2024-01-01" true
textfield "2023-02-29" less-than "2024-01-01" false  (no day, no order)
textfield "2024-01-02" greater-than "2023" false  (a day and a number have no order)
textfield "3000" greater-than "2024-01-02" false

textfield "a" like "a" false

textfield "LONG" greater-than "1" true  (infinite)
textfield "-LONG" less-than "-1" true
textfield "LONG" less-than "LONG0" false
`, "LONG", strings.Repeat("9", 5000)))
}

func shownIf(match Match, rules ...Rule) *Condition { return &Condition{Match: match, Rules: rules} }

func is(field, value string) Rule { return Rule{FieldID: field, Operator: Equals, Value: value} }

func TestVisible(t *testing.T) {
	section := shownIf(MatchAll, is("a", "1"))
	form := Form{Fields: []*Field{
		{ID: "a"},
		{ID: "all", Condition: shownIf(MatchAll, is("a", "1"), is("b", "2"))},
		{ID: "any", Condition: shownIf(MatchAny, is("a", "1"), is("b", "2"))},
		{ID: "s1", Condition: section},
		{ID: "s2", Condition: section},
		{ID: "chain", Condition: shownIf(MatchAll, is("s1", "x"))},
		{ID: "end", Condition: shownIf(MatchAll, Rule{FieldID: "chain", Operator: NotEmpty})},
		{ID: "else", Condition: shownIf(MatchAll, Rule{FieldID: "chain", Operator: Empty})},
		{ID: "other", Condition: shownIf(MatchAll, Rule{FieldID: "chain", Operator: NotEquals, Value: "y"})},
		{ID: "b"}, // a condition may look at a field that stands later
	}}
	for _, tt := range []struct {
		name   string
		values map[string]string
		want   string
	}{
		{"nothing answered", nil, "a else other b"},
		{"one of two rules", map[string]string{"a": "1"}, "a any s1 s2 else other b"},
		{"the other of two rules", map[string]string{"b": "2"}, "a any else other b"},
		{"both rules", map[string]string{"a": "1", "b": "2"}, "a all any s1 s2 else other b"},
		{"a chain", map[string]string{"a": "1", "s1": "x", "chain": "y"}, "a any s1 s2 chain end b"},
		{"a hidden field in the chain counts as empty", map[string]string{"a": "0", "s1": "x", "chain": "y"}, "a else other b"},
		{"a visible but unanswered one, too", map[string]string{"a": "1", "s1": "x"}, "a any s1 s2 chain else other b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			values := make([]string, len(form.Fields))
			for i, f := range form.Fields {
				values[i] = tt.values[f.ID]
			}
			var got []string
			for i, shown := range form.Visible(values) {
				if shown {
					got = append(got, form.Fields[i].ID)
				}
			}
			testkit.Diff(t, "", got, strings.Fields(tt.want))
		})
	}
}

// The parser refuses both, but a slip there must not take the server down.
func TestVisibleEndsOnBrokenConditions(t *testing.T) {
	notEmpty := func(id string) Rule { return Rule{FieldID: id, Operator: NotEmpty} }
	form := Form{Fields: []*Field{
		{ID: "self", Condition: shownIf(MatchAll, notEmpty("self"))},
		{ID: "left", Condition: shownIf(MatchAll, notEmpty("right"))},
		{ID: "right", Condition: shownIf(MatchAll, notEmpty("left"))},
		{ID: "dangling", Condition: shownIf(MatchAll, Rule{FieldID: "gone", Operator: Empty})},
	}}
	want := []bool{false, false, false, false}
	testkit.Diff(t, "", form.Index().visible([]string{"x", "x", "x", "x"}), want)
}

// A condition that was evaluated again would give another result here, for the
// value has changed meanwhile.
func TestAConditionIsEvaluatedOnce(t *testing.T) {
	section := shownIf(MatchAll, is("a", "1"))
	form := Form{Fields: []*Field{{ID: "a"}, {ID: "s1", Condition: section}, {ID: "s2", Condition: section}, {ID: "other", Condition: shownIf(MatchAll, is("a", "1"))}}}
	v := visibility{Index: form.Index(), values: []string{"1", "", "", ""}}
	if !v.shows(1) {
		t.Fatal("the first field of the section is hidden")
	}
	v.values[0] = "2"
	if !v.shows(1) || !v.shows(2) {
		t.Error("the condition was evaluated again for the same field, or for another one of the section")
	}
	if v.shows(3) {
		t.Error("the condition of another field was not evaluated")
	}
}

// What scans a value is bounded by the parser: a value may be as long as a body.
func TestRulesThatScan(t *testing.T) {
	for _, o := range Operators {
		want := o != Equals && o != NotEquals && o != InList
		testkit.Same(t, o, (Rule{Operator: o}).Scans(&Field{Type: Dropdown}), want)
		if !(Rule{Operator: o}).Scans(&Field{Type: Checkbox}) {
			t.Errorf("%s of a checkbox does not scan", o)
		}
	}
}
