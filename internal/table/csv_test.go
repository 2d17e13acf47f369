package table

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

func TestCSVToTheByte(t *testing.T) {
	tb := table{formOf("name", "note"), []forms.Submission{
		submission(1, "name", "Ann", "note", "a,b"),
		submission(2, "note", "say \"hi\"\r\nbye", "gone", "kept"),
		submission(3, "before", "=1", "name", " x"),
	}}
	const rows = "1,2026-11-15T19:00:00.007Z,alice,Ann,\"a,b\",,\r\n" +
		"2,2026-11-15T19:00:00.007Z,alice,,\"say \"\"hi\"\"\r\nbye\",,kept\r\n" +
		"3,2026-11-15T19:00:00.007Z,alice,\" x\",,%s=1,\r\n"
	for _, tt := range []struct {
		opts Options
		want string
	}{
		{Options{}, "_id,_timestamp,_username,name,note,before,gone\r\n" + fmt.Sprintf(rows, "'")},
		{Options{Labels: true, BOM: true}, "\ufeff_id,_timestamp,_username,Label of name,Label of note,before,gone\r\n" + fmt.Sprintf(rows, "'")},
		{Options{NoGuard: true}, "_id,_timestamp,_username,name,note,before,gone\r\n" + fmt.Sprintf(rows, "")},
	} {
		testkit.Diff(t, tt.opts, tb.csv(t, tt.opts), tt.want)
	}
}

// What a spreadsheet would run gets an apostrophe, wherever it stands.
func TestGuard(t *testing.T) {
	for value, want := range map[string]string{
		"=1": "'=1", "+1": "'+1", "-x": "'-x", "@a": "'@a", "\tx": "'\tx", "\rx": "'\rx", "-": "'-", "--1": "'--1", "-1-1": "'-1-1", "+": "'+",
		"-1.": "'-1.", "-.5": "'-.5", "-1e5": "'-1e5", "-٣": "'-٣", "-1,5": "'-1,5",
		"-1": "-1", "-1.50": "-1.50", "-007": "-007", "1": "1", "": "", "a=1": "a=1", "'=1": "'=1", "\u00a0=1": "\u00a0=1",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠a": "'＠a", "a＝1": "a＝1",
		"x;=1+41": "x;'=1+41", "\n=1": "\n'=1", "a\t+1;@b\n-c": "a\t'+1;'@b\n'-c", "a\r＝1": "a\r'＝1", "\t=1": "'\t'=1",
		"-1;-2.5": "-1;-2.5", "a;-1;-x;b": "a;-1;'-x;b", "a; =1": "a; =1", ";": ";", "=a;=b": "'=a;'=b",
	} {
		s := submission(1, "text", value, "gone", value)
		s.Username = value
		form := formOf("text", "head")
		form.Fields[1].Label = value
		tb := table{form, []forms.Submission{s}}
		rows := readCSV(t, tb.csv(t, Options{Labels: true}))
		for _, got := range []string{rows[0][4], rows[1][2], rows[1][3], rows[1][5]} {
			testkit.Same(t, value, got, want)
		}
		if rows := readCSV(t, tb.csv(t, Options{Labels: true, NoGuard: true})); rows[1][3] != value || rows[0][4] != value {
			t.Errorf("%q becomes %q without a guard", value, rows[1][3])
		}
	}
}

// Whatever is stored comes out of a CSV reader again.
func TestCSVReadsBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tb := drawTable(rt)
		want := tb.want(t)
		for _, row := range want {
			for i := range row {
				row[i] = strings.ReplaceAll(row[i], "\r\n", "\n") // encoding/csv does so
			}
		}
		if diff := cmp.Diff(want, readCSV(t, tb.csv(t, Options{NoGuard: true}))); diff != "" {
			rt.Fatalf("(-want +got)\n%s", diff)
		}
	})
}

var anyText = rapid.OneOf(
	rapid.SampledFrom(hostile),
	rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "\x01") }),
)

// drawTable draws a table. Some of its fields have left the page.
func drawTable(t *rapid.T) table {
	ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[=+a-zä"'<,\\][a-z0-9 "',;&_-]{0,9}`), 1, 12, rapid.ID).Draw(t, "ids")
	tb := table{form: formOf(ids[:rapid.IntRange(0, len(ids)).Draw(t, "on the page")]...)}
	for i := range tb.form.Fields {
		tb.form.Fields[i].Validation = rapid.SampledFrom([]forms.Validation{forms.NoValidation, forms.Numeric}).Draw(t, "validation")
	}
	for id := range rapid.IntRange(0, 5).Draw(t, "rows") {
		var pairs []string
		for _, field := range rapid.Permutation(ids).Draw(t, "order")[:rapid.IntRange(0, len(ids)).Draw(t, "answers")] {
			pairs = append(pairs, field, anyText.Draw(t, "value"))
		}
		s := submission(int64(id+1), pairs...)
		s.Username = anyText.Draw(t, "username")
		s.Created = created.UTC().AddDate(0, 0, rapid.IntRange(-20_000, 400_000).Draw(t, "days")).Add(time.Duration(rapid.IntRange(0, 86_399_999).Draw(t, "millis")) * time.Millisecond)
		tb.subs = append(tb.subs, s)
	}
	return tb
}

// An answer that has no column stops the table. It must not be left out.
func TestFieldThatComesUpBetweenThePasses(t *testing.T) {
	form := formOf("name")
	columns := NewColumns(form, Options{})
	testkit.Must(t, columns.Add(submission(1, "gone", "x")))
	w := NewCSV(columns)
	before := []byte("before")
	got, err := w.Row(before, submission(2, "name", "a", "new", "b"))
	if !errors.Is(err, ErrNewColumn) || string(got) != "before" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTooManyColumns(t *testing.T) {
	many := make([]string, 0, MaxColumns)
	for i := range MaxColumns - metadata {
		many = append(many, fmt.Sprint("f", i))
	}
	for _, tt := range []struct {
		fields  []string
		stored  []string
		tooMany bool
	}{
		{many, nil, false},
		{append(many, "one more"), nil, true},
		{many, []string{"gone", "x"}, true},
		{many[1:], []string{"gone", "x"}, false},
		{many[1:], []string{"gone", "x", "gone too", "x"}, true},
	} {
		columns := NewColumns(formOf(tt.fields...), Options{})
		err := columns.Add(submission(1, tt.stored...))
		wider := NewColumns(formOf(tt.fields[1:]...), Options{Zone: time.UTC, Headings: make([]string, 4)}) // with one column more before the fields
		if got := wider.Add(submission(1, tt.stored...)); errors.Is(got, ErrTooManyColumns) != tt.tooMany {
			t.Errorf("%d fields and %v, for people: %v", len(tt.fields)-1, tt.stored, got)
		}
		if errors.Is(err, ErrTooManyColumns) != tt.tooMany || err != nil && !tt.tooMany {
			t.Errorf("%d fields and %v: %v", len(tt.fields), tt.stored, err)
		}
	}
}

func TestBrokenEntriesStopATable(t *testing.T) {
	broken := forms.Submission{ID: 7, Entries: []byte(`{"a"`)}
	columns := NewColumns(formOf("a"), Options{})
	if err := columns.Add(broken); err == nil {
		t.Error("the first pass did not notice")
	}
	w := NewCSV(columns)
	if _, err := w.Row(nil, broken); err == nil {
		t.Error("the second pass did not notice")
	}
}
