package web

import (
	"bytes"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// Bounds of the table. A form may have a thousand fields, and an answer may be
// long: the more cells there are, the less of each is shown. All of it is on
// the page of the submission.
const (
	maxTable      = 2 << 20 // bytes of answers, about
	maxTableHTML  = 8 << 20 // bytes of the cells; those after that show no answer
	maxCell       = 1000
	minCell       = 40
	maxRetired    = 50 // columns of fields that have left the page
	shortCell     = 40 // bytes of an answer that stands on one line
	maxCellValues = 50 // of several
)

// resultTable writes the rows of the results. Templates would take ten times
// as long for hundreds of cells.
type resultTable struct {
	form     *forms.Form
	named    bool   // there is a column for the user name
	prefix   []byte // of the path of a submission, escaped
	row      *forms.Result
	cellSize int
	text     []byte // of a value; reused

	buffers *tableBuffers
	body    []byte
	rows    []tableRow
	retired []string // ids of fields that have left the page, as far as rows have them
	more    int      // answers to such fields beyond maxRetired
	order   []int    // retired columns of the current row; reused
}

// tables keep their memory from page to page.
var tables = sync.Pool{New: func() any { return new(tableBuffers) }}

// tableBuffers are what a table is written to.
type tableBuffers struct {
	body, text []byte
	page       []byte // the page as a whole
	rows       []tableRow
}

// maxKeptTable keeps the memory of a huge table from staying.
const maxKeptTable = 256 << 10

// free gives the memory of the table back, and that of the page.
func (t *resultTable) free() {
	if cap(t.body)+cap(t.buffers.page)+cap(t.text) > maxKeptTable {
		return
	}
	t.buffers.body, t.buffers.text, t.buffers.rows = t.body[:0], t.text[:0], t.rows[:0]
	tables.Put(t.buffers)
}

// tableRow is where a row of the body ends, without its end tag, and how many
// cells of retired fields it has.
type tableRow struct{ end, retired int }

func newResultTable(form *forms.Form, formPath string, limit int) *resultTable {
	t := &resultTable{form: form, named: !form.Anonymous, row: form.NewResult()}
	t.prefix = appendEscaped(nil, formPath+"/submission/")
	t.buffers = tables.Get().(*tableBuffers)
	t.body, t.text, t.rows = t.buffers.body, t.buffers.text, t.buffers.rows
	cells := limit * (len(form.Fields) + 1)
	t.cellSize = min(max(maxTable/cells, minCell), maxCell)
	return t
}

// add writes a row.
func (t *resultTable) add(sub forms.Submission) error {
	if err := t.row.Read(sub); err != nil {
		return err
	}
	b := t.body
	b = append(b, `<tr><th scope="row"><a href="`...)
	b = append(b, t.prefix...)
	b = strconv.AppendInt(b, sub.ID, 10)
	b = append(b, `">`...)
	b = strconv.AppendInt(b, sub.ID, 10)
	b = append(b, "</a></th><td>"...)
	b = appendTime(b, sub.Created)
	b = append(b, "</td>"...)
	if t.named {
		b = append(b, `<td dir="auto">`...)
		b = appendEscaped(b, sub.Username)
		b = append(b, "</td>"...)
	}
	var err error
	for rank := range t.form.Fields {
		if b, err = t.appendCell(b, &t.form.Fields[rank], t.row.Fields[rank]); err != nil {
			return err
		}
	}
	t.body = b
	return t.addRetired()
}

// addRetired writes the cells of fields that have left the page.
func (t *resultTable) addRetired() error {
	if len(t.row.Retired) > 0 {
		if err := t.findRetired(); err != nil {
			return err
		}
		for column, id := range t.retired {
			i := slices.Index(t.order, column)
			if i < 0 {
				t.body = append(t.body, "<td></td>"...)
				continue
			}
			var err error
			if t.body, err = t.appendCell(t.body, &forms.Field{ID: id}, t.row.Retired[i].Value); err != nil {
				return err
			}
		}
		t.rows = append(t.rows, tableRow{len(t.body), len(t.retired)})
		return nil
	}
	t.rows = append(t.rows, tableRow{len(t.body), 0})
	return nil
}

// findRetired sets the columns of the row's answers to fields that have left
// the page; -1 for those that have none.
func (t *resultTable) findRetired() error {
	t.order = t.order[:0]
	for _, v := range t.row.Retired {
		id, err := v.FieldID.Text()
		if err != nil {
			return err
		}
		column := slices.Index(t.retired, id)
		switch {
		case column >= 0:
		case len(t.retired) < maxRetired:
			column = len(t.retired)
			t.retired = append(t.retired, id)
		default:
			t.more++
		}
		t.order = append(t.order, column)
	}
	return nil
}

// appendTime writes a time to the second for programs, to the minute for people.
func appendTime(b []byte, at time.Time) []byte {
	b = append(b, `<time datetime="`...)
	start := len(b)
	b = forms.AppendTime(b, at)[:start+len("2006-01-02T15:04:05")]
	b = append(b, `Z">`...)
	b = append(b, b[start:start+len("2006-01-02")]...)
	b = append(b, ' ')
	b = append(b, b[start+len("2006-01-02T"):start+len("2006-01-02T15:04")]...)
	return append(b, "</time>"...)
}

// appendCell writes an answer.
func (t *resultTable) appendCell(b []byte, field *forms.Field, value forms.Value) ([]byte, error) {
	if len(value) <= len(`""`) {
		return append(b, "<td></td>"...), nil
	}
	if len(b) > maxTableHTML { // the HTML of an answer may be twenty times as long
		return append(b, "<td>…</td>"...), nil
	}
	text := []byte(value[1 : len(value)-1])
	if bytes.IndexByte(text, '\\') >= 0 {
		var err error
		if t.text, err = value.AppendText(t.text[:0]); err != nil {
			return b, err
		}
		text = t.text
	}
	switch {
	case field.MultiValue(), field.Type == forms.File: // names of files; the submission has the links
		return t.appendValues(b, text), nil
	case field.Type == forms.Status:
		b = append(b, `<td dir="auto"><span class="lozenge tone-`...)
		b = append(b, byte('0'+max(indexOf(field.Options, text), 0)%tones))
		b = append(b, `">`...)
		return append(t.appendCut(b, text), "</span></td>"...), nil
	case field.Validation == forms.Numeric:
		b = append(b, `<td class="number">`...)
		return append(t.appendCut(b, text), "</td>"...), nil
	case len(text) > shortCell || bytes.IndexByte(text, '\n') >= 0:
		b = append(b, `<td dir="auto"><div class="long">`...)
		return append(t.appendCut(b, text), "</div></td>"...), nil
	default:
		b = append(b, `<td dir="auto">`...)
		return append(t.appendCut(b, text), "</td>"...), nil
	}
}

func indexOf(options []string, text []byte) int {
	for i, o := range options {
		if o == string(text) {
			return i
		}
	}
	return -1
}

func (t *resultTable) appendCut(b, text []byte) []byte {
	text, all := cut(text, t.cellSize)
	b = appendEscaped(b, text)
	if !all {
		b = append(b, "…"...)
	}
	return b
}

func (t *resultTable) appendValues(b, text []byte) []byte {
	b = append(b, `<td><div class="long">`...)
	text, all := cut(text, t.cellSize)
	count := 0
	for part := range bytes.SplitSeq(text, []byte(forms.Separator)) {
		if count++; count > maxCellValues {
			all = false
			break
		}
		b = append(b, `<span class="tag" dir="auto">`...)
		b = appendEscaped(b, part)
		b = append(b, "</span> "...)
	}
	if !all {
		b = append(b, "…"...)
	}
	return append(b, "</div></td>"...)
}

// appendTo appends the table as a whole. It can be made once the rows are there,
// since only they tell which fields have left the page.
func (t *resultTable) appendTo(b []byte, caption string, v *resultsView) []byte {
	b = append(b, `<table class="results"><caption>`...)
	b = appendEscaped(b, caption)
	b = append(b, "</caption><thead><tr>"...)
	v.sortBase = appendEscaped(nil, v.sortPrefix())
	if len(v.sortBase)*(len(t.form.Fields)+len(t.retired)) > maxTable {
		v.sortBase = nil
	}
	b = v.appendIDHeader(b)
	b = v.appendHeader(b, forms.ColumnTimestamp, "Time (UTC)", "")
	if t.named {
		b = v.appendHeader(b, forms.ColumnUsername, "User name", "")
	}
	for rank := range t.form.Fields {
		field := &t.form.Fields[rank]
		class := ""
		if field.Validation == forms.Numeric {
			class = "number"
		}
		b = v.appendHeader(b, field.ID, labelOf(field), class)
	}
	for _, id := range t.retired {
		b = v.appendHeader(b, id, id, "")
	}
	b = append(b, "</tr></thead><tbody>\n"...)
	start := 0
	for _, row := range t.rows {
		b = append(b, t.body[start:row.end]...)
		for range len(t.retired) - row.retired {
			b = append(b, "<td></td>"...)
		}
		b = append(b, "</tr>\n"...)
		start = row.end
	}
	return append(b, "</tbody></table>"...)
}
