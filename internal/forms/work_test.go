package forms

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The operand of the rules is long, so that each evaluation of one allocates
// memory, and can be counted by that.
func TestAConditionIsEvaluatedOnce(t *testing.T) {
	const rules = 50
	section := &Condition{Match: MatchAny}
	for range rules {
		section.Rules = append(section.Rules, Rule{FieldID: "topics", Operator: Contains, Value: strings.Repeat("x", 100)})
	}
	evaluations := func(fields int) int {
		form := Form{Fields: []Field{{ID: "topics", Type: Checkbox}}}
		for i := range fields {
			form.Fields = append(form.Fields, Field{ID: strconv.Itoa(i), Condition: section})
		}
		ranks, values := form.ranks(), make([]string, fields+1)
		values[0] = strings.Repeat("y;", 100)
		return int(testing.AllocsPerRun(10, func() { ranks.visible(values) }))
	}
	some, many := evaluations(100), evaluations(500)
	if some < rules {
		t.Fatalf("%d allocations for %d rules: they do not count evaluations any more", some, rules)
	}
	if many != some {
		t.Errorf("a section of 500 fields takes %d allocations, one of 100 takes %d: its condition is evaluated more than once", many, some)
	}
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

// A value of blanks has to be read to its end before that is known.
func TestWhetherAValueIsBlankIsFoundOutOnce(t *testing.T) {
	for typ, value := range map[FieldType]string{Textbox: strings.Repeat(" ", 100_000), Checkbox: strings.Repeat("; ", 50_000)} {
		visible := func(fields int) time.Duration {
			form := Form{Fields: []Field{{ID: "x", Type: typ}}}
			for i := range fields {
				form.Fields = append(form.Fields, Field{ID: strconv.Itoa(i), Condition: shownIf(MatchAny,
					Rule{FieldID: "x", Operator: NotEmpty}, Rule{FieldID: "x", Operator: Empty})})
			}
			ranks, values := form.ranks(), make([]string, fields+1)
			values[0] = value
			return fastest(func() {
				if shown := ranks.visible(values); slices.Contains(shown, false) {
					t.Fatal("a blank value is neither empty nor not")
				}
			})
		}
		if one, many := visible(1), visible(500); many > 100*one {
			t.Errorf("%s: 500 conditions take %v, one %v", typ, many, one)
		}
	}
}

func TestHasPartIsOneOfTheSplit(t *testing.T) {
	joined := rapid.StringMatching(`[ab;]{0,12}`)
	part := rapid.StringMatching(`[ab;]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		j, p := joined.Draw(t, "joined"), part.Draw(t, "part")
		if got, want := hasPart(j, p), slices.Contains(strings.Split(j, Separator), p); got != want {
			t.Errorf("hasPart(%q, %q) = %t", j, p, got)
		}
	})
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

func TestOperatorsThatReadWholeValues(t *testing.T) {
	var reading []Operator
	for _, o := range Operators {
		if o.ReadsWholeValue() {
			reading = append(reading, o)
		}
	}
	if !slices.Equal(reading, []Operator{Contains, GreaterThan, LessThan}) {
		t.Errorf("got %v", reading)
	}
}
