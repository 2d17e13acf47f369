package forms

import "testing"

// papers is a form with two file fields, one of which shows on demand.
func papers() *Form {
	return &Form{ID: "papers", PageID: 1, Fields: []*Field{
		{ID: "kind", Type: Textfield},
		{ID: "doc", Type: File, Validation: FileName, Required: true},
		{ID: "photo", Type: File, Validation: FileName, Condition: shownIf(MatchAll, is("kind", "photo"))},
	}}
}

func TestFilesOfANewSubmission(t *testing.T) {
	for _, c := range []sent{
		{name: "a file", answers: "doc@=1:a.pdf", want: "doc=a.pdf", files: "1:doc"},
		{name: "for a hidden field", answers: "doc@=1:a.pdf | photo@=2:b.png", want: "doc=a.pdf", files: "1:doc"},
		{
			name: "for a shown field", answers: "kind=photo | doc@=1:a.pdf | photo@=2:b.png",
			want: "kind=photo | doc=a.pdf | photo=b.png", files: "1:doc 2:photo",
		},
		{name: "text alone", answers: "doc=a.pdf", want: "doc=a.pdf"},
		{name: "for a text field", answers: "doc@=1:a.pdf | kind@=2:b.png", faults: "kind: takes no files"},
		{name: "misfit", answers: "doc?=no", faults: "doc: no"},
		{name: "misfit of a hidden field", answers: "doc@=1:a.pdf | photo?=no", want: "doc=a.pdf", files: "1:doc"},
		{name: "missing", faults: "doc: is required"},
	} {
		c.run(t, papers())
	}
}

func TestFilesOfAMerge(t *testing.T) {
	files := []StoredFile{
		{ID: 1, Name: "a.pdf", FieldID: "doc"},
		{ID: 2, Name: "b.pdf", FieldID: "doc"},
		{ID: 3, Name: "a.pdf", FieldID: "photo"},
		{ID: 4, Name: "old", FieldID: "gone"},
	}
	const stored = "1:kind=photo | 2:doc=a.pdf;b.pdf;note | 3:photo=a.pdf | 4:gone=old"
	const all = "1:doc 2:doc 3:photo 4:gone"
	doc := func(value string) string { return "1:kind=photo | 2:doc=" + value + " | 3:photo=a.pdf | 4:gone=old" }
	const hidden = "1:kind= | 2:doc=a.pdf;b.pdf;note | 3:photo=a.pdf | 4:gone=old"
	for _, c := range []sent{
		{name: "nothing sent", want: stored, files: all},
		{name: "another field", answers: "kind=photo", want: stored, files: all},
		{name: "as it was", answers: "doc=a.pdf;b.pdf;note", want: stored, files: all},
		{name: "one left out", answers: "doc=b.pdf", want: doc("b.pdf"), files: "2:doc 3:photo 4:gone"},
		{name: "another order", answers: "doc=b.pdf;a.pdf", want: doc("b.pdf;a.pdf"), files: all},
		{name: "other names", answers: "doc=x;A.pdf;b", want: doc("x;A.pdf;b"), files: "3:photo 4:gone"},
		{name: "replaced", answers: "doc@=5:a.pdf", want: doc("a.pdf"), files: "3:photo 4:gone 5:doc"},
		{
			name: "added", answers: "doc@=b.pdf;note;6:c.pdf",
			want: doc("b.pdf;note;c.pdf"), files: "2:doc 3:photo 4:gone 6:doc",
		},
		{
			name: "emptied", answers: "photo=", files: "1:doc 2:doc 4:gone",
			want: "1:kind=photo | 2:doc=a.pdf;b.pdf;note | 3:photo= | 4:gone=old",
		},
		{name: "hidden by the same merge", answers: "kind= | photo=", want: hidden, files: all},
		{name: "a file for a hidden field", answers: "kind= | photo@=9:a.pdf", want: hidden, files: all},
		{name: "a field that has left the page", answers: "gone=old", want: stored, files: all},
	} {
		c.stored, c.storedFiles = stored, files
		c.run(t, papers())
	}
}
