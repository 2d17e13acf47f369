package service

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// TestCountWaiting: the number is exact if there is time, forms take turns, and a turn ends after so many rows or bytes.
func TestCountWaiting(t *testing.T) {
	w := newWorld(t)
	state := &forms.Field{
		ID: "state", Type: forms.Status, ByEditors: true, Options: []string{"new", "done"}, Default: "new",
		Was: []string{"status"}, ValueWas: map[string]string{"open": "new"},
	}
	var list []*Access
	for _, id := range []string{"many", "large", "few"} {
		f := &forms.Form{PageID: 1, ID: id, Fields: []*forms.Field{{ID: "text", Type: forms.Textbox}, state}}
		f.NameFields()
		w.page.Forms = append(w.page.Forms, f)
		list = append(list, w.as(editor, id))
	}
	list = append(list, w.as(editor, "named"), w.as(viewer, "many"))
	stored := func(formID string, times int, entries ...forms.Entry) {
		for range times {
			_, err := w.store.Create(t.Context(), store.New{PageID: 1, FormID: formID, Username: "owner", Created: w.clock, Entries: entries})
			testkit.Must(t, err)
		}
	}
	stored("many", 9, forms.Entry{FieldID: "status", Value: "open"})
	stored("many", 300, forms.Entry{FieldID: "state", Value: "done"})
	stored("many", 2)
	stored("large", 10, forms.Entry{FieldID: "text", Value: strings.Repeat("x", turnBytes/2)})
	stored("few", 1, forms.Entry{FieldID: "state", Value: "new"})
	type number struct {
		Count int
		Exact bool
	}
	for turns, want := range map[int][]number{
		0: {{0, false}, {0, false}, {0, false}, {0, true}, {0, true}},
		3: {{2, false}, {2, false}, {1, true}, {0, true}, {0, true}},
		9: {{11, true}, {10, true}, {1, true}, {0, true}, {0, true}},
	} {
		left := turns
		counts, err := CountWaiting(t.Context(), list, func() bool { left--; return left >= 0 })
		testkit.Must(t, err)
		var got []number
		for _, n := range counts {
			got = append(got, number{n.Count, n.Exact})
		}
		testkit.Diff(t, turns, got, want)
	}
	listed := w.lists(list[0], query.List{Filter: query.Filter{Rules: []forms.Rule{{FieldID: "state", Operator: forms.InList, Value: "new;"}}}})
	testkit.Same(t, "the list", len(listed), 11)
}

// TestLatestReadsFewBytes: what comes after large submissions has no answers.
func TestLatestReadsFewBytes(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		w.stores("owner", "text", strings.Repeat("x", 2*latestBytes/3))
	}
	list, err := w.Pages(t.Context(), owner)
	testkit.Must(t, err)
	own, err := w.Latest(t.Context(), owner, list, 5)
	testkit.Must(t, err)
	read := 0
	for _, sub := range own {
		values, err := sub.Values()
		testkit.Must(t, err)
		read += len(values)
	}
	if len(own) != 5 || read != 2 {
		t.Errorf("%d submissions, %d were read", len(own), read)
	}
}
