package web

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
)

// Bounds of the table. A form may have a thousand fields, and an answer may be
// long: the more cells there are, the less of each is shown. The page of the
// submission shows all of it. On paper, and in a few
// columns, no answer is cut, but there may be fewer rows.
const (
	maxTableText  = 2 << 20 // bytes, as long as cells have more than minCell
	maxValues     = 40_000  // of all answers; the table is cut there
	cellHTML      = 100     // bytes that such a cell takes, about
	maxCell       = 1000    // bytes of an answer
	maxWhole      = 3       // columns whose answers are not cut
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
	Caption string
	Lang    string // language tag of what an author wrote, or ""
	Head    []tableHeader
	More    int  // answers to fields that have left the page, beyond maxRetired
	Cut     bool // rows are missing at the end
	Whole   bool // answers are not cut
	Rows    []tableRow
	Tag     func(forms.Submission) string // nil unless the caller may change rows

	form     *forms.Form
	path     string // of a submission, without its id
	query    string // of a submission's address, which leads back to the list
	search   string // what is marked, folded
	view     *resultsView
	cellSize int
	changes  bool            // some submission was changed
	columns  []tableColumn   // that are shown
	retired  []string        // ids of fields that have left the page, as far as rows have them
	values   int             // of all answers, and one for each row
	hold     func(int) error // takes a slot if the table is large

	result *forms.Result // of the row that is read; reused
}

// tableColumn is a column of answers, or of what every submission has.
type tableColumn struct {
	id     string
	answer int // index of the answers, see tableCell; -1 for others
}

// tableHeader is the header of a column. Its link sorts by that column.
type tableHeader struct {
	Label  string
	Lang   string // language tag of the label if an author wrote it, or ""
	Number bool
	Times  bool   // their zone is named
	Order  string // "ascending" or "descending" if the table is sorted by the column
	Sort   string // path; "" where links would take too much room
}

// tableRow is a submission. It holds the cells that are not empty.
type tableRow struct {
	Tag      string // "" unless the caller may change it
	ID       int64
	Created  moment
	Username string
	Changed  *changeView // nil if it never was
	answers  []tableCell
	table    *resultTable
}

// tableCell is an answer as it is shown. It has no methods: templates take long to call them.
type tableCell struct {
	column int     // rank of the field, or beyond these the index in retired
	When   *moment // of a column of times; nil for none
	Text   marked
	Ours   bool     // it is written in the reader's language
	Empty  bool     // there is nothing to show
	Values []marked // of a field with several
	Number bool
	Long   bool // it takes more than one line
	Status bool
	Color  string
	Cut    bool
	Card   string // label of the column if the cell is also shown where a row is a card; else ""
}

func newResultTable(form *forms.Form, formPath string, v *resultsView, hold func(size int) error) *resultTable {
	width := len(form.Fields)
	if v.columns != nil {
		width = len(v.columns)
	}
	cells := v.opts.Limit * (width + 1)
	t := &resultTable{
		form: form, path: formPath + "/submission/", hold: hold, result: form.NewResult(),
		search: query.Fold(v.opts.Filter.Search), view: v, Lang: v.tag,
		cellSize: min(max(maxTableText/cells, minCell), maxCell),
	}
	if t.Whole = v.print || v.columns != nil && len(v.columns) <= maxWhole; t.Whole {
		t.cellSize = math.MaxInt
	}
	if query := v.listQuery(); query != "" && len(query) <= maxRowQuery {
		t.query = "?" + query
	}
	return t
}

// add adds a submission, or sets Cut if it does not fit any more.
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
		return nil
	}
	t.Rows = append(t.Rows, row)
	return t.hold(t.values * cellHTML)
}

// newRow is the row of a submission, without its answers.
func (t *resultTable) newRow(sub forms.Submission) tableRow {
	row := tableRow{
		ID: sub.ID, Username: sub.Username, table: t,
		Created: shownTime(t.form, sub.Created, t.view.zone), Changed: newChange(t.form, sub, t.view.zone),
	}
	if t.Tag != nil {
		row.Tag = t.Tag(sub)
	}
	t.changes = t.changes || row.Changed != nil
	return row
}

// add adds an answer unless it is empty.
func (r *tableRow) add(column int, value forms.Value) error {
	text, err := value.Text()
	if err != nil || text == "" {
		return err
	}
	cell := newCell(r.table.field(column), text, r.table)
	cell.column = column
	r.answers = append(r.answers, cell)
	r.table.values += max(len(cell.Values), len(cell.Text.Text)/cellHTML, 1)
	return nil
}

// Path is that of the submission.
func (r *tableRow) Path() string {
	return r.table.path + strconv.FormatInt(r.ID, 10) + r.table.query
}

// Cells are those of all columns.
func (r *tableRow) Cells() []tableCell {
	answers := make([]tableCell, len(r.table.form.Fields)+len(r.table.retired))
	for _, cell := range r.answers {
		answers[cell.column] = cell
	}
	cells := make([]tableCell, len(r.table.columns))
	for i, column := range r.table.columns {
		cell := &cells[i]
		switch {
		case column.answer >= 0:
			*cell = answers[column.answer]
		case column.id == forms.ColumnID:
			cell.Text.Text = strconv.FormatInt(r.ID, 10)
		case column.id == forms.ColumnUsername:
			cell.Text.Text = r.Username
		case column.id == forms.ColumnTimestamp:
			cell.When = &r.Created
		case r.Changed != nil:
			cell.When, cell.Text.Text = &r.Changed.When, r.Changed.By
		}
		cell.Empty = cell.Text.Text == "" && cell.When == nil
		cell.Ours = cell.Ours || cell.Empty || cell.When != nil
	}
	r.setCard(cells[1:])
	return cells
}

// setCard chooses the cells of a card beside the first one: the first state and two answers.
func (r *tableRow) setCard(cells []tableCell) {
	states, others := 0, 0
	for i := range cells {
		cell := &cells[i]
		count, most := &others, 2
		if cell.Status {
			count, most = &states, 1
		}
		if !cell.Empty && r.table.columns[i+1].answer >= 0 && *count < most {
			*count++
			cell.Card = r.table.Head[i+1].Label
		}
	}
}

// newCell cuts the text to the size that cells of the table have.
func newCell(field *forms.Field, text string, t *resultTable) tableCell {
	several := field.MultiValue() || field.Type == forms.File // names of files; the submission has the links
	color := field.ColorOf(text)
	text = t.view.lang.Answer(field, text)
	if !several {
		text = fromHit(text, t.search)
	}
	short := forms.CutText(text, t.cellSize)
	cell := tableCell{Text: marked{Text: short}, Cut: short != text, Ours: field.Validation == forms.DateOnly}
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
	ids, index := v.columns, t.form.Index()
	if ids == nil {
		unchanged := func(id string) bool { return id == forms.ColumnChanged && !t.changes }
		ids = slices.DeleteFunc(usualColumns(t.form, t.retired), unchanged)
	}
	for _, id := range ids {
		rank, label, link := index.Rank(id), cmp.Or(v.lang.Say(metadataLabels[id]), id), prefix
		times := query.IsTimeColumn(id)
		if times && t.form.Anonymous {
			link = ""
		}
		if rank >= 0 {
			label = t.form.Fields[rank].Label
		} else if i := slices.Index(t.retired, id); i >= 0 {
			rank = len(t.form.Fields) + i
		}
		header := v.header(link, id, label)
		header.Lang, header.Times = v.columnLang(t.form, id), times && !t.form.Anonymous
		header.Number = t.field(rank).Validation == forms.Numeric
		t.Head, t.columns = append(t.Head, header), append(t.columns, tableColumn{id, rank})
	}
}

// field is that of a column of answers, an empty one for others.
func (t *resultTable) field(column int) *forms.Field {
	if column < 0 || column >= len(t.form.Fields) {
		return &forms.Field{}
	}
	return t.form.Fields[column]
}

// usualColumns are the ids of the columns of a table, as long as the address chooses none:
// the sender, what editors decide, the other answers, and what is alike on all forms.
func usualColumns(f *forms.Form, retired []string) []string {
	var first, others []string
	last := []string{forms.ColumnTimestamp, forms.ColumnChanged}
	if !f.Anonymous {
		first, last = []string{forms.ColumnUsername}, append(last, forms.ColumnID)
	}
	for _, field := range f.Fields {
		if field.ByEditors {
			first = append(first, field.ID)
		} else {
			others = append(others, field.ID)
		}
	}
	return slices.Concat(first, others, retired, last)
}

func clipLabel(label string) string { return forms.Truncate(label, maxHeader) }
