package web

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// Bounds of the table. A form may have a thousand fields, and an answer may be
// long: the more cells there are, the less of each is shown. The page of the
// submission shows all of it.
const (
	maxTableText  = 2 << 20 // bytes, as long as cells have more than minCell
	maxValues     = 40_000  // of all answers; the table is cut there
	cellHTML      = 100     // bytes that such a cell takes, about
	maxCell       = 1000    // bytes of an answer
	minCell       = 40
	shortCell     = 40 // bytes of an answer that fits on one line
	maxCellValues = 50 // of an answer with several
	maxRetired    = 50 // columns of fields that have left the page
	maxHeader     = 120
	maxRowQuery   = 1000 // bytes of the query in the links of rows and headers
	maxHits       = 10   // that are marked in an answer
	hitLead       = 60   // bytes of an answer before the first hit
)

// resultTable is the table of submissions on a results page.
type resultTable struct {
	Caption   string
	Head      []tableHeader
	More      int  // answers to fields that have left the page, beyond maxRetired
	Cut       bool // rows are missing at the end
	Changes   bool // some submission was changed
	Anonymous bool // there are days for times, and no user names
	Rows      []tableRow

	form     *forms.Form
	path     string // of a submission, without its id
	query    string // of a submission's address, which leads back to the list
	search   string // what is marked, folded
	view     *resultsView
	cellSize int
	retired  []string        // ids of fields that have left the page, as far as rows have them
	values   int             // of all answers, and one for each row
	hold     func(int) error // takes a slot if the table is large

	result *forms.Result // of the row that is read; reused
}

// tableHeader is the header of a column. Its link sorts by that column.
type tableHeader struct {
	Label  string
	Number bool
	UTC    bool   // it is of times
	Order  string // "ascending" or "descending" if the table is sorted by the column
	Sort   string // path; "" where links would take too much room
}

// tableRow is a submission. It holds the cells that are not empty.
type tableRow struct {
	ID       int64
	Name     string    // what its link is called
	Created  time.Time // its day, if the form is anonymous
	Username string
	Changed  *changeView // nil if it never was
	answers  []tableCell
	table    *resultTable
}

// tableCell is an answer as it is shown.
type tableCell struct {
	column int // rank of the field, or beyond these the index in retired
	Text   marked
	Values []marked // of a field with several
	Number bool
	Long   bool // it takes more than one line
	Status bool
	Color  string
	Cut    bool
}

func newResultTable(form *forms.Form, formPath string, v *resultsView, hold func(size int) error) *resultTable {
	cells := v.opts.Limit * (len(form.Fields) + 1)
	t := &resultTable{
		Anonymous: form.Anonymous, form: form, path: formPath + "/submission/", hold: hold, result: form.NewResult(),
		search: forms.Fold(v.opts.Filter.Search), view: v, cellSize: min(max(maxTableText/cells, minCell), maxCell),
	}
	if query := v.listQuery(); query != "" && len(query) <= maxRowQuery {
		t.query = "?" + query
	}
	return t
}

// errTableFull: no more rows fit into the table.
var errTableFull = errors.New("the table is full")

// add adds a submission.
func (t *resultTable) add(sub forms.Submission) error {
	if err := t.result.Read(sub); err != nil {
		return err
	}
	row := t.newRow(sub)
	for rank, value := range t.result.Fields {
		if err := row.add(rank, value); err != nil {
			return err
		}
	}
	for _, retired := range t.result.Retired {
		id, err := retired.FieldID.Text()
		if err != nil {
			return err
		}
		column := slices.Index(t.retired, id)
		if column < 0 {
			if len(t.retired) == maxRetired {
				t.More++
				continue
			}
			column = len(t.retired)
			t.retired = append(t.retired, id)
		}
		if err := row.add(len(t.form.Fields)+column, retired.Value); err != nil {
			return err
		}
	}
	if t.values++; t.values > maxValues {
		t.Cut = true
		return errTableFull
	}
	t.Rows = append(t.Rows, row)
	return t.hold(t.values * cellHTML)
}

// newRow is the row of a submission, without its answers.
func (t *resultTable) newRow(sub forms.Submission) tableRow {
	row := tableRow{
		ID: sub.ID, Name: strconv.FormatInt(sub.ID, 10), Username: sub.Username, table: t,
		Created: shownTime(t.form, sub.Created, t.view.zone), Changed: newChange(t.form, sub, t.view.zone),
	}
	if t.form.Anonymous {
		row.Name = strconv.FormatInt(max(t.view.from, 1)+int64(len(t.Rows)), 10)
	}
	t.Changes = t.Changes || row.Changed != nil
	return row
}

// add adds an answer unless it is empty.
func (r *tableRow) add(column int, value forms.Value) error {
	text, err := value.Text()
	if err != nil || text == "" {
		return err
	}
	field := &forms.Field{}
	if column < len(r.table.form.Fields) {
		field = r.table.form.Fields[column]
	}
	cell := newCell(field, text, r.table)
	cell.column = column
	r.answers = append(r.answers, cell)
	r.table.values += max(len(cell.Values), 1)
	return nil
}

// Path is that of the submission.
func (r *tableRow) Path() string {
	return r.table.path + strconv.FormatInt(r.ID, 10) + r.table.query
}

// Cells are those of all columns but the first ones, which every table has.
func (r *tableRow) Cells() []tableCell {
	cells := make([]tableCell, len(r.table.form.Fields)+len(r.table.retired))
	for _, cell := range r.answers {
		cells[cell.column] = cell
	}
	return cells
}

// States are the answers to status fields, for those who see their own submissions.
func (r *tableRow) States() (states []answerView) {
	for _, cell := range r.answers {
		if cell.Status {
			label := clipLabel(r.table.form.Fields[cell.column].Label)
			states = append(states, answerView{Label: label, Value: cell.Text.Text, Color: cell.Color})
		}
	}
	return states
}

// Excerpt is the first other answer, by which people know their submissions.
func (r *tableRow) Excerpt() string {
	for _, cell := range r.answers {
		if !cell.Status {
			return clipLabel(strings.ReplaceAll(cell.Text.Text, forms.Separator, ", "))
		}
	}
	return ""
}

// newCell cuts the text to the size that cells of the table have.
func newCell(field *forms.Field, text string, t *resultTable) tableCell {
	several := field.MultiValue() || field.Type == forms.File // names of files; the submission has the links
	color := field.ColorOf(text)
	text = field.LabelOf(text)
	if !several {
		text = fromHit(text, t.search)
	}
	short := forms.CutText(text, t.cellSize)
	cell := tableCell{Text: marked{Text: short}, Cut: short != text}
	if several {
		values := strings.SplitN(short, forms.Separator, maxCellValues+1)
		if len(values) > maxCellValues {
			values, cell.Cut = values[:maxCellValues], true
		}
		for _, v := range values {
			cell.Values = append(cell.Values, mark(v, t.search))
		}
		return cell
	}
	cell.Text = mark(short, t.search)
	switch {
	case field.Type == forms.Status:
		cell.Status, cell.Color = true, color
	case field.Validation == forms.Numeric:
		cell.Number = true
	default:
		cell.Long = len(short) > shortCell || strings.Contains(short, "\n")
	}
	return cell
}

// setHead sets the headers. It is called after the rows were read: only these have the
// fields that have left the page.
func (t *resultTable) setHead() {
	v := t.view
	t.Caption = v.caption(t.form)
	prefix := v.sortPrefix()
	if len(prefix) > len(v.path)+maxRowQuery {
		prefix = ""
	}
	metadata := []string{forms.ColumnID, forms.ColumnTimestamp}
	if !t.Anonymous {
		metadata = append(metadata, forms.ColumnUsername)
	}
	if t.Changes {
		metadata = append(metadata, forms.ColumnChanged)
	}
	for _, id := range metadata {
		header := tableHeader{Label: columnLabel(t.form, id)}
		if !t.Anonymous { // else it would sort by times
			header = v.header(prefix, id, header.Label)
			header.UTC = forms.IsTimeColumn(id)
		}
		t.Head = append(t.Head, header)
	}
	for _, field := range t.form.Fields {
		header := v.header(prefix, field.ID, field.Label)
		header.Number = field.Validation == forms.Numeric
		t.Head = append(t.Head, header)
	}
	for _, id := range t.retired {
		t.Head = append(t.Head, v.header(prefix, id, id))
	}
}

func clipLabel(label string) string { return forms.Truncate(label, maxHeader) }
