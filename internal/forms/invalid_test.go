package forms

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/testkit"
)

func textsOf(messages []*Message) (texts []string) {
	for _, m := range messages {
		texts = append(texts, m.String())
	}
	return texts
}

func TestInvalidKeepsTheFirstMessageOfAField(t *testing.T) {
	var invalid Invalid
	testkit.ErrorIs(t, "an empty Invalid is the error", invalid.Err(), nil)
	invalid.Add("a", Say("first"))
	invalid.Add("a", Say("second"))
	invalid.Add("b", Say("other"))
	invalid.AddError(Say("general"))
	want := &Invalid{Fields: map[string]*Message{"a": Say("first"), "b": Say("other")}, Errors: []*Message{Say("general")}}
	testkit.Diff(t, "", invalid.Err(), want, cmp.AllowUnexported(Invalid{}))
	if got, want := invalid.Error(), "invalid submission: 2 fields at fault, 1 general errors"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := (&Invalid{Errors: []*Message{Say("general")}}).Err(); err == nil {
		t.Error("a general error alone is no error")
	}
}

func TestInvalidListsAHundredAndCountsTheRest(t *testing.T) {
	for _, tt := range []struct {
		fields, errors int
		more           []string
	}{
		{100, 100, nil},
		{101, 1, []string{"and 1 more field is at fault"}},
		{3000, 0, []string{"and 2900 more fields are at fault"}},
		{1, 101, []string{"and 1 more error"}},
		{5000, 300, []string{"and 200 more errors", "and 4900 more fields are at fault"}},
	} {
		var invalid Invalid
		for range 2 { // what is said again counts once
			for i := range tt.fields {
				invalid.Add(fmt.Sprint("f", i), Say("is wrong"))
			}
		}
		var general []string
		for i := range tt.errors {
			invalid.AddError(Say("error {0}", i))
			general = append(general, fmt.Sprint("error ", i))
		}
		want := slices.Concat(general[:min(100, tt.errors)], tt.more)
		for range 2 { // nor does asking again change anything
			if err := invalid.Err(); err == nil || len(invalid.Fields) != min(100, tt.fields) {
				t.Errorf("%d fields: %d are listed (%v)", tt.fields, len(invalid.Fields), err)
			}
			if diff := cmp.Diff(want, textsOf(invalid.Errors)); diff != "" {
				t.Errorf("%d fields, %d errors (-want +got):\n%s", tt.fields, tt.errors, diff)
			}
		}
	}
}

// A caller gets no megabyte back that they made up.
func TestInvalidRepeatsNamesOnlyInPart(t *testing.T) {
	var invalid Invalid
	longest := strings.Repeat("x", 200)
	invalid.Add(longest, Say("is wrong"))
	invalid.Add(longest+"y", Say("is wrong"))
	invalid.Add(strings.Repeat("ä", 150_000), Say("is wrong"))
	invalid.Add("x"+strings.Repeat("ä", 150_000), Say("is wrong"))
	want := []string{
		longest + "… is wrong", strings.Repeat("ä", 100) + "… is wrong", "x" + strings.Repeat("ä", 99) + "… is wrong",
	}
	if diff := cmp.Diff(want, textsOf(invalid.Errors)); diff != "" || len(invalid.Fields) != 1 {
		t.Errorf("%v (-want +got):\n%s", invalid.Fields, diff)
	}
	if s := Clip(strings.Repeat("\U0001f600", 100)); !utf8.ValidString(s) || len(s) > maxNamed+len("…") {
		t.Errorf("%q", s)
	}
}
