package forms

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/testkit"
)

// A row holds every stored value exactly once, whatever order the entries have,
// whatever the row before it was, and however many fields the form has.
func TestResultHoldsEveryStoredValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(storedText, 1, 2*fewFields, rapid.ID).Draw(t, "field ids")
		current := rapid.IntRange(0, len(ids)).Draw(t, "fields still on the page")
		form := &Form{}
		for _, id := range ids[:current] {
			form.Fields = append(form.Fields, &Field{ID: id})
		}
		row := form.NewResult()
		for range 2 {
			stored := rapid.Permutation(ids).Draw(t, "stored")
			stored = stored[:rapid.IntRange(0, len(stored)).Draw(t, "count")]
			want := map[string]string{}
			var entries []Entry
			for _, id := range stored {
				want[id] = storedText.Draw(t, "value")
				entries = append(entries, Entry{FieldID: id, Value: want[id]})
			}
			if err := row.Read(Submission{Entries: EncodeEntries(nil, entries)}); err != nil {
				t.Fatal(err)
			}
			checkRow(t, form, row, stored, want)
		}
	})
}

func checkRow(t *rapid.T, form *Form, row *Result, stored []string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for rank, value := range row.Fields {
		text, err := value.Text()
		if err != nil {
			t.Fatal(err)
		}
		if value != nil {
			got[form.Fields[rank].ID] = text
		} else if text != "" {
			t.Fatalf("the text of no value is %q", text)
		}
	}
	ranks, retired := form.Index(), 0
	for _, id := range stored {
		if ranks.Rank(id) >= 0 {
			continue
		}
		fieldID, err := row.Retired[retired].FieldID.Text()
		if err != nil || fieldID != id {
			t.Fatalf("retired field %d is %q, %v, want %q", retired, fieldID, err, id)
		}
		if got[id], err = row.Retired[retired].Value.Text(); err != nil {
			t.Fatal(err)
		}
		retired++
	}
	if retired != len(row.Retired) {
		t.Fatalf("%d retired values, want %d", len(row.Retired), retired)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func TestResultRefusesWhatEntriesAreNot(t *testing.T) {
	row := (&Form{Fields: []*Field{{ID: "a"}}}).NewResult()
	err := row.Read(Submission{ID: 7, Entries: Entries(`{"a":{"id":1,"fieldId":"a","value":"x}}`)})
	if err == nil || err.Error()[:len("read submission 7: ")] != "read submission 7: " {
		t.Errorf("got %v", err)
	}
}

func TestResultNeedsNoAllocationPerRow(t *testing.T) {
	for _, fields := range []int{3, 3 * fewFields} {
		form, submission := manyRetired(fields)
		row := form.NewResult()
		allocations := testing.AllocsPerRun(100, func() {
			testkit.Must(t, row.Read(submission))
		})
		testkit.Same(t, fields, allocations, 0)
	}
}

// manyRetired is a form of n fields, and a submission with a value for each of
// them and for as many that have left the page.
func manyRetired(n int) (*Form, Submission) {
	form, entries := &Form{}, []Entry{}
	for i := range n {
		id := strconv.Itoa(i)
		form.Fields = append(form.Fields, &Field{ID: id})
		entries = append(entries, Entry{FieldID: id, Value: "x"}, Entry{FieldID: "retired" + id, Value: "y"})
	}
	return form, Submission{Entries: EncodeEntries(nil, entries)}
}
