package forms

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVisibleTellsWhatAFilledInFormShows(t *testing.T) {
	form := &Form{Fields: []Field{
		{ID: "a"}, {ID: "b", Condition: shownIf(MatchAll, is("a", "1"))}, {ID: "c", Condition: shownIf(MatchAll, is("b", "x"))},
	}}
	for _, tt := range []struct {
		values []string
		want   []bool
	}{
		{[]string{"1", "x", ""}, []bool{true, true, true}},
		{[]string{"1", "y", "z"}, []bool{true, true, false}},
		{[]string{"2", "x", "z"}, []bool{true, false, false}}, // a hidden field counts as empty
	} {
		if diff := cmp.Diff(tt.want, form.Visible(tt.values)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.values, diff)
		}
	}
}
