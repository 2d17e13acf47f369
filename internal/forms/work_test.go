package forms

import (
	"strings"
	"testing"
)

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
