package forms

import (
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func TestValuesBefore(t *testing.T) {
	stored := []Entry{{1, "same", "x"}, {2, "other", "before"}, {3, "emptied", "y"}, {4, "file", "a.txt"}, {5, "kept", "b.txt"}}
	files := []StoredFile{{ID: 1, FieldID: "file", Name: "a.txt"}, {ID: 2, FieldID: "kept", Name: "b.txt"}}
	merged := []Entry{
		{5, "kept", "b.txt"}, {1, "same", "x"}, {2, "other", "after"}, {3, "emptied", ""}, {4, "file", "a.txt"}, // in any order
		{0, "new", "z"}, {0, "nothing", ""},
	}
	mergedFiles := []StoredFile{{ID: 2, FieldID: "kept", Name: "b.txt"}, {ID: 3, FieldID: "file", Name: "a.txt"}}
	want := map[string]string{"other": "before", "emptied": "y", "file": "a.txt", "new": ""}
	testkit.Diff(t, "", (&Form{}).ValuesBefore(stored, merged, files, mergedFiles), want)
	if got := (&Form{}).ValuesBefore(stored, stored, files, files); len(got) != 0 {
		t.Errorf("nothing has changed, but got %v", got)
	}
}

func TestChanges(t *testing.T) {
	form := Form{Fields: []*Field{{ID: "b"}, {ID: "a"}}}
	current := map[string]string{"a": "3", "b": "x", "gone": "z"}
	got := [][]ValueChange{
		form.Index().Changes(map[string]string{"a": "2", "b": "", "gone": "y", "also gone": ""}, current),
		form.Index().Changes(map[string]string{"a": "1"}, current),
		form.Index().Changes(nil, current),
	}
	want := [][]ValueChange{
		{{FieldID: "b", After: "x"}, {"a", "2", "3", false}, {FieldID: "also gone", Renamed: true}, {"gone", "y", "z", false}},
		{{"a", "1", "2", false}},
		{},
	}
	testkit.Diff(t, "", got, want)
}

// Stored values count, whether their fields show or not.
func TestIsLocked(t *testing.T) {
	form := Form{
		Fields: []*Field{{ID: "a"}, {ID: "hidden", Condition: shownIf(MatchAll, is("a", "1"))}},
		LockIf: shownIf(MatchAny, is("hidden", "x"), is("a", "2")),
	}
	for text, want := range map[string]bool{
		`{}`: false,
		`{"a":{"id":1,"fieldId":"a","value":"2"}}`:                                                 true,
		`{"a":{"id":1,"fieldId":"a","value":"3"}}`:                                                 false,
		`{"hidden":{"id":1,"fieldId":"hidden","value":"x"}}`:                                       true,
		`{"a":{"id":1,"fieldId":"a","value":"1"},"hidden":{"id":2,"fieldId":"hidden","value":""}}`: false,
	} {
		if got, err := form.IsLocked(Submission{Entries: Entries(text)}.Values); got != want || err != nil {
			t.Errorf("%s: %t, %v", text, got, err)
		}
	}
	if _, err := form.IsLocked(Submission{Entries: Entries("damaged")}.Values); err == nil {
		t.Error("what can't be read is not unlocked")
	}
	form.LockIf = nil
	if got, err := form.IsLocked(Submission{Entries: Entries("not looked at")}.Values); got || err != nil {
		t.Errorf("without rules: %t, %v", got, err)
	}
}
