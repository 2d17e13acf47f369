package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// resultsPage is the submissions of a form that somebody may see: a summary, and
// a table of some of them.
type resultsPage struct {
	Layout
	Several *severalForm   // nil unless the caller may change rows
	Outcome outcome        // of a change of several; without a text for none
	Gone    *forms.Message // a submission was deleted just now; nil if none was
	Errors  []errorLine
	Filter  filterForm
	Active  []activeFilter
	Params  []hiddenValue // of the address, that the filter form sends again beside its controls
	ShowAll string        // path of the results without filters; "" if there are none

	Views   []viewTab
	Summary *summaryView // nil if there is no submission
	Table   *resultTable // nil if there is no submission, or the summary is shown
	Columns columnForm
	Mine    []ownRow // instead of the rows of Table, for those who see their own
	Print   string   // path of the table on paper; "" if this is it
	Exports []exportLink
	ByID    bool // exports are by id, unlike the table
	Total   int64
	From    int64  // number of the first row in the list; 0 if it is not known
	First   string // path of the first page; "" if this is it
	Back    string // path of the page before; "" if this is the first one
	Next    string // path of the next page; "" if this is the last one
}

// viewTab leads to a view of the results.
type viewTab struct {
	Name, Path string
	Current    bool
}

// columnForm is the form that chooses the columns of the table.
type columnForm struct {
	Params  []hiddenValue
	Choices []choice // those that are shown come first
	All     string   // path of the table with all; "" if it has them
}

// To is the number of the last row in the list.
func (p *resultsPage) To() int64 { return p.From + int64(len(p.Table.Rows)) - 1 }

// results shows a page of results. It takes its slot before the query is read: a
// page that is refused takes memory, too.
func (c *call) results() error { return c.showResults(c.outcome()) }

// showResults is results with what became of several submissions just now.
func (c *call) showResults(after outcome) error {
	access, err := c.Form()
	if err != nil {
		return err
	}
	if err := c.HoldList(); err != nil {
		return err
	}
	v := c.readResults(access.Form, c.URL.EscapedPath(), c.URL.RawQuery)
	if access.Form.Anonymous {
		refuseTimes(v.opts, &v.params.Invalid)
	}
	err = v.params.Err()
	if v.changed && err == nil {
		return c.redirect(v.link(v.base()))
	}
	page := c.newResultsPage(access, v)
	page.Outcome = after
	if v.part && err == nil {
		return c.render(http.StatusOK, "filter", page)
	}
	table := v.table || !access.Rights.SeeAll
	if table && access.Rights.Edit && !v.print {
		page.Several = c.newSeveralForm(access.Form, v)
	}
	if err == nil && table {
		err = c.readTable(page, access, v)
	}
	if err == nil && (page.Table != nil || !table) {
		page.Summary, err = c.summary(access, v)
	}
	if err == nil {
		page.About.Findings, err = access.Findings(c.Context())
	}
	if invalid, ok := errors.AsType[*forms.Invalid](err); ok {
		return c.refuseResults(page, invalid)
	}
	if err == nil {
		err = c.MayStillList(access)
	}
	if err != nil {
		return err
	}
	page.addLinks(access.Form, v)
	for {
		err := c.render(after.Status, "results", page)
		if !errors.Is(err, errPageTooLarge) || page.Table == nil || len(page.Table.Rows) == 0 {
			return err
		}
		page.Table.Rows, page.Table.Cut = page.Table.Rows[:len(page.Table.Rows)/2], true
	}
}

// readTable reads the submissions of the page.
func (c *call) readTable(page *resultsPage, access *service.Access, v *resultsView) error {
	opts := v.opts
	opts.Back, opts.Changes = true, true
	table := newResultTable(access.Form, c.formPath(access.Form), v, c.HoldAnswer)
	if page.Several != nil {
		table.Tag = access.Tag
	}
	list, rows, err := access.Submissions(c.Context(), func() error { return c.MayStillList(access) }).List(opts)
	if err != nil {
		return err
	}
	page.setPaging(v, list)
	for sub, err := range rows {
		if err == nil && !access.Rights.SeeAll {
			var row ownRow
			row, err = c.ownRow(access, sub, table.query)
			page.Mine = append(page.Mine, row)
		}
		if err == nil {
			err = table.add(sub)
		}
		if err != nil {
			return err
		}
		if table.Cut {
			break
		}
	}
	if len(table.Rows) > 0 || table.Cut {
		table.setHead()
		page.Table = table
	}
	return nil
}

// setPaging sets the links to the pages around this one.
func (p *resultsPage) setPaging(v *resultsView, list query.Page) {
	limit := int64(v.opts.Limit)
	if list.Start != (query.Start{}) {
		from := v.from
		if from > 0 {
			from += limit
		}
		p.Next = v.pageLink(list.Start, from)
	}
	if list.Previous != nil {
		p.Back = v.pageLink(*list.Previous, v.from-limit)
	}
}

func (c *call) newResultsPage(access *service.Access, v *resultsView) *resultsPage {
	v.tag = access.Lang()
	title := c.Lang.Text("Results")
	if !access.Rights.SeeAll {
		title = c.Lang.Text("My submissions")
	}
	page := &resultsPage{
		Layout: c.formLayout(title, access), Gone: v.gone(access), Filter: newFilterForm(access.Form, v),
		Params: hiddenValues(v.base("q")),
	}
	page.About.Back, page.About.Shortcuts = "", c.shortcuts(access) // this is it
	page.Wide, page.Script = true, "results.js"
	return page
}

// gone says that a submission was deleted just now, nil if none was.
func (v *resultsView) gone(access *service.Access) *forms.Message {
	id := strconv.FormatInt(v.deleted, 10)
	switch {
	case v.deleted == 0:
		return nil
	case access.Form.Anonymous:
		return forms.Say("The submission was deleted.")
	case access.Rights.Edit:
		return forms.Say("Submission {0} was deleted.", id)
	default:
		return forms.Say("Submission {0} was withdrawn.", id)
	}
}

// newColumnForm offers all columns, but those of fields that have left the page.
func newColumnForm(f *forms.Form, v *resultsView) columnForm {
	form := columnForm{Params: hiddenValues(v.base("columns"))}
	if v.columns != nil {
		form.All = v.viewLink(v.base("columns"), "table")
	}
	for _, id := range append(slices.Clip(v.columns), usualColumns(f, nil)...) {
		chosen := len(form.Choices) < len(v.columns)
		if chosen || !slices.Contains(v.columns, id) {
			chosen = chosen || v.columns == nil
			form.Choices = append(form.Choices, choice{
				Value: id, Label: clipLabel(v.columnLabel(f, id)), Chosen: chosen, Lang: v.columnLang(f, id),
			})
		}
	}
	return form
}

// addLinks adds the links that repeat the query of the page.
func (p *resultsPage) addLinks(f *forms.Form, v *resultsView) {
	p.Active, p.Exports, p.ByID = v.active(f), v.exports(), v.opts.Sort != nil
	if !v.opts.Filter.IsZero() || v.opts.Username != nil {
		p.ShowAll = v.viewLink(url.Values{}, v.query.Get("view"))
	}
	if p.Summary != nil && p.Summary.Count == 0 {
		p.Summary = nil
	}
	p.Views = []viewTab{
		{v.lang.Text("Summary"), v.viewLink(v.base(), "summary"), !v.table},
		{v.lang.Text("Table"), v.viewLink(v.base(), "table"), v.table},
	}
	if v.positioned() {
		p.First = v.link(v.base()) + tableAnchor
	}
	if p.Table == nil {
		return
	}
	p.Columns = newColumnForm(f, v)
	if query := v.base("limit"); !v.print {
		query.Set("print", "true")
		p.Print = v.viewLink(query, "table")
	}
	p.Total, p.From = p.Summary.Count, v.from // the count may be a few seconds old
	if p.To() > p.Total {
		p.From = 0
	}
}

// refuseResults shows what is wrong with the parameters. It adds no links: they
// would repeat a long query many times.
func (c *call) refuseResults(page *resultsPage, invalid *forms.Invalid) error {
	page.Title, page.ShowAll = c.Lang.Text("Error: {0}", page.Title), c.URL.EscapedPath()
	status := http.StatusUnprocessableEntity
	for _, m := range invalid.Errors {
		href := page.Filter.elementOf(m.String())
		if strings.HasPrefix(m.String(), columnsMessage) {
			status = http.StatusBadRequest
		}
		if href == "" { // the address is wrong: the form must not send it again
			page.Params = nil
		}
		page.Errors = append(page.Errors, errorLine{Href: href, Text: c.Lang.Say(m)})
	}
	return c.render(status, "results", page)
}

// export sends all submissions that the filters select, whatever part of them
// a page shows. A list that is sorted by values has a limit, so an export is by
// id. It has labels, columns for people, and the mark by which spreadsheets know UTF-8,
// unless the address says otherwise. On an anonymous form it tells days and numbers its
// rows, as the page does.
func export(format *encode.Format) handler {
	return func(c *call) error {
		access, err := c.Form()
		if err != nil {
			return err
		}
		view := request.ListView{
			Params: request.ReadParams(c.URL.RawQuery), Numbers: true,
			Zone: c.Backend.Service.Zone(), Row: c.shownRows(access.Form),
		}
		for _, id := range []string{forms.ColumnID, forms.ColumnTimestamp, forms.ColumnUsername, forms.ColumnChanged} {
			view.Headings = append(view.Headings, c.Lang.Say(metadataLabels[id]))
		}
		c.w.Header().Add("Vary", "Accept-Language, Cookie")
		for _, name := range []string{"limit", "after", "cursor", "sort", "count"} {
			view.Params.Values.Del(name)
		}
		view.Columns = readColumns(access.Form, view.Params)
		if access.Form.Anonymous {
			refuseTimes(view.Params.List(), &view.Params.Invalid)
			view.Zone = time.UTC // see shownTime
		}
		if err := view.Params.Err(); err != nil {
			return err
		}
		for _, name := range []string{"labels", "bom"} {
			if !view.Params.Values.Has(name) {
				view.Params.Values.Set(name, "true")
			}
		}
		return c.SendList(c.w, access, view, encode.Flat, format)
	}
}

// shownRows returns what makes a submission as pages show it. On an anonymous form it
// replaces times by days, and ids by the numbers of rows.
func (c *call) shownRows(f *forms.Form) func(forms.Submission) forms.Submission {
	row, zone := int64(0), c.Backend.Service.Zone()
	return func(sub forms.Submission) forms.Submission {
		if row++; f.Anonymous {
			sub.ID = row
		}
		change := newChange(f, sub, zone)
		if sub.Changed = (time.Time{}); change != nil {
			sub.Changed = change.When.At
		}
		sub.Created = shownTime(f, sub.Created, zone).At
		return sub
	}
}

// caption says in which order rows are.
func (v *resultsView) caption(f *forms.Form) string {
	switch {
	case v.opts.Sort != nil && v.opts.Sort.Descending:
		return v.lang.Text("Submissions by “{0}”, descending", v.columnLabel(f, v.opts.Sort.ID))
	case v.opts.Sort != nil:
		return v.lang.Text("Submissions by “{0}”, ascending", v.columnLabel(f, v.opts.Sort.ID))
	case v.opts.Descending:
		return v.lang.Text("Submissions, newest first")
	default:
		return v.lang.Text("Submissions, oldest first")
	}
}

// columnLabel is what a column is called.
func (v *resultsView) columnLabel(f *forms.Form, id string) string {
	if field := f.Field(id); field != nil {
		return field.Label
	}
	return cmp.Or(v.lang.Say(metadataLabels[id]), id)
}

// columnLang is the language tag of the label of a column, "" for the reader's.
func (v *resultsView) columnLang(f *forms.Form, id string) string {
	if f.Field(id) == nil {
		return ""
	}
	return v.tag
}

var metadataLabels = map[string]*forms.Message{
	forms.ColumnID: forms.Say("column|Number"), forms.ColumnTimestamp: forms.Say("column|Sent"),
	forms.ColumnChanged: forms.Say("column|Changed"), forms.ColumnUsername: forms.Say("column|Sent by"),
}
