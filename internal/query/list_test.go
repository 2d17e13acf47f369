package query

import (
	"errors"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// ask asks for a list of submissions. read is how many were read before there was an answer.
func ask(subs []forms.Submission, list List) (read int, err error) {
	rows := func(yield func(forms.Submission, error) bool) {
		for _, sub := range subs {
			if read++; !yield(sub, nil) {
				return
			}
		}
	}
	_, _, err = Source{Form: surveyForm, Zone: time.UTC, Scan: func(Range) Rows { return rows }}.List(list)
	return read, err
}

// Submissions are read until all ids are found that the form does not have.
func TestMissingIDsAreFoundInWhatIsStored(t *testing.T) {
	subs := []forms.Submission{
		survey(1, "", "name", "x", "gone", "x"), survey(2, "", `say "x"`, "x"), survey(3, "", "nowhere", ""), survey(4, ""),
	}
	for _, tt := range []struct {
		ids  []string
		read int
		want string
	}{
		{[]string{"name", "_id"}, 0, ""},
		{[]string{"name", "gone", "gone"}, 1, ""},
		{[]string{"gone", "nowhere", `say "x"`}, 3, ""},
		{[]string{"gone", "there"}, 4, "filter[there]: the form has no such field"},
	} {
		var list List
		for _, id := range tt.ids {
			list.Filter.Rules = append(list.Filter.Rules, forms.Rule{FieldID: id, Operator: forms.NotEmpty})
		}
		read, err := ask(subs, list)
		testkit.Same(t, tt.ids, read, tt.read)
		if invalid, ok := errors.AsType[*forms.Invalid](err); ok != (tt.want != "") {
			t.Errorf("%q: %v", tt.ids, err)
		} else if ok {
			testkit.Contains(t, tt.ids, invalid.Errors[0].String(), tt.want)
		}
	}
	damaged := forms.Submission{ID: 3, Entries: forms.Entries(`{"name":broken`)}
	_, err := ask([]forms.Submission{damaged}, List{Filter: Filter{Rules: []forms.Rule{{FieldID: "gone"}}}})
	if err == nil {
		t.Error("no error")
	}
}
