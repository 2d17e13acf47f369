package service

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// TestTagNamesOneState: whatever of a submission, its files or its form's fields differs, so do the tags. Labels
// show in neither model.
func TestTagNamesOneState(t *testing.T) {
	seen := map[string]string{}
	add := func(what string, id int64, fieldIDs, entries string, files ...forms.StoredFile) {
		t.Helper()
		form := &forms.Form{}
		for fieldID := range strings.FieldsSeq(fieldIDs) {
			form.Fields = append(form.Fields, &forms.Field{ID: fieldID})
		}
		a, sub := &Access{Form: form}, forms.Submission{ID: id, Entries: forms.Entries(entries), Files: files}
		tag := a.Tag(sub)
		if before, taken := seen[tag]; taken {
			t.Errorf("%s and %s have the tag %s", what, before, tag)
		}
		seen[tag] = what
		for _, f := range form.Fields {
			f.Label, f.Required = "another", true
		}
		form.Anonymous = true
		testkit.Same(t, what, a.Tag(sub), tag)
	}
	const x = `{"x":{"id":1,"fieldId":"x","value":"1"}}`
	add("all of it", 1, "x y", x)
	add("another id", 2, "x y", x)
	add("another value", 1, "x y", `{"x":{"id":1,"fieldId":"x","value":"2"}}`)
	add("another entry id", 1, "x y", `{"x":{"id":2,"fieldId":"x","value":"1"}}`)
	add("no entries", 1, "x y", `{}`)
	add("another order", 1, "y x", x)
	add("one field less", 1, "x", x)
	add("one field more", 1, "x y z", x)
	add("fields that read alike", 1, "xy", x)
	add("no fields", 1, "", x)
	file := forms.StoredFile{FieldID: "f", Name: "a", SHA256: "01"}
	add("a file", 1, "x y", x, file)
	add("another content", 1, "x y", x, forms.StoredFile{FieldID: "f", Name: "a", SHA256: "02"})
	add("another field of the file", 1, "x y", x, forms.StoredFile{FieldID: "g", Name: "a", SHA256: "01"})
	add("another name of the file", 1, "x y", x, forms.StoredFile{FieldID: "f", Name: "b", SHA256: "01"})
	add("two files", 1, "x y", x, file, forms.StoredFile{FieldID: "f", Name: "b", SHA256: "01"})
}
