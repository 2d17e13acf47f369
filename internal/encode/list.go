package encode

import (
	"iter"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/table"
)

// FlushBytes is how much of a list is in a part.
const FlushBytes = 128 << 10

// List is how a list is encoded.
type List struct {
	Form   *forms.Form
	Format *Format
	Model  Model
	Table  table.Options
	Row    func(forms.Submission) forms.Submission // returns a submission as it is encoded; nil: as it is
}

// Parts encodes rows as they are read, so that neither side ever holds all of them. A part is valid until the next one.
// An error comes last.
func (l List) Parts(rows query.Rows) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buf := GetBuffer()
		defer PutBuffer(buf)
		to, err := l.encoder(rows)
		if err == nil {
			*buf, err = to.Begin(*buf)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		var sub forms.Submission
		for sub, err = range rows {
			if err == nil && l.Row != nil {
				sub = l.Row(sub)
			}
			if err == nil {
				*buf, err = to.Row(*buf, sub)
			}
			if err != nil {
				break
			}
			if len(*buf) < FlushBytes {
				continue
			}
			if !yield(*buf, nil) {
				return
			}
			*buf = (*buf)[:0]
		}
		if err == nil {
			*buf, err = to.End(*buf)
		}
		yield(*buf, err)
	}
}

// encoder makes the encoder of the format. For a table, a first pass over the rows finds the fields
// that have left the page.
func (l List) encoder(rows query.Rows) (encoder, error) {
	switch l.Format {
	case NDJSON:
		return &jsonRows{appendRow: l.Model(l.Form), rowEnd: "\n"}, nil
	case JSON:
		return &jsonRows{appendRow: l.Model(l.Form), begin: "[", separator: ",", end: "]"}, nil
	}
	columns := table.NewColumns(l.Form, l.Table)
	for sub, err := range rows {
		if err == nil {
			err = columns.Add(sub)
		}
		if err != nil {
			return nil, err
		}
	}
	if l.Format == CSV {
		return table.NewCSV(columns), nil
	}
	return table.NewXLSX(columns), nil
}
