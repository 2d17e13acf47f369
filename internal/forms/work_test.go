package forms

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A condition that was evaluated again would give another result here, for the
// value has changed meanwhile.
func TestAConditionIsEvaluatedOnce(t *testing.T) {
	section := shownIf(MatchAll, is("a", "1"))
	form := Form{Fields: []Field{{ID: "a"}, {ID: "s1", Condition: section}, {ID: "s2", Condition: section}, {ID: "other", Condition: shownIf(MatchAll, is("a", "1"))}}}
	v := form.Index().visibility([]string{"1", "", "", ""})
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

// What rules ask of a long value is found out once, for all rules of the form.
// As above, the value changes after that.
func TestTheFactsOfALongValueAreFoundOutOnce(t *testing.T) {
	pad := strings.Repeat("0", longValue)
	for _, tt := range []struct {
		field         Field
		before, after string
		rule          Rule
	}{
		{Field{Type: Textbox}, strings.Repeat(" ", longValue), pad, Rule{Operator: Empty}},
		{Field{Type: Textbox}, pad, strings.Repeat(" ", longValue), Rule{Operator: NotEmpty}},
		{Field{Type: Textbox}, pad + "2", pad, Rule{Operator: GreaterThan, Value: "1"}},
		{Field{Type: Textbox}, pad, pad + "2", Rule{Operator: LessThan, Value: "1"}},
		{Field{Type: Checkbox}, pad + ";a", pad, Rule{Operator: Contains, Value: "a"}},
	} {
		tt.field.ID, tt.rule.FieldID = "x", "x"
		form := Form{Fields: []Field{tt.field, {ID: "y", Condition: shownIf(MatchAll, tt.rule)}}}
		v := form.Index().visibility([]string{tt.before, ""})
		first := v.ruleHolds(tt.rule)
		v.values[0] = tt.after
		if second := v.ruleHolds(tt.rule); !first || !second {
			t.Errorf("%s: %t, and then %t", tt.rule.Operator, first, second)
		}
	}
}

// The length of a value makes no difference to what a rule says of it.
func TestLongValuesMeetTheSameRules(t *testing.T) {
	padding := map[string]string{
		"blanks": strings.Repeat(" ", longValue), "zeros": strings.Repeat("0", longValue), "values": strings.Repeat("a;", longValue/2), "none": "",
	}
	rapid.Check(t, func(t *rapid.T) {
		field := Field{ID: "x", Type: rapid.SampledFrom([]FieldType{Textbox, Checkbox}).Draw(t, "type")}
		value := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") +
			padding[rapid.SampledFrom([]string{"blanks", "zeros", "values", "none"}).Draw(t, "padding")] +
			rapid.StringMatching(`[ab;01.-]{0,3}`).Draw(t, "value")
		rule := Rule{FieldID: "x", Operator: rapid.SampledFrom(Operators).Draw(t, "operator"), Value: rapid.StringMatching(`[ab01]{0,2}|-?[01](\.[01])?`).Draw(t, "operand")}
		form := Form{Fields: []Field{field, {ID: "y", Condition: shownIf(MatchAll, rule)}}}
		v := form.Index().visibility([]string{value, ""})
		if got, want := v.shows(1), rule.Holds(&field, value); got != want {
			t.Errorf("%s %.10q… %s %q: got %t", field.Type, value, rule.Operator, rule.Value, got)
		}
	})
}

// fastest is how long the fastest of some runs takes. Two of them are compared
// with each other, never with the clock.
func fastest(run func()) time.Duration {
	var all []time.Duration
	for range 5 {
		start := time.Now()
		run()
		all = append(all, time.Since(start))
	}
	return slices.Min(all)
}

// A search of the list would take a thousand times as long for the last option
// as for the first.
func TestOptionsAreLookedUpInASet(t *testing.T) {
	field := Field{Type: Checkbox, Validation: AnyOf}
	for i := range 1000 {
		field.Options = append(field.Options, strconv.Itoa(1000+i))
	}
	check := func(option string) time.Duration {
		value := strings.Repeat(option+Separator, 20_000) + option
		return fastest(func() {
			if msg := field.check(value); msg != "" {
				t.Fatal(msg)
			}
		})
	}
	if first, last := check("1000"), check("1999"); last > 20*first {
		t.Errorf("20,000 times the last option take %v, the first %v", last, first)
	}
}

func TestManyOptionsAreCheckedLikeFew(t *testing.T) {
	field := Field{Type: Checkbox, Validation: AnyOf, Options: []string{"a", "b", "b"}}
	for n := 1; n < 3*fewParts; n++ {
		good := strings.Repeat("b"+Separator, n-1) + "a"
		if msg := field.check(good); msg != "" {
			t.Errorf("%d options: %s", n, msg)
		}
		for _, bad := range []string{"c", "", "A", "a "} {
			if msg := field.check(good + Separator + bad); msg != "must be any of a, b, b" {
				t.Errorf("%d options and %q: %q", n, bad, msg)
			}
		}
	}
}

func TestBlankListIsOneWithoutSeparators(t *testing.T) {
	list := rapid.StringMatching(`[ \t;a\x{a0}\x{3000}]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		value := list.Draw(t, "list")
		if got, want := (&Field{Type: Checkbox}).isBlank(value), isBlank(strings.ReplaceAll(value, Separator, "")); got != want {
			t.Errorf("isBlank(%q) = %t", value, got)
		}
	})
}

func TestRulesThatSearch(t *testing.T) {
	for _, o := range Operators {
		for _, typ := range FieldTypes {
			want := o == Contains && typ != Checkbox
			if got := (Rule{Operator: o}).Searches(&Field{Type: typ}); got != want {
				t.Errorf("%s of a %s: got %t", o, typ, got)
			}
		}
	}
}
