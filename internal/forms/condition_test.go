package forms

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRuleHolds(t *testing.T) {
	text, multi := &Field{Type: Textfield}, &Field{Type: Checkbox}
	long := strings.Repeat("9", 5000)
	for _, tt := range []struct {
		field    *Field
		value    string
		operator Operator
		operand  string
		want     bool
	}{
		{text, "a", Equals, "a", true},
		{text, "A", Equals, "a", false},
		{text, "1.0", Equals, "1", false}, // values are texts, not numbers
		{text, "", Equals, "", true},
		{multi, "a;b", Equals, "a", false},
		{multi, "a;b", Equals, "a;b", true},

		{text, "a", NotEquals, "a", false},
		{text, "b", NotEquals, "a", true},
		{text, "", NotEquals, "a", true},

		{text, "2", InList, "1;2", true},
		{text, "3", InList, "1;2", false},
		{text, "1;2", InList, "1;2", false},

		{text, "abc", Contains, "b", true},
		{text, "abc", Contains, "B", false},
		{multi, "ab;c", Contains, "c", true},
		{multi, "ab;c", Contains, "b", false}, // a whole value, not a part of one

		{text, "", Empty, "", true},
		{text, " \u00a0\u3000", Empty, "", true},
		{text, "0", Empty, "", false},
		{text, "", NotEmpty, "", false},
		{text, ";", Empty, "", false},
		{multi, "; ;", Empty, "", true}, // as for required
		{multi, ";a", NotEmpty, "", true},

		{text, "10", GreaterThan, "9", true}, // as numbers, not as texts
		{text, "9.0", GreaterThan, "9", false},
		{text, "009.10", GreaterThan, "9.09", true},
		{text, "-1", GreaterThan, "-2", true},
		{text, "-0.00", LessThan, "0", false},
		{text, "-0.01", LessThan, "-0", true},
		{text, "-10", LessThan, "9", true},
		{text, "0.5", LessThan, "0.45", false},
		{text, "9007199254740993", GreaterThan, "9007199254740992", false}, // equal as floats
		{text, long, GreaterThan, "1", true},                               // infinite
		{text, "-" + long, LessThan, "-1", true},
		{text, long, LessThan, long + "0", false},
		{text, "1e3", GreaterThan, "1", false},
		{text, "+2", GreaterThan, "1", false},
		{text, "", LessThan, "1", false},

		{text, "2024-03-01", GreaterThan, "2024-02-29", true},
		{text, "2024-02-29", GreaterThan, "2024-02-29", false},
		{text, "2023-12-31", LessThan, "2024-01-01", true},
		{text, "2023-02-29", LessThan, "2024-01-01", false}, // no day, no order
		{text, "2024-01-02", GreaterThan, "2023", false},    // a day and a number have no order
		{text, "3000", GreaterThan, "2024-01-02", false},

		{text, "a", Operator("like"), "a", false},
	} {
		r := Rule{FieldID: "f", Operator: tt.operator, Value: tt.operand}
		if got := r.Holds(tt.field, tt.value); got != tt.want {
			t.Errorf("%s %.40q %s %.40q: got %t, want %t", tt.field.Type, tt.value, tt.operator, tt.operand, got, tt.want)
		}
	}
}

func shownIf(match Match, rules ...Rule) *Condition { return &Condition{Match: match, Rules: rules} }

func is(field, value string) Rule { return Rule{FieldID: field, Operator: Equals, Value: value} }

func TestVisible(t *testing.T) {
	section := shownIf(MatchAll, is("a", "1"))
	form := Form{Fields: []Field{
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
			if diff := cmp.Diff(strings.Fields(tt.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The parser refuses both, but a slip there must not take the server down.
func TestVisibleEndsOnBrokenConditions(t *testing.T) {
	notEmpty := func(id string) Rule { return Rule{FieldID: id, Operator: NotEmpty} }
	form := Form{Fields: []Field{
		{ID: "self", Condition: shownIf(MatchAll, notEmpty("self"))},
		{ID: "left", Condition: shownIf(MatchAll, notEmpty("right"))},
		{ID: "right", Condition: shownIf(MatchAll, notEmpty("left"))},
		{ID: "dangling", Condition: shownIf(MatchAll, Rule{FieldID: "gone", Operator: Empty})},
	}}
	want := []bool{false, false, false, false}
	if diff := cmp.Diff(want, form.Index().visible([]string{"x", "x", "x", "x"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A condition that was evaluated again would give another result here, for the
// value has changed meanwhile.
func TestAConditionIsEvaluatedOnce(t *testing.T) {
	section := shownIf(MatchAll, is("a", "1"))
	form := Form{Fields: []Field{{ID: "a"}, {ID: "s1", Condition: section}, {ID: "s2", Condition: section}, {ID: "other", Condition: shownIf(MatchAll, is("a", "1"))}}}
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
		if got := (Rule{Operator: o}).Scans(); got != want {
			t.Errorf("%s: got %t", o, got)
		}
	}
}
