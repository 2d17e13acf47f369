package service

import (
	"fmt"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// tagged is a form with so many fields, and a submission that answers them.
func tagged(fields int) (*Access, forms.Submission) {
	form := &forms.Form{PageID: 1, ID: "form"}
	var entries []forms.Entry
	for i := range fields {
		id := fmt.Sprintf("field-%d", i)
		form.Fields = append(form.Fields, &forms.Field{ID: id, Type: forms.Textfield})
		entries = append(entries, forms.Entry{ID: int64(i + 1), FieldID: id, Value: "some words"})
	}
	return &Access{Form: form}, forms.Submission{ID: 1, PageID: 1, FormID: "form", Entries: forms.EncodeEntries(nil, entries)}
}

// TestTagNamesOneState: whatever of a submission or its form's fields differs,
// so do the tags.
func TestTagNamesOneState(t *testing.T) {
	seen := map[string]string{}
	add := func(what string, id int64, fieldIDs []string, entries string) {
		form := &forms.Form{}
		for _, f := range fieldIDs {
			form.Fields = append(form.Fields, &forms.Field{ID: f})
		}
		a := &Access{Form: form}
		sub := forms.Submission{ID: id, Entries: forms.Entries(entries)}
		tag := a.Tag(sub)
		if before, taken := seen[tag]; taken {
			t.Errorf("%s and %s have the tag %s", what, before, tag)
		}
		testkit.Same(t, what, a.Tag(sub), tag)
		seen[tag] = what
	}
	const x = `{"x":{"id":1,"fieldId":"x","value":"1"}}`
	add("all of it", 1, []string{"x", "y"}, x)
	add("another id", 2, []string{"x", "y"}, x)
	add("another value", 1, []string{"x", "y"}, `{"x":{"id":1,"fieldId":"x","value":"2"}}`)
	add("another entry id", 1, []string{"x", "y"}, `{"x":{"id":2,"fieldId":"x","value":"1"}}`)
	add("no entries", 1, []string{"x", "y"}, `{}`)
	add("another order", 1, []string{"y", "x"}, x)
	add("one field less", 1, []string{"x"}, x)
	add("one field more", 1, []string{"x", "y", "z"}, x)
	add("fields that read alike", 1, []string{"xy"}, x)
	add("no fields", 1, nil, x)
}

// TestTagFollowsFiles: another content under the same name is another state.
func TestTagFollowsFiles(t *testing.T) {
	a, sub := tagged(1)
	seen := map[string]int{a.Tag(sub): -1}
	for i, files := range [][]forms.StoredFile{
		{{FieldID: "f", Name: "a", SHA256: "01"}},
		{{FieldID: "f", Name: "a", SHA256: "02"}},
		{{FieldID: "g", Name: "a", SHA256: "01"}},
		{{FieldID: "f", Name: "b", SHA256: "01"}},
		{{FieldID: "f", Name: "a", SHA256: "01"}, {FieldID: "f", Name: "b", SHA256: "01"}},
	} {
		sub.Files = files
		tag := a.Tag(sub)
		if before, taken := seen[tag]; taken {
			t.Errorf("files %d and %d have the same tag", before, i)
		}
		seen[tag] = i
	}
}

// TestTagLeavesLabelsOut: they show in neither model.
func TestTagLeavesLabelsOut(t *testing.T) {
	a, sub := tagged(3)
	before := a.Tag(sub)
	a.Form.Fields[0].Label, a.Form.Fields[1].Required, a.Form.Anonymous = "another", true, true
	testkit.Same(t, "then", a.Tag(sub), before)
}
