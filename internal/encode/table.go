package encode

import (
	"errors"
	"fmt"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/table"
)

// scan calls visit for each row of a list.
type scan func(visit func(forms.Submission) error) error

// newTable makes a first pass over the rows of a list, which finds the fields
// that have left the page, and returns the encoder that writes them.
func newTable(asked listRequest, form *forms.Form, list scan) (encoder, error) {
	columns := table.NewColumns(form)
	read := 0
	err := list(func(sub forms.Submission) error {
		// As often as if the rows were sent.
		if read += len(sub.Entries); read >= FlushBytes {
			read = 0
			if err := asked.Check(); err != nil {
				return err
			}
		}
		return columns.Add(sub)
	})
	var f encoder
	if err == nil && asked.format == CSV {
		f, err = table.NewCSV(columns, asked.table)
	} else if err == nil {
		f, err = table.NewXLSX(columns, asked.table)
	}
	return f, explainTable(err)
}

// explainTable gives the errors of a table their status.
func explainTable(err error) error {
	switch {
	case errors.Is(err, table.ErrTooManyColumns):
		invalid := &forms.Invalid{}
		invalid.AddError(fmt.Sprintf("a table has at most %d columns, and this one would have more: use format=json or ndjson", table.MaxColumns))
		return invalid
	case errors.Is(err, table.ErrNewColumn):
		// The page has changed between the passes. The next request sees all of it.
		return &service.Error{Kind: service.Unavailable, Detail: "The form has changed while its answers were read. Ask again."}
	default:
		return err
	}
}
