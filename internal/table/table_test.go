package table

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

// table is a form with its submissions.
type table struct {
	form *forms.Form
	subs []forms.Submission
}

func formOf(ids ...string) *forms.Form {
	form := &forms.Form{ID: "results", PageID: 1}
	for _, id := range ids {
		form.Fields = append(form.Fields, &forms.Field{ID: id, Label: "Label of " + id})
	}
	return form
}

var created = time.Date(2026, 11, 15, 19, 0, 0, 7_000_000, time.UTC)

// metadata is how many columns of the API are before those of fields.
const metadata = 3

// submission is made from pairs of a field id and a value.
func submission(id int64, pairs ...string) forms.Submission {
	var entries []forms.Entry
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, forms.Entry{ID: int64(i + 1), FieldID: pairs[i], Value: pairs[i+1]})
	}
	return forms.Submission{ID: id, Username: "alice", Created: created, Entries: forms.EncodeEntries(nil, entries)}
}

func (tb table) columns(t testing.TB, opts Options) *Columns {
	t.Helper()
	c := NewColumns(tb.form, opts)
	for _, s := range tb.subs {
		testkit.Must(t, c.Add(s))
	}
	return c
}

// tableWriter is what CSV and XLSX have in common.
type tableWriter interface {
	Begin(dst []byte) ([]byte, error)
	Row(dst []byte, sub forms.Submission) ([]byte, error)
	End(dst []byte) ([]byte, error)
}

func (tb table) write(t testing.TB, w tableWriter) []byte {
	t.Helper()
	dst, err := w.Begin(nil)
	for _, s := range tb.subs {
		if err == nil {
			dst, err = w.Row(dst, s)
		}
	}
	if err == nil {
		dst, err = w.End(dst)
	}
	testkit.Must(t, err)
	return dst
}

func (tb table) csv(t testing.TB, opts Options) string {
	t.Helper()
	w := NewCSV(tb.columns(t, opts))
	return string(tb.write(t, w))
}

func (tb table) xlsx(t testing.TB, opts Options, change ...func(*XLSX)) []byte {
	t.Helper()
	w := NewXLSX(tb.columns(t, opts))
	for _, c := range change {
		c(w)
	}
	return tb.write(t, w)
}

// want is the table worked out in the plainest way there is.
func (tb table) want(t testing.TB) [][]string {
	t.Helper()
	var ids []string
	for _, f := range tb.form.Fields {
		ids = append(ids, f.ID)
	}
	var retired []string
	var decoded []map[string]string
	for _, s := range tb.subs {
		entries, err := s.Entries.Decode()
		testkit.Must(t, err)
		values := map[string]string{}
		for _, e := range entries {
			values[e.FieldID] = e.Value
			if !slices.Contains(ids, e.FieldID) && !slices.Contains(retired, e.FieldID) {
				retired = append(retired, e.FieldID)
			}
		}
		decoded = append(decoded, values)
	}
	slices.Sort(retired)
	ids = slices.Concat(ids, retired)
	rows := [][]string{slices.Concat([]string{"_id", "_timestamp", "_username"}, ids)}
	for i, s := range tb.subs {
		row := []string{strconv.FormatInt(s.ID, 10), s.Created.UTC().Format("2006-01-02T15:04:05.000Z"), s.Username}
		for _, id := range ids {
			row = append(row, decoded[i][id])
		}
		rows = append(rows, row)
	}
	return rows
}

func readCSV(t testing.TB, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return rows
}

// hostile are values that a table has broken on, or a spreadsheet has run.
var hostile = []string{
	"", "plain", "=1+1", "=cmd|' /C calc'!A0", "@SUM(A1:A9)", "+1", "-1", "-1.50", "--1", "-", "-1-1", "\t=1", "\r=1", "\n=1", "'=1", `"=1"`,
	`say "hi"`, `"`, `""`, ",", ";", "a,b", "a\nb", "a\rb", "a\r\nb", " lead", "trail ", "\u00a0", "\ufeffmark", "\u202eright to left\u200f",
	"00042", "1234567890123456", "123456789012345", "1e5", "0x1F", "1.50", "-0", "0", "0.5", "2024-02-29", "1/2", "TRUE", "#N/A",
	"<b>&amp;</b>", "]]>", "\x01\x02\x1f\x7f", "_x000D_", "_x0041_x0042_", "_x0041\x01", "_x005F_", "__x0041_", "\ufffe\uffff\ufffd", "🙂", "名字", "e\u0301",
	`\u0041`, `a\b`, "{\"id\":1}", "a;b;c", strings.Repeat("x", maxCell), strings.Repeat("🙂", maxCell/2),
}
