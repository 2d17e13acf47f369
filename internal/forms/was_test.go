package forms

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// renamedForm has had other ids and values.
func renamedForm() *Form {
	f := &Form{PageID: 1, ID: "f", Fields: []*Field{
		{ID: "remarks", Type: Textbox, Was: []string{"comment", "text"}},
		{ID: "mood", Type: Radio, Validation: OneOf, Options: []string{"good", "bad"}, Was: []string{"feeling"}, ValueWas: map[string]string{"fine": "good", "nice": "good"}},
		{ID: "days", Type: Checkbox, Validation: AnyOf, Options: []string{"mo", "tu", "we"}, ValueWas: map[string]string{"monday": "mo", "Mon": "mo", "tuesday": "tu"}},
		{ID: "files", Type: File, Validation: FileName, Was: []string{"papers"}},
	}}
	f.NameFields()
	return f
}

func numbered(pairs ...string) (entries []Entry) {
	for pair := range slices.Chunk(pairs, 2) {
		entries = append(entries, Entry{ID: int64(8193 + len(entries)), FieldID: pair[0], Value: pair[1]})
	}
	return entries
}

// TestCurrent: stored ids and values are read as those that the form has now.
func TestCurrent(t *testing.T) {
	for name, test := range map[string]struct{ stored, want []string }{
		"none":                   {nil, nil},
		"own ids":                {[]string{"remarks", "a", "mood", "bad"}, []string{"remarks", "a", "mood", "bad"}},
		"an earlier id":          {[]string{"comment", "a"}, []string{"remarks", "a"}},
		"the own id counts":      {[]string{"comment", "a", "remarks", ""}, []string{"comment", "a", "remarks", ""}},
		"the newest counts":      {[]string{"text", "a", "comment", "b"}, []string{"text", "a", "remarks", "b"}},
		"id and value":           {[]string{"feeling", "nice"}, []string{"mood", "good"}},
		"no part of a choice":    {[]string{"mood", "fine;nice"}, []string{"mood", "fine;nice"}},
		"parts":                  {[]string{"days", "tuesday;monday;we"}, []string{"days", "tu;mo;we"}},
		"two that became one":    {[]string{"days", "we;monday;tu;Mon;mo"}, []string{"days", "we;mo;tu"}},
		"twice, but not renamed": {[]string{"days", "we;we"}, []string{"days", "we;we"}},
		"values of other fields": {[]string{"remarks", "monday", "gone", "fine"}, []string{"remarks", "monday", "gone", "fine"}},
	} {
		t.Run(name, func(t *testing.T) {
			stored := numbered(test.stored...)
			sub := Submission{ID: 1, Entries: EncodeEntries(nil, stored)}
			before := string(sub.Entries)
			for range 2 { // again, it changes nothing
				var err error
				if sub, err = renamedForm().Current(sub); err != nil {
					t.Fatal(err)
				}
				got, _ := sub.Entries.Decode()
				testkit.Diff(t, "", got, numbered(test.want...))
			}
			testkit.Same(t, "the stored entries were changed", before, string(EncodeEntries(nil, stored)))
		})
	}
	if _, err := renamedForm().Current(Submission{Entries: Entries(`{"a"}`)}); err == nil {
		t.Error("damaged entries are read")
	}
}

// TestCurrentCostsNothing: the submissions of a form without renames are not looked at.
func TestCurrentCostsNothing(t *testing.T) {
	f := &Form{Fields: []*Field{{ID: "a"}}}
	f.NameFields()
	damaged := Submission{Entries: Entries("{")}
	if got, err := f.Current(damaged); err != nil || string(got.Entries) != "{" {
		t.Errorf("got %q, %v", got.Entries, err)
	}
	if n := testing.AllocsPerRun(10, func() { _, _ = f.Current(damaged) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestCurrentFiles: files go with the answer that they belong to.
func TestCurrentFiles(t *testing.T) {
	for _, test := range []struct{ entries, files, want string }{
		{"papers", "papers", "files"},
		{"files", "papers", "files"}, // the entry was written since
		{"files papers", "papers files", "papers files"},
		{"gone", "gone", "gone"},
	} {
		var stored []string
		for id := range strings.FieldsSeq(test.entries) {
			stored = append(stored, id, "a.pdf")
		}
		sub := Submission{Entries: EncodeEntries(nil, numbered(stored...))}
		for id := range strings.FieldsSeq(test.files) {
			sub.Files = append(sub.Files, StoredFile{FieldID: id, Name: "a.pdf"})
		}
		got, err := renamedForm().Current(sub)
		testkit.Must(t, err)
		var ids []string
		for _, f := range got.Files {
			ids = append(ids, f.FieldID)
		}
		if strings.Join(ids, " ") != test.want {
			t.Errorf("%v: %v", test, ids)
		}
	}
}

// TestMergeOfRenamed: an update stores new names for what it writes, and leaves the rest.
func TestMergeOfRenamed(t *testing.T) {
	f := renamedForm()
	stored := numbered("comment", "a", "feeling", "nice", "days", "monday", "papers", "a.pdf;b.pdf", "text", "old")
	files := []StoredFile{{ID: 1, FieldID: "papers", Name: "a.pdf"}, {ID: 2, FieldID: "papers", Name: "b.pdf"}}
	for name, test := range map[string]struct {
		answers, want []string
		before        map[string]string
		files         []int64
	}{
		"nothing":         {nil, []string{"comment", "a", "feeling", "nice", "days", "monday", "papers", "a.pdf;b.pdf", "text", "old"}, map[string]string{}, []int64{1, 2}},
		"one field":       {[]string{"remarks", "b"}, []string{"remarks", "b", "feeling", "nice", "days", "monday", "papers", "a.pdf;b.pdf", "text", "old"}, map[string]string{"remarks": "a"}, []int64{1, 2}},
		"by its old id":   {[]string{"comment", "b"}, []string{"remarks", "b", "feeling", "nice", "days", "monday", "papers", "a.pdf;b.pdf", "text", "old"}, map[string]string{"remarks": "a"}, []int64{1, 2}},
		"the same value":  {[]string{"mood", "good"}, []string{"comment", "a", "mood", "good", "days", "monday", "papers", "a.pdf;b.pdf", "text", "old"}, map[string]string{}, []int64{1, 2}},
		"an old value":    {[]string{"days", "monday;tuesday"}, []string{"comment", "a", "feeling", "nice", "days", "mo;tu", "papers", "a.pdf;b.pdf", "text", "old"}, map[string]string{"days": "mo"}, []int64{1, 2}},
		"a file is taken": {[]string{"files", "b.pdf"}, []string{"comment", "a", "feeling", "nice", "days", "monday", "files", "b.pdf", "text", "old"}, map[string]string{"files": "a.pdf;b.pdf"}, []int64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			var answers []Answer
			for pair := range slices.Chunk(test.answers, 2) {
				answers = append(answers, Answer{FieldID: pair[0], Value: pair[1]})
			}
			entries, merged, err := f.Merge(stored, files, f.CurrentAnswers(answers), Writer{})
			testkit.Must(t, err)
			testkit.Diff(t, "", entries, numbered(test.want...))
			testkit.Diff(t, "", f.ValuesBefore(stored, entries, files, merged), test.before)
			var ids []int64
			for _, file := range merged {
				ids = append(ids, file.ID)
			}
			if !slices.Equal(ids, test.files) {
				t.Errorf("files %v", ids)
			}
		})
	}
}

// TestCurrentAnswers: old names are taken. Several ids of one field are a fault of each but
// the newest.
func TestCurrentAnswers(t *testing.T) {
	f := renamedForm()
	entries, _, err := f.NewEntries(f.CurrentAnswers([]Answer{
		{FieldID: "text", Value: "a"},
		{FieldID: "mood", Value: "fine"},
		{FieldID: "days", IsList: true, List: []string{"monday", "we", "Mon"}},
	}), Writer{})
	testkit.Must(t, err)
	want := []Entry{{FieldID: "remarks", Value: "a"}, {FieldID: "mood", Value: "good"}, {FieldID: "days", Value: "mo;we"}}
	testkit.Diff(t, "", entries, want)
	_, _, err = f.NewEntries(f.CurrentAnswers([]Answer{
		{FieldID: "text", Value: "a"}, {FieldID: "remarks", Value: "b"}, {FieldID: "comment", Value: "c"}, {FieldID: "gone", Value: "d"},
	}), Writer{})
	message := `is another id of the field "remarks": send one of them`
	testkit.Diff(
		t, "", faultsOf(t, err), map[string]string{"text": message, "comment": message, "gone": MsgUnknownField.String()},
	)
	// A list with a value that can't be one stays a fault.
	_, _, err = f.NewEntries(f.CurrentAnswers([]Answer{{FieldID: "days", IsList: true, List: []string{"monday;we"}}}), Writer{})
	if err == nil {
		t.Error("a value with ; is taken")
	}
}

// TestNameRule: a rule with old names gets the new names.
func TestNameRule(t *testing.T) {
	f := renamedForm()
	for _, test := range []struct {
		id       string
		operator Operator
		value    string
		want     string
	}{
		{"comment", "contains", "a", "remarks contains a"},
		{"feeling", "equals", "fine", "mood equals good"},
		{"mood", "not-equals", "nice", "mood not-equals good"},
		{"mood", "one-of", "fine;nice;bad", "mood one-of good;bad"},
		{"days", "contains", "monday", "days contains mo"},
		{"days", "empty", "", "days empty "},
		{"gone", "equals", "fine", "gone equals fine"},
	} {
		r := Rule{test.id, test.operator, test.value}
		f.NameRule(&r)
		testkit.Same(t, "the condition", r.FieldID+" "+string(r.Operator)+" "+r.Value, test.want)
	}
}

// TestCurrentStep: a step belongs to the field that its id means, unless the submission has an
// answer under that id beside the one that counts.
func TestCurrentStep(t *testing.T) {
	f := renamedForm()
	for _, test := range []struct{ before, current, want string }{
		{`{"comment":"a","mood":"fine"}`, `{"remarks":"b"}`, `{"mood":"good","remarks":"a"}`},
		{`{"comment":"a"}`, `{"remarks":"b","comment":"c"}`, `{"comment":"a"}`},
		{`{"comment":"a","remarks":"x"}`, `{"remarks":"b"}`, `{"comment":"a","remarks":"x"}`},
		{`{"remarks":"x","gone":"y"}`, `{"remarks":"b","gone":"c"}`, `{"gone":"y","remarks":"x"}`},
	} {
		var before, current map[string]string
		if json.Unmarshal([]byte(test.before), &before) != nil || json.Unmarshal([]byte(test.current), &current) != nil {
			t.Fatal(test)
		}
		if got, _ := json.Marshal(f.CurrentStep(before, current)); string(got) != test.want {
			t.Errorf("%v: got %s", test, got)
		}
	}
}

// TestSendBackWhatWasRead: of two answers to a field, the older is read as that of a field that has left. It may
// be sent back, but not be changed.
func TestSendBackWhatWasRead(t *testing.T) {
	f := &Form{ID: "f", Fields: []*Field{{ID: "new", Type: Textfield, Was: []string{"old"}}}}
	f.NameFields()
	stored := []Entry{{ID: 1, FieldID: "old", Value: "a"}, {ID: 2, FieldID: "new", Value: "b"}}
	for value, want := range map[string]string{"a": "", "c": `is another id of the field "new": send one of them`} {
		answers := f.CurrentAnswers([]Answer{{FieldID: "old", Value: value}, {FieldID: "new", Value: "b"}})
		merged, _, err := f.Merge(stored, nil, answers, Writer{})
		got := ""
		if invalid, ok := errors.AsType[*Invalid](err); ok {
			got = invalid.Fields["old"].String()
		}
		if got != want || err == nil && len(merged) != 2 {
			t.Errorf("%s: got %v, %v", value, merged, err)
		}
	}
}
