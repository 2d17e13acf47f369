package table

import (
	"strconv"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// Tables for people have words in their header, and times of a zone. If the form is
// anonymous, they have days, and neither numbers nor names.
func TestTablesForPeople(t *testing.T) {
	east := time.FixedZone("east", 5*60*60+45*60)
	changed, ancient := submission(2, "a", "x"), submission(3, "a", "y", "gone", "z")
	changed.Changed, ancient.Created = created.Add(24*time.Hour), time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC)
	tb := table{formOf("a"), []forms.Submission{submission(1, "a", "w"), changed, ancient}}
	opts := Options{Labels: true, Zone: east, Headings: []string{"Number", "Time", "Sent by", "Changed"}}
	want := [][]string{
		{"Number", "Time", "Sent by", "Changed", "Label of a", "gone"},
		{"1", "2026-11-16 00:45:00", "alice", "", "w", ""},
		{"2", "2026-11-16 00:45:00", "alice", "2026-11-17 00:45:00", "x", ""},
		{"3", "1800-01-01 05:45:00", "alice", "", "y", "z"},
	}
	check := func(want [][]string) {
		t.Helper()
		testkit.Diff(t, "CSV", readCSV(t, tb.csv(t, opts)), want)
		book := open(t, tb.xlsx(t, opts))
		_, types := sheet(t, book, "results", len(want[0]))
		for r, row := range want {
			for c, text := range row {
				cell := columnName(c) + strconv.Itoa(r+1)
				if got, err := book.GetCellValue("results", cell); err != nil || got != text {
					t.Errorf("XLSX has %q (%v) in %s, want %q", got, err, cell, text)
				}
			}
		}
		for c, name := range want[0] {
			if (name == "Time" || name == "Changed") && types[2][c] == excelize.CellTypeInlineString {
				t.Errorf("the times are texts: %v", types[2])
			}
		}
	}
	check(want)
	tb.form.Anonymous = true
	check([][]string{
		{"Time", "Changed", "Label of a", "gone"},
		{"2026-11-16", "", "w", ""},
		{"2026-11-16", "2026-11-17", "x", ""},
		{"1800-01-01", "", "y", "z"},
	})
}

// The time of the last change is a column without labels, too, if it is asked for.
func TestChangedColumn(t *testing.T) {
	changed := submission(2, "a", "x")
	changed.Changed = created.Add(24 * time.Hour)
	tb := table{formOf("a"), []forms.Submission{submission(1, "a", "w"), changed}}
	opts := Options{Columns: []string{"a", forms.ColumnChanged}}
	want := [][]string{{"a", "_changed"}, {"w", ""}, {"x", "2026-11-16T19:00:00.007Z"}}
	testkit.Diff(t, "CSV", readCSV(t, tb.csv(t, opts)), want)
	book := open(t, tb.xlsx(t, opts))
	shown, _ := sheet(t, book, "results", 2)
	if shown[0][1] != "_changed" || shown[1][1] != "" || timestamp(t, book, "results", "B3") != want[2][1] {
		t.Errorf("XLSX has %q", shown)
	}
}
