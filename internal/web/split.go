package web

import (
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
)

// maxSplit bounds the figures in the table of a split summary.
const maxSplit = 5000

// splitForm chooses the field that a summary is split by.
type splitForm struct {
	Action string
	Params []hiddenValue
	Fields []choice // empty if there is none
}

func newSplitForm(f *forms.Form, page *resultsView) splitForm {
	form := splitForm{Action: page.path, Params: hiddenValues(page.selection())}
	for _, field := range f.Fields {
		if len(field.Options) > 0 {
			chosen := page.opts.By != nil && f.CurrentID(*page.opts.By) == field.ID
			form.Fields = append(form.Fields, choice{
				Value: field.ID, Label: clipLabel(field.Label), Chosen: chosen, Lang: page.tag,
			})
		}
	}
	return form
}

// splitView is a summary by the answers to one field: a row for each of them, and columns for
// each other question with options or numbers.
type splitView struct {
	Words        // the question
	Status  bool // the answers are statuses
	Cut     bool // there are more answers
	Columns []splitColumn
	Rows    []splitRow
	Left    int // questions without a column
}

type splitColumn struct {
	Label  string
	Number bool
}

// splitRow is the submissions with one answer.
type splitRow struct {
	Answer bar
	Cells  []splitCell
}

// splitCell is what these submissions say to a question.
type splitCell struct {
	Column splitColumn
	Number string // "" if there is none
	Bars   []bar  // options that were chosen
	Status bool   // options are statuses
}

func newSplit(f *forms.Form, s query.Summary, page *resultsView) *splitView {
	by := f.Field(*page.opts.By)
	v := &splitView{Words: Words{clipLabel(by.Label), page.tag}, Status: by.Type == forms.Status, Cut: s.GroupsCut}
	for _, group := range s.Groups {
		row := splitRow{Answer: newBar(by, group.Value, group.Count, page)}
		if group.Value == "" {
			row.Answer.Only = page.with(by.ID, forms.Empty, "")
		}
		v.Rows = append(v.Rows, row)
	}
	figures, l := 0, page.lang
	for rank, field := range f.Fields {
		all, label := s.Fields[rank], clipLabel(field.Label)
		if field == by || all.Answered == 0 || all.Options == nil && all.Numbers == nil {
			continue
		}
		if figures += len(s.Groups) * (len(all.Options) + 1); figures > maxSplit {
			v.Left++
			continue
		}
		if all.Numbers != nil {
			if hasSum(f, rank) {
				v.addNumbers(s.Groups, rank, l.Text("{0}, sum", label), func(n *query.Numbers) string { return number(l, n.Sum) })
			}
			v.addNumbers(s.Groups, rank, l.Text("{0}, mean", label), func(n *query.Numbers) string { return mean(l, n.Mean) })
		}
		if all.Options != nil {
			v.addOptions(s.Groups, rank, field)
		} else {
			answers := func(n *query.Numbers) string { return l.Count(n.Count) }
			v.addNumbers(s.Groups, rank, l.Text("{0}, answers", label), answers)
		}
	}
	return v
}

// addNumbers adds a column of one figure.
func (v *splitView) addNumbers(
	groups []query.Group, rank int, label string, figure func(*query.Numbers) string,
) {
	column := splitColumn{label, true}
	v.Columns = append(v.Columns, column)
	for i, group := range groups {
		cell := splitCell{Column: column}
		if n := group.Field(rank).Numbers; n.Count > 0 {
			cell.Number = figure(n)
		}
		v.Rows[i].Cells = append(v.Rows[i].Cells, cell)
	}
}

// addOptions adds a column that says how often each option was chosen.
func (v *splitView) addOptions(groups []query.Group, rank int, field *forms.Field) {
	column := splitColumn{clipLabel(field.Label), false}
	v.Columns = append(v.Columns, column)
	for i, group := range groups {
		cell := splitCell{Column: column, Status: field.Type == forms.Status}
		for _, o := range group.Field(rank).Options {
			if o.Count > 0 {
				label := clipLabel(field.LabelOf(o.Value))
				cell.Bars = append(cell.Bars, bar{Label: label, Color: field.ColorOf(o.Value), Count: o.Count})
			}
		}
		v.Rows[i].Cells = append(v.Rows[i].Cells, cell)
	}
}
