package query

import (
	"bytes"
	"strconv"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// column is what a filter or a sort order looks at: metadata, a field of the
// form, or a field that has left the page.
type column struct {
	field    *forms.Field                  // what rules need to know of it
	rank     int                           // of a field of the form
	key      []byte                        // of a field that has left the page, as Entries hold it; else nil
	metadata func(forms.Submission) string // nil for fields
}

// HasColumn reports whether the id is that of a field of the form, or of
// metadata.
func HasColumn(x forms.Index, id string) bool { return newColumn(x, id).key == nil }

// metadata are the columns that are no fields, as the flat model has them.
var metadata = map[string]struct {
	validation forms.Validation
	text       func(forms.Submission) string
}{
	forms.ColumnID:        {forms.Numeric, func(s forms.Submission) string { return strconv.FormatInt(s.ID, 10) }},
	forms.ColumnTimestamp: {forms.Numeric, func(s forms.Submission) string { return millis(s.Created) }},
	forms.ColumnChanged:   {forms.Numeric, func(s forms.Submission) string { return millis(s.Changed) }},
	forms.ColumnUsername:  {forms.NoValidation, func(s forms.Submission) string { return s.Username }},
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// newColumn returns the column with the given id. An id that the form does not
// have is taken for that of a field that has left the page.
func newColumn(x forms.Index, id string) column {
	if m, ok := metadata[id]; ok {
		return column{field: &forms.Field{ID: id, Validation: m.validation}, metadata: m.text}
	}
	if rank := x.Rank(id); rank >= 0 {
		return column{field: x.Field(rank), rank: rank}
	}
	return column{field: &forms.Field{ID: id}, key: forms.AppendJSONString(nil, id)}
}

// row is a submission whose Entries are read when they are needed.
type row struct {
	forms.Submission
	*forms.Result
	isRead bool
}

func newRow(f *forms.Form) row { return row{Result: f.NewResult()} }

func (r *row) set(s forms.Submission) { r.Submission, r.isRead = s, false }

func (r *row) read() (err error) {
	if !r.isRead {
		err = r.Read(r.Submission)
		r.isRead = err == nil
	}
	return err
}

// text returns the value of a column.
func (r *row) text(c *column) (string, error) {
	if c.metadata != nil {
		return c.metadata(r.Submission), nil
	}
	if err := r.read(); err != nil {
		return "", err
	}
	if c.key == nil {
		return r.Fields[c.rank].Text()
	}
	for _, v := range r.Retired {
		if bytes.Equal(v.FieldID, c.key) {
			return v.Value.Text()
		}
	}
	return "", nil
}
