// Package table writes the submissions of a form as a table: CSV or XLSX. A
// table is read in two passes. The first finds the columns, by Columns.Add; the
// second writes the rows. Memory does not grow with the number of rows.
package table

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// MaxColumns is how many columns a spreadsheet can have. It also bounds the
// memory of the first pass.
const MaxColumns = 16_384

var (
	// ErrTooManyColumns means that the table would have more than MaxColumns columns.
	ErrTooManyColumns = fmt.Errorf("the table has more than %d columns", MaxColumns)
	// ErrNewColumn means that a row has an answer to a field that was not there
	// in the first pass, because the page or the row has changed since. The
	// answer can't be written, and must not be left out.
	ErrNewColumn = errors.New("a field has come up that the first pass did not see")
)

// Options are how a table is written.
type Options struct {
	Labels  bool // the header and options have labels where they can, and sheets the form's title; else ids and values
	BOM     bool // CSV begins with a byte order mark
	NoGuard bool // CSV has formulas as they were sent
	// Zone has the columns before those of fields made for people: times are those of the
	// zone, and there is that of the last change. On an anonymous form they are days. Nil for
	// the columns of the API.
	Zone *time.Location
	// Headings are what these columns are called where there is a Zone, in the order of the
	// id, the time, the user name and the last change.
	Headings []string
	// Columns are the ids of the columns in their order, of fields of the form and of
	// metadata. Nil for all.
	Columns []string
}

// metadata returns the names of the columns before those of fields.
func (o Options) metadata() []string {
	if o.Zone != nil {
		return slices.Clone(o.Headings)
	}
	return slices.Clone(metadataIDs)
}

// metadataIDs are the columns before those of fields. Only tables for people have the last one, unless it is asked for.
var metadataIDs = []string{forms.ColumnID, forms.ColumnTimestamp, forms.ColumnUsername, forms.ColumnChanged}

// Indices of metadataIDs.
const (
	idColumn = iota
	timeColumn
	nameColumn
	changedColumn
)

// Columns are the columns of a table: the metadata, the fields of the form in
// rank order, and the fields that have left the page but are stored, by id. It
// is not safe for concurrent use, and is for one table.
type Columns struct {
	form    *forms.Form
	opts    Options
	fields  int // index of the first field
	row     *forms.Result
	widths  []int                     // the most characters of a value, up to maxWidth; by column, without the retired
	retired map[string]*retiredColumn // by key
	ids     []string                  // of the retired
	values  []forms.Value             // of the row: of the form's fields, then of the retired
	order   []int                     // indices of the columns that are written
}

// retiredColumn is the column of a field that has left the page.
type retiredColumn struct {
	id, key string // key is the id as Entries hold it
	index   int    // in Columns.values, once the columns are sorted
	width   int
}

// maxWidth is the most characters that a column shows in one line.
const maxWidth = 60

// NewColumns makes the columns of a form, without those that Add finds.
func NewColumns(form *forms.Form, opts Options) *Columns {
	fields := len(opts.metadata())
	widths := make([]int, fields+len(form.Fields))
	for rank, field := range form.Fields {
		for _, label := range field.Labels {
			if !opts.Labels {
				break
			}
			widen(&widths[fields+rank], len(label))
		}
	}
	return &Columns{
		form: form, opts: opts, fields: fields, row: form.NewResult(), retired: map[string]*retiredColumn{}, widths: widths,
	}
}

// Add finds the columns of a submission, and their widths. It is for the first pass.
func (c *Columns) Add(sub forms.Submission) error {
	if err := c.row.Read(sub); err != nil {
		return err
	}
	widen(&c.widths[nameColumn], len(sub.Username))
	for rank, v := range c.row.Fields {
		widen(&c.widths[c.fields+rank], len(v))
	}
	for _, v := range c.row.Retired {
		column, known := c.retired[string(v.FieldID)]
		if !known {
			id, err := v.FieldID.Text()
			if err != nil {
				return err
			}
			column = &retiredColumn{id: id, key: string(v.FieldID)}
			c.retired[column.key] = column
		}
		widen(&column.width, len(v.Value))
	}
	if max(len(c.opts.Headings), changedColumn)+len(c.form.Fields)+len(c.retired) > MaxColumns {
		return ErrTooManyColumns
	}
	return nil
}

func widen(width *int, length int) { *width = max(*width, min(length, maxWidth)) }

// fix ends the first pass. The order of the retired fields does not depend on
// the order of the rows.
func (c *Columns) fix() {
	byID := func(a, b *retiredColumn) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.key, b.key)) }
	for i, column := range slices.SortedFunc(maps.Values(c.retired), byID) {
		column.index = len(c.form.Fields) + i
		c.ids, c.widths = append(c.ids, column.id), append(c.widths, column.width)
	}
	c.values = make([]forms.Value, len(c.form.Fields)+len(c.ids))
	c.order = make([]int, 0, len(c.widths))
	if c.opts.Columns == nil {
		for i := range c.widths {
			hidden := i == changedColumn && c.opts.Zone == nil
			if c.nameless() { // numbers of rows would change with the filter
				hidden = i == idColumn || i == nameColumn
			}
			if !hidden {
				c.order = append(c.order, i)
			}
		}
	}
	for _, id := range c.opts.Columns {
		if i := slices.Index(metadataIDs, id); i >= 0 {
			c.order = append(c.order, i)
		} else if rank := c.form.Index().Rank(id); rank >= 0 {
			c.order = append(c.order, c.fields+rank)
		}
	}
}

// nameless reports whether the table must not tell ids and names of users.
func (c *Columns) nameless() bool { return c.opts.Zone != nil && c.form.Anonymous }

// pick returns the elements of the columns that are written.
func pick[T any](c *Columns, all []T) []T {
	picked := make([]T, len(c.order))
	for i, column := range c.order {
		picked[i] = all[column]
	}
	return picked
}

// header returns the names of the columns.
func (c *Columns) header(labels bool) []string {
	names := c.opts.metadata()
	for _, field := range c.form.Fields {
		name := field.ID
		if labels {
			name = field.Label
		}
		names = append(names, name)
	}
	return pick(c, append(names, c.ids...))
}

// appendTime appends a time as a text. A submission that was never changed has no time
// of that.
func (c *Columns) appendTime(dst []byte, t time.Time) []byte {
	switch {
	case t.IsZero():
		return dst
	case c.opts.Zone == nil:
		return append(forms.AppendTime(dst, t), 'Z')
	default:
		return t.In(c.opts.Zone).AppendFormat(dst, c.layout())
	}
}

// layout is how a time of the zone is written.
func (c *Columns) layout() string {
	if c.form.Anonymous {
		return time.DateOnly
	}
	return time.DateTime
}

// title is what the table is called.
func (c *Columns) title() string {
	if c.opts.Labels {
		return cmp.Or(c.form.Title, c.form.ID)
	}
	return c.form.ID
}

// text returns a value of the row: that of a field, or of a retired one.
func (c *Columns) text(i int) (string, error) {
	text, err := c.values[i].Text()
	if c.opts.Labels && i < len(c.form.Fields) {
		text = c.form.Fields[i].LabelOf(text)
	}
	return text, err
}

// read makes sub the current row, and sets its values.
func (c *Columns) read(sub forms.Submission) error {
	if err := c.row.Read(sub); err != nil {
		return err
	}
	clear(c.values[copy(c.values, c.row.Fields):])
	for _, v := range c.row.Retired {
		column, known := c.retired[string(v.FieldID)]
		if !known {
			return fmt.Errorf("submission %d: %w", sub.ID, ErrNewColumn)
		}
		c.values[column.index] = v.Value
	}
	return nil
}
