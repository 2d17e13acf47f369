package forms

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// papers is a form with two file fields, one of which shows on demand.
func papers() *Form {
	return &Form{ID: "papers", PageID: 1, Fields: []Field{
		{ID: "kind", Type: Textfield},
		{ID: "doc", Type: File, Validation: FileName, Required: true},
		{ID: "photo", Type: File, Validation: FileName, Condition: &Condition{
			Match: MatchAll, Rules: []Rule{{FieldID: "kind", Operator: Equals, Value: "photo"}},
		}},
	}}
}

// sentFiles is an answer of files; each is a name and the id of its content.
func sentFiles(fieldID string, files ...StoredFile) Answer {
	var names []string
	for i := range files {
		files[i].FieldID = fieldID
		names = append(names, files[i].Name)
	}
	return Answer{FieldID: fieldID, Value: strings.Join(names, Separator), Files: files}
}

func TestFilesOfANewSubmission(t *testing.T) {
	doc, photo := StoredFile{ID: 1, Name: "a.pdf", FieldID: "doc"}, StoredFile{ID: 2, Name: "b.png", FieldID: "photo"}
	for _, tt := range []struct {
		name    string
		answers []Answer
		want    []StoredFile
		faults  map[string]string
	}{
		{"a file", []Answer{sentFiles("doc", doc)}, []StoredFile{doc}, nil},
		{"for a hidden field", []Answer{sentFiles("doc", doc), sentFiles("photo", photo)}, []StoredFile{doc}, nil},
		{"for a shown field", []Answer{text("kind", "photo"), sentFiles("doc", doc), sentFiles("photo", photo)}, []StoredFile{doc, photo}, nil},
		{"text alone", []Answer{text("doc", "a.pdf")}, nil, nil},
		{"for a text field", []Answer{sentFiles("doc", doc), sentFiles("kind", photo)}, nil, map[string]string{"kind": "takes no files"}},
		{"misfit", []Answer{{FieldID: "doc", Value: "a", Misfit: "no"}}, nil, map[string]string{"doc": "no"}},
		{"misfit of a hidden field", []Answer{sentFiles("doc", doc), {FieldID: "photo", Value: "a", Misfit: "no"}}, []StoredFile{doc}, nil},
		{"missing", nil, nil, map[string]string{"doc": "is required"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, files, err := papers().NewEntries(tt.answers, Writer{})
			if diff := cmp.Diff(tt.faults, faultsOf(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilesOfAMerge(t *testing.T) {
	a, b := StoredFile{ID: 1, Name: "a.pdf", FieldID: "doc"}, StoredFile{ID: 2, Name: "b.pdf", FieldID: "doc"}
	photo, gone := StoredFile{ID: 3, Name: "a.pdf", FieldID: "photo"}, StoredFile{ID: 4, Name: "old", FieldID: "gone"}
	again, added := StoredFile{ID: 5, Name: "a.pdf", FieldID: "doc"}, StoredFile{ID: 6, Name: "c.pdf", FieldID: "doc"}
	stored := []StoredFile{a, b, photo, gone}
	entries := []Entry{
		{ID: 1, FieldID: "kind", Value: "photo"},
		{ID: 2, FieldID: "doc", Value: "a.pdf;b.pdf;note"},
		{ID: 3, FieldID: "photo", Value: "a.pdf"},
		{ID: 4, FieldID: "gone", Value: "old"},
	}
	for _, tt := range []struct {
		name    string
		answers []Answer
		want    []StoredFile
		value   string // of doc
	}{
		{"nothing sent", nil, stored, "a.pdf;b.pdf;note"},
		{"another field", []Answer{text("kind", "photo")}, stored, "a.pdf;b.pdf;note"},
		{"as it was", []Answer{text("doc", "a.pdf;b.pdf;note")}, stored, "a.pdf;b.pdf;note"},
		{"one left out", []Answer{text("doc", "b.pdf")}, []StoredFile{b, photo, gone}, "b.pdf"},
		{"another order", []Answer{text("doc", "b.pdf;a.pdf")}, stored, "b.pdf;a.pdf"},
		{"other names", []Answer{text("doc", "x;A.pdf;b")}, []StoredFile{photo, gone}, "x;A.pdf;b"},
		{"replaced", []Answer{sentFiles("doc", again)}, []StoredFile{photo, gone, again}, "a.pdf"},
		{"added", []Answer{{FieldID: "doc", Value: "b.pdf;note;c.pdf", Files: []StoredFile{added}}}, []StoredFile{b, photo, gone, added}, "b.pdf;note;c.pdf"},
		{"emptied", []Answer{text("photo", "")}, []StoredFile{a, b, gone}, "a.pdf;b.pdf;note"},
		{"hidden by the same merge", []Answer{text("kind", "none"), text("photo", "")}, stored, "a.pdf;b.pdf;note"},
		{"a file for a hidden field", []Answer{text("kind", ""), sentFiles("photo", StoredFile{ID: 9, Name: "a.pdf"})}, stored, "a.pdf;b.pdf;note"},
		{"a field that has left the page", []Answer{text("gone", "old")}, stored, "a.pdf;b.pdf;note"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			merged, files, err := papers().Merge(entries, stored, tt.answers, Writer{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if merged[1].Value != tt.value {
				t.Errorf("doc is %q, want %q", merged[1].Value, tt.value)
			}
		})
	}
}
