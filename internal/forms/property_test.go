package forms

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var sampleValues = rapid.OneOf(
	rapid.SampledFrom([]string{"", " ", "a", "b", "a;b", "a;", "1", "-2.5", "2024-02-29", "x@y", "é"}),
	rapid.StringN(0, 5, -1),
)

func genRule(t *rapid.T, earlier []*Field) Rule {
	return Rule{
		FieldID:  rapid.SampledFrom(earlier).Draw(t, "looks at").ID,
		Operator: rapid.SampledFrom(Operators).Draw(t, "operator"),
		Value:    rapid.SampledFrom([]string{"", "a", "a;b", "1", "2024-01-01"}).Draw(t, "operand"),
	}
}

// genForm draws a form as the parser lets them pass: conditions are free of
// cycles, but may look up or down the page.
func genForm(t *rapid.T) *Form {
	var fields []*Field
	for i := range rapid.IntRange(1, 6).Draw(t, "fields") {
		f := &Field{
			ID:         "f" + strconv.Itoa(i),
			Type:       rapid.SampledFrom(FieldTypes).Draw(t, "type"),
			Required:   rapid.Bool().Draw(t, "required"),
			Validation: rapid.SampledFrom([]Validation{NoValidation, NoValidation, OneOf, Numeric, Alpha, Email, DateOnly, FileName}).Draw(t, "validation"),
		}
		if f.Validation == OneOf {
			f.Options = []string{"a", "b", "1"}
			if f.MultiValue() {
				f.Validation = AnyOf
			}
		}
		genBeyond(t, f, fields)
		if i > 0 && rapid.Bool().Draw(t, "conditional") {
			f.Condition = &Condition{Match: rapid.SampledFrom([]Match{MatchAll, MatchAny}).Draw(t, "match")}
			for range rapid.IntRange(1, 2).Draw(t, "rules") {
				f.Condition.Rules = append(f.Condition.Rules, genRule(t, fields))
			}
		}
		fields = append(fields, f)
	}
	return &Form{ID: "form", PageID: 1, Fields: rapid.Permutation(fields).Draw(t, "order")}
}

// genBeyond draws what a form says beyond the interface.
func genBeyond(t *rapid.T, f *Field, earlier []*Field) {
	if f.Type != File && rapid.IntRange(0, 3).Draw(t, "has default") == 0 {
		f.Default = rapid.SampledFrom(goodValues[f.Validation]).Draw(t, "default")
	}
	f.ByEditors = rapid.IntRange(0, 3).Draw(t, "by editors") == 0
	f.MaxLength = rapid.IntRange(0, 12).Draw(t, "longest")
	if len(earlier) > 0 && rapid.Bool().Draw(t, "bounded") {
		f.Min = &Bound{FieldID: rapid.SampledFrom(earlier).Draw(t, "bounded by").ID}
	}
}

// goodValues pass their validation, so that most drawn answers are accepted
// and the properties are about something.
var goodValues = map[Validation][]string{
	NoValidation: {"a", "1", "2024-02-29", " b "}, FileName: {"a", "b.pdf"}, OneOf: {"a", "b", "1"}, AnyOf: {"a", "a;b", "1;1"},
	Numeric: {"1", "-2.5"}, Alpha: {"a", "é"}, Email: {"x@y"}, DateOnly: {"2024-02-29"},
}

func genAnswers(t *rapid.T, form *Form) []Answer {
	var answers []Answer
	for _, f := range form.Fields {
		switch draw := rapid.IntRange(0, 15).Draw(t, "answer"); {
		case draw == 0:
			answers = append(answers, Answer{FieldID: f.ID, Value: sampleValues.Draw(t, "any value")})
		case draw == 1:
			answers = append(answers, Answer{FieldID: f.ID, IsList: true, List: rapid.SliceOfN(sampleValues, 0, 2).Draw(t, "any list")})
		case draw > 5 || f.Required:
			answers = append(answers, Answer{FieldID: f.ID, Value: rapid.SampledFrom(goodValues[f.Validation]).Draw(t, "good value")})
		}
	}
	return answers
}

// Whether an answer to a hidden field is sent or not makes no difference,
// neither on create nor on a merge: it opens no other field either.
func TestAnswersToHiddenFieldsMakeNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := genForm(t)
		answers := genAnswers(t, form)
		w := Writer{Editor: rapid.Bool().Draw(t, "editor"), Now: time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)}
		values := make([]string, len(form.Fields))
		for rank := range values {
			values[rank] = form.Fields[rank].Default
		}
		for _, a := range answers {
			if a.malformed() != nil {
				return // refused, hidden or not
			}
			if rank := form.Index().Rank(a.FieldID); a.misfit(form.Fields[rank]) == nil && (w.Editor || !form.Fields[rank].ByEditors) {
				values[rank] = a.Text()
			}
		}
		shown := form.Index().visible(values)
		visible := slices.DeleteFunc(slices.Clone(answers), func(a Answer) bool {
			return !shown[form.Index().Rank(a.FieldID)]
		})
		all, _, allErr := form.NewEntries(answers, w)
		some, _, someErr := form.NewEntries(visible, w)
		if diff := cmp.Diff(faultsOf(t, someErr), faultsOf(t, allErr)); diff != "" {
			t.Fatalf("faults (-visible +all):\n%s", diff)
		}
		if diff := cmp.Diff(some, all); diff != "" {
			t.Fatalf("entries (-visible +all):\n%s", diff)
		}
	})
}

// cmpEmptyAsNil: whether "no entries" is nil or empty is no part of the contract.
var cmpEmptyAsNil = cmp.Transformer("emptyAsNil", func(entries []Entry) []Entry {
	if len(entries) == 0 {
		return nil
	}
	return entries
})

// Whatever somebody sends who is no editor, the values of editors' fields stay as they
// were: on a create, the defaults.
func TestOthersNeverSetEditorsFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := genForm(t)
		valuesOf := func(entries []Entry) map[string]string {
			values := map[string]string{}
			for _, e := range entries {
				if rank := form.Index().Rank(e.FieldID); form.Fields[rank].ByEditors {
					values[e.FieldID] = e.Value
				}
			}
			return values
		}
		created, _, err := form.NewEntries(genAnswers(t, form), Writer{})
		if err == nil {
			for id, value := range valuesOf(created) {
				if want := form.Fields[form.Index().Rank(id)].Default; value != want {
					t.Fatalf("%s was created as %q, its default is %q", id, value, want)
				}
			}
		}
		stored, _, err := form.NewEntries(genAnswers(t, form), Writer{Editor: true})
		if err != nil {
			return
		}
		merged, _, err := form.Merge(stored, nil, genAnswers(t, form), Writer{})
		if err != nil {
			return
		}
		if diff := cmp.Diff(valuesOf(stored), valuesOf(merged)); diff != "" {
			t.Fatalf("editors' fields (-stored +merged):\n%s", diff)
		}
	})
}
