package table

import (
	"slices"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// A table with labels has those of options, too. Labels are texts, also of options that are numbers.
func TestLabelsOfOptions(t *testing.T) {
	form := formOf("days", "rating", "text")
	form.Fields[0].Type, form.Fields[0].Validation = forms.Checkbox, forms.AnyOf
	form.Fields[0].Options, form.Fields[0].Labels = []string{"mo", "tu"}, map[string]string{"mo": "Monday", "tu": "=Tuesday"}
	form.Fields[1].Validation, form.Fields[1].Options = forms.OneOf, []string{"1", "2"}
	form.Fields[1].Labels = map[string]string{"1": "bad, as far as I can tell"}
	tb := table{form, []forms.Submission{
		submission(1, "days", "mo;tu", "rating", "1", "text", "mo"), submission(2, "days", "we", "rating", "2", "gone", "mo"),
	}}
	values := [][]string{{"mo;tu", "1", "mo", ""}, {"we", "2", "", "mo"}}
	labels := [][]string{{"Monday;=Tuesday", "bad, as far as I can tell", "mo", ""}, {"we", "2", "", "mo"}}
	widths := map[bool]float64{}
	for withLabels, want := range map[bool][][]string{false: values, true: labels} {
		opts := Options{Labels: withLabels, NoGuard: true}
		book := open(t, tb.xlsx(t, opts))
		sheet, _ := sheet(t, book, "results", metadata+4)
		rows := readCSV(t, tb.csv(t, opts))
		for i, row := range want {
			if got := rows[i+1][metadata:]; !slices.Equal(got, row) {
				t.Errorf("CSV: %q, want %q", got, row)
			}
			if got := sheet[i+1][metadata:]; !slices.Equal(got, row) {
				t.Errorf("XLSX: %q, want %q", got, row)
			}
		}
		widths[withLabels], _ = book.GetColWidth("results", "E")
	}
	if want := float64(len(labels[0][1]) + padding); widths[true] != want || widths[false] >= want {
		t.Errorf("the column of labels has the width %v", widths)
	}
	guarded := readCSV(t, tb.csv(t, Options{Labels: true}))
	testkit.Same(t, "guarded", guarded[1][metadata], "Monday;'=Tuesday")
}
