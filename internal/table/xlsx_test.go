package table

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

func open(t testing.TB, file []byte) *excelize.File {
	t.Helper()
	book, err := excelize.OpenReader(bytes.NewReader(file))
	testkit.Must(t, err)
	t.Cleanup(func() { _ = book.Close() })
	return book
}

// sheet reads a sheet cell by cell: shown has what a person sees.
func sheet(t testing.TB, book *excelize.File, name string, width int) (shown [][]string, types [][]excelize.CellType) {
	t.Helper()
	rows, err := book.GetRows(name)
	testkit.Must(t, err)
	for r := range rows {
		line, kinds := make([]string, width), make([]excelize.CellType, width)
		for c := range width {
			cell, err := excelize.CoordinatesToCellName(c+1, r+1)
			testkit.Must(t, err)
			if line[c], err = book.GetCellValue(name, cell); err != nil {
				t.Fatal(err)
			}
			if kinds[c], err = book.GetCellType(name, cell); err != nil {
				t.Fatal(err)
			}
			if r > 0 && c == 1 && kinds[c] == excelize.CellTypeUnset {
				line[c] = timestamp(t, book, name, cell)
			}
			if formula, err := book.GetCellFormula(name, cell); err != nil || formula != "" {
				t.Fatalf("%s is the formula %q (%v)", cell, formula, err)
			}
		}
		shown, types = append(shown, line), append(types, kinds)
	}
	return shown, types
}

// raw is the number in a cell.
func raw(t testing.TB, book *excelize.File, name, cell string) string {
	t.Helper()
	text, err := book.GetCellValue(name, cell, excelize.Options{RawCellValue: true})
	testkit.Must(t, err)
	return text
}

// timestamp reads a date cell. excelize shows no fractions of seconds.
func timestamp(t testing.TB, book *excelize.File, name, cell string) string {
	t.Helper()
	text := raw(t, book, name, cell)
	serial, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	millis := math.Round((serial - unixSerial) * dayMillis)
	return time.UnixMilli(int64(millis)).UTC().Format(apiTime)
}

const apiTime = "2006-01-02T15:04:05.000Z"

func TestXLSXReadsBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tb := drawTable(rt)
		want := tb.want(t)
		got, _ := sheet(t, open(t, tb.xlsx(t, Options{})), "results", len(want[0]))
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("(-want +got)\n%s", diff)
		}
	})
}

func TestXLSXOfHostileValues(t *testing.T) {
	tb := table{form: formOf("number", "text")}
	tb.form.Fields[0].Validation = forms.Numeric
	for i, value := range hostile {
		tb.subs = append(tb.subs, submission(int64(i+1), "number", value, "text", value, "gone", value))
	}
	want := tb.want(t)
	got, types := sheet(t, open(t, tb.xlsx(t, Options{})), "results", len(want[0]))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	numbers := []string{"-1", "-1.50", "00042", "123456789012345", "1.50", "-0", "0", "0.5"}
	for i, value := range hostile {
		kinds := types[i+1]
		// A cell without a type is a number, and so is a date.
		testkit.Same(t, value, kinds[3] == excelize.CellTypeUnset && value != "", slices.Contains(numbers, value))
		for _, kind := range []excelize.CellType{kinds[2], kinds[4], kinds[5]} {
			if value != "" && kind != excelize.CellTypeInlineString {
				t.Errorf("%q in a field of text is a cell of type %d", value, kind)
			}
		}
		if kinds[0] != excelize.CellTypeUnset || kinds[1] != excelize.CellTypeUnset {
			t.Errorf("id and timestamp are of the types %d and %d", kinds[0], kinds[1])
		}
	}
}

func TestTimestampsAreDates(t *testing.T) {
	for want, date := range map[string]bool{
		"2026-11-15T19:00:00.000Z": true, "2026-11-15T23:59:59.999Z": true, "2026-11-15T00:00:00.001Z": true,
		"1970-01-01T00:00:00.000Z": true, "1969-12-31T23:59:59.001Z": true, "9999-12-31T23:59:59.000Z": true,
		"1900-03-01T00:00:00.000Z": true, "1900-02-28T23:59:59.000Z": false,
	} {
		s := submission(1)
		at, err := time.Parse(apiTime, want)
		testkit.Must(t, err)
		s.Created = at.In(time.FixedZone("", 7200))
		got, types := sheet(t, open(t, table{formOf(), []forms.Submission{s}}.xlsx(t, Options{})), "results", 3)
		if got[1][1] != want || (types[1][1] == excelize.CellTypeUnset) != date {
			t.Errorf("%s: %s of type %d", want, got[1][1], types[1][1])
		}
	}
}

func TestValueThatNoCellCanHold(t *testing.T) {
	long, emoji := strings.Repeat("x", maxCell+1), strings.Repeat("🙂", maxCell/2+1)
	tb := table{formOf("a", "b"), []forms.Submission{
		submission(1, "a", "short", "b", strings.Repeat("x", maxCell)),
		submission(2, "a", long, "b", "kept"),
		submission(30, "b", emoji, "gone", long),
	}}
	book := open(t, tb.xlsx(t, Options{Labels: true}))
	if names := book.GetSheetList(); !slices.Equal(names, []string{"results", "notes"}) {
		t.Fatalf("sheets: %q", names)
	}
	results, types := sheet(t, book, "results", 6)
	if results[1][4] != strings.Repeat("x", maxCell) || results[2][4] != "kept" {
		t.Error("a value that fits is not there")
	}
	for _, at := range [][2]int{{2, 3}, {3, 4}, {3, 5}} {
		if r, c := at[0], at[1]; results[r][c] != "#N/A" || types[r][c] != excelize.CellTypeError {
			t.Errorf("row %d, column %d: %q of type %d", r, c, results[r][c], types[r][c])
		}
	}
	notes, _ := sheet(t, book, "notes", len(note{}))
	for i := range notes[1:] {
		testkit.Contains(t, notes[i+1], notes[i+1][3], "32767 characters")
		notes[i+1][3] = "problem"
	}
	want := [][]string{
		{"_id", "column", "characters", "problem"},
		{"2", "a", "32768", "problem"},
		{"30", "b", "32768", "problem"},
		{"30", "gone", "32768", "problem"},
	}
	testkit.Diff(t, "", notes, want)
}

// An export from a page of an anonymous form tells no ids: a note names the row of the sheet.
func TestNoteOfAnAnonymousForm(t *testing.T) {
	form := formOf("a")
	form.Anonymous = true
	rows := []forms.Submission{submission(4711, "a", "short"), submission(4712, "a", strings.Repeat("x", maxCell+1))}
	opts := Options{Zone: time.UTC, Headings: []string{"Number", "Time", "Sent by", "Changed"}}
	notes, _ := sheet(t, open(t, table{form, rows}.xlsx(t, opts)), "notes", 3)
	testkit.Diff(t, "", notes, [][]string{{"row", "column", "characters"}, {"3", "a", "32768"}})
}

// A form without fields has fewer columns than the notes.
func TestNoteOfAFormWithoutFields(t *testing.T) {
	s := submission(1)
	s.Username = strings.Repeat("x", maxCell+1)
	notes, _ := sheet(t, open(t, table{formOf(), []forms.Submission{s}}.xlsx(t, Options{})), "notes", len(note{}))
	if len(notes) != 2 || notes[1][1] != "_username" {
		t.Errorf("notes: %q", notes)
	}
}

func TestNotesAreBoundedAndCounted(t *testing.T) {
	long := submission(1, "a", strings.Repeat("x", maxCell+1))
	book := open(t, table{formOf("a"), slices.Repeat([]forms.Submission{long}, maxNotes+3)}.xlsx(t, Options{}))
	rows, err := book.GetRows("notes")
	testkit.Must(t, err)
	if last := rows[len(rows)-1]; len(rows) != maxNotes+2 || !strings.HasPrefix(last[3], "3 further values") {
		t.Errorf("%d rows, the last is %q", len(rows), last)
	}
}

func TestFurtherSheets(t *testing.T) {
	tb := table{form: formOf("a")}
	for i := range 7 {
		tb.subs = append(tb.subs, submission(int64(i+1), "a", fmt.Sprint("v", i)))
	}
	book := open(t, tb.xlsx(t, Options{}, func(w *XLSX) { w.maxRows = 3 }))
	want := tb.want(t)
	if names := book.GetSheetList(); !slices.Equal(names, []string{"results", "results 2", "results 3", "results 4"}) {
		t.Fatalf("sheets: %q", names)
	}
	var got [][]string
	for _, name := range book.GetSheetList() {
		rows, _ := sheet(t, book, name, len(want[0]))
		if len(rows) > 3 || !slices.Equal(rows[0], want[0]) {
			t.Errorf("%s has %d rows and the header %q", name, len(rows), rows[0])
		}
		got = append(got, rows[1:]...)
	}
	testkit.Diff(t, "", got, want[1:])
}

// The sheet at its limit is one sheet, and one row more makes a second.
func TestLargestSheet(t *testing.T) {
	w := NewXLSX(NewColumns(formOf(), Options{}))
	testkit.Must(t, testkit.ErrorOf(w.Begin(nil)))
	w.row = maxRows - 1 // as if so many had been written
	for _, want := range []int{1, 2} {
		testkit.Must(t, testkit.ErrorOf(w.Row(nil, submission(1))))
		if w.results != want {
			t.Fatalf("there are %d sheets, want %d", w.results, want)
		}
	}
}

func TestTextOfXML(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "<&>": "&lt;&amp;&gt;", "a\tb\nc": "a\tb\nc", "\r": "_x000D_", "\x01\x1f": "_x0001__x001F_",
		"_x0041_": "_x005F_x0041_", "_x0041_x0042_": "_x005F_x0041_x005F_x0042_", "_x0041\x01": "_x005F_x0041_x0001_",
		"_x004": "_x004", "_X0041_": "_X0041_", "_xyzzy_": "_xyzzy_", "\uffff🙂": "_xFFFF_🙂",
	} {
		if got, _, err := appendXML(nil, text); string(got) != want || err != nil {
			t.Errorf("%q: %q, want %q (%v)", text, got, want, err)
		}
	}
	if _, _, err := appendXML(nil, "a\xff"); err == nil {
		t.Error("invalid UTF-8 was written")
	}
}

// A number cell shows the digits that were sent, and counts in sums.
func TestNumbersShowTheDigitsAsSent(t *testing.T) {
	form := formOf("price", "rating", "room", "days")
	form.Fields[0].Validation = forms.Numeric
	form.Fields[1].Validation, form.Fields[1].Options = forms.OneOf, []string{"1", "2", "3.5"}
	form.Fields[2].Validation, form.Fields[2].Options = forms.OneOf, []string{"1", "2b"}
	form.Fields[3].Validation, form.Fields[3].Options = forms.AnyOf, []string{"1", "2"}
	for text, number := range map[string]float64{
		"0": 0, "7": 7, "-7": -7, "0.5": 0.5, "9.80": 9.8, "8.89": 8.89, "007": 7, "-007.50": -7.5, "00": 0, "0.0": 0, "-0.00": 0, "10": 10,
		"123456789012345": 123456789012345, "1234567890.12345": 1234567890.12345,
	} {
		tb := table{form, []forms.Submission{submission(1, "price", text, "rating", text, "room", text, "days", text)}}
		book := open(t, tb.xlsx(t, Options{}))
		shown, types := sheet(t, book, "results", 7)
		if !slices.Equal(shown[1][3:], []string{text, text, text, text}) {
			t.Errorf("%s is shown as %q", text, shown[1][3:])
		}
		want := []excelize.CellType{excelize.CellTypeUnset, excelize.CellTypeUnset, excelize.CellTypeInlineString, excelize.CellTypeInlineString}
		if !slices.Equal(types[1][3:], want) {
			t.Errorf("%s has cells of the types %v, want %v", text, types[1][3:], want)
		}
		if got, err := strconv.ParseFloat(raw(t, book, "results", "D2"), 64); got != number || err != nil {
			t.Errorf("%s is the number %v (%v)", text, got, err)
		}
	}
	for _, text := range []string{
		"", "-", "1234567890123456", "1.", ".5", "+1", "1e5", "1,5", "1 2", "٣", "0.0000000000000001", "0000000000000001",
	} {
		if f, ok := formatOf(text); ok {
			t.Errorf("%q is a number with the format %s", text, f.code())
		}
	}
}

func TestDatesAreDates(t *testing.T) {
	form := formOf("day")
	form.Fields[0].Validation = forms.DateOnly
	for text, serial := range map[string]string{
		"2026-11-15": "46341", "1900-03-01": "61", "9999-12-31": "2958465", "1900-02-28": "", "2026-02-30": "", "tomorrow": "", "2026-1-2": "",
	} {
		book := open(t, table{form, []forms.Submission{submission(1, "day", text)}}.xlsx(t, Options{}))
		shown, types := sheet(t, book, "results", 4)
		if date := types[1][3] == excelize.CellTypeUnset; shown[1][3] != text || date != (serial != "") {
			t.Errorf("%s is shown as %s; a date: %t", text, shown[1][3], date)
		}
		if got := raw(t, book, "results", "D2"); serial != "" && got != serial {
			t.Errorf("%s is day %s, want %s", text, got, serial)
		}
	}
}

// Every sheet has a bold header that stays in view, a filter, and columns as wide
// as their values.
func TestSheetsAreReadyToWorkWith(t *testing.T) {
	tb := table{formOf("a", "long"), []forms.Submission{
		submission(1, "a", "x", "long", strings.Repeat("words ", 50), "gone", "twenty characters ok"),
		submission(2, "a", "y"),
	}}
	file := tb.xlsx(t, Options{})
	book := open(t, file)
	style, err := book.GetCellStyle("results", "D1")
	testkit.Must(t, err)
	if s, err := book.GetStyle(style); err != nil || s.Font == nil || !s.Font.Bold {
		t.Errorf("the header is not bold: %+v (%v)", s, err)
	}
	if panes, err := book.GetPanes("results"); err != nil || !panes.Freeze || panes.YSplit != 1 {
		t.Errorf("panes: %+v (%v)", panes, err)
	}
	for column, want := range map[string]float64{"A": 11, "B": 27, "C": 12, "D": 6, "E": 63, "F": 25} {
		if got, err := book.GetColWidth("results", column); got != want || err != nil {
			t.Errorf("column %s has the width %v, want %v (%v)", column, got, want, err)
		}
	}
	first, xml := part(t, file, "xl/worksheets/sheet1.xml")
	if first != "[Content_Types].xml" { // by which programs tell the type of the file
		t.Errorf("the first part is %s", first)
	}
	if !strings.HasSuffix(xml, `</sheetData><autoFilter ref="A1:F3"/></worksheet>`) {
		t.Errorf("no filter: %s", xml[max(0, len(xml)-200):])
	}
}

// part returns a part of a workbook, and the name of its first one.
func part(t *testing.T, file []byte, name string) (first, text string) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	testkit.Must(t, err)
	content, err := fs.ReadFile(r, name)
	testkit.Must(t, err)
	return r.File[0].Name, string(content)
}

// TestMemoryStaysFlat writes far more than it may hold.
func TestMemoryStaysFlat(t *testing.T) {
	s := submission(1, "a", strings.Repeat("some words ", 20), "gone", "x\ny")
	for name, begin := range map[string]func(*Columns) tableWriter{
		"CSV":  func(c *Columns) tableWriter { return NewCSV(c) },
		"XLSX": func(c *Columns) tableWriter { return NewXLSX(c) },
	} {
		columns := NewColumns(formOf("a"), Options{})
		testkit.Must(t, columns.Add(s))
		w := begin(columns)
		dst, err := w.Begin(nil)
		row := func() {
			if dst, err = w.Row(dst[:0], s); err != nil {
				t.Fatal(err)
			}
		}
		for range 5_000 {
			row()
		}
		before := heap()
		for range 30_000 { // about 7 MB of values
			row()
		}
		if grown := int64(heap()) - int64(before); grown > 1<<20 {
			t.Errorf("%s: the heap has grown by %d bytes", name, grown)
		}
		testkit.Must(t, testkit.ErrorOf(w.End(dst[:0])))
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestSheetNames(t *testing.T) {
	for _, c := range []struct {
		title string
		n     int
		want  string
	}{
		{"Feedback", 1, "Feedback"},
		{"Feedback", 12, "Feedback 12"},
		{`a:b\c/d?e*f[g]h'i`, 1, "a_b_c_d_e_f_g_h_i"},
		{"Notes", 1, "Notes_"},
		{"history", 1, "history_"},
		{" ", 1, "_"},
		{strings.Repeat("x", 40), 1, strings.Repeat("x", 31)},
		{strings.Repeat("x", 40), 2, strings.Repeat("x", 29) + " 2"},
		{strings.Repeat("x", 30) + "😀", 1, strings.Repeat("x", 30)}, // it counts as two
	} {
		if got := sheetName(c.title, c.n); got != c.want {
			t.Errorf("sheet %d of %q is %q, want %q", c.n, c.title, got, c.want)
		}
	}
	form := formOf()
	form.ID, form.Title = "id", "<Title> & more"
	for want, opts := range map[string]Options{"id": {}, "<Title> & more": {Labels: true}} {
		if names := open(t, table{form, nil}.xlsx(t, opts)).GetSheetList(); !slices.Equal(names, []string{want}) {
			t.Errorf("sheets %q, want %q", names, want)
		}
	}
}
