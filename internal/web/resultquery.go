package web

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/request"
)

// How many rows a page of results has.
const (
	defaultRows = 50
	maxRows     = 200
	maxPrinted  = 1000
)

// The controls of the filter form that become one parameter of a list. Their
// names are none of a list's.
const (
	fieldControl    = "_field"
	operatorControl = "_operator"
	valueControl    = "_value" // several for several options
	toControl       = "_to"    // the second bound of a range
	ruleControl     = "_rule"  // the field that the controls for operator and value were made for
	firstControl    = "_first" // the column that becomes the first one
	partControl     = "_part"  // only these controls are wanted
)

// resultsView is which submissions a page shows, and in which order, as its
// address says.
type resultsView struct {
	path   string     // of the page, escaped
	query  url.Values // the parameters of the list, and from
	opts   query.List
	params *request.Params // all that the address has, with their faults
	zone   *time.Location  // in which days begin
	lang   *lang.Language
	tag    string // of the language of the form's texts, or ""

	from    int64       // number of the page's first row in the list, counted from 1; 0 if the address does not have it
	added   addedFilter // by the form
	part    bool        // only the controls of that filter are wanted
	changed bool        // the address is not yet what the form asks for
	deleted int64

	table   bool     // the table is shown, else the summary
	columns []string // of the table, in their order; nil for all
	print   bool     // the table is for paper
}

// addedFilter is the filter that somebody adds with the form.
type addedFilter struct {
	Field, Operator string
	Values          []string
	To              string
}

// listParameters are those of a list that a page takes, besides filters.
var listParameters = []string{
	"q", "username", "sort", "order", "after", "cursor", "limit", "view", "columns", "by",
}

func isFilter(name string) bool { return name == "filter" || strings.HasPrefix(name, "filter[") }

// fromParameter tells which row of the list a page begins with. To count the rows
// before it would take too long.
const fromParameter = "from"

// tableAnchor has links within the list stay at the table.
const tableAnchor = "#submissions"

// readResults reads the address of a page, or that of a submission in its list. path
// is that of the results.
func (c *call) readResults(f *forms.Form, path, rawQuery string) *resultsView {
	now := c.Backend.Service.Now()
	v := &resultsView{
		path: path, params: request.ReadParams(rawQuery), query: url.Values{}, from: 1, zone: now.Location(), lang: c.Lang,
	}
	given := v.params.Values
	for name, values := range given {
		if slices.Contains(listParameters, name) || isFilter(name) {
			v.query[name] = values
		}
	}
	if v.print = given.Get("print") == "true"; v.print {
		v.query = v.base("limit")
	}
	if v.positioned() {
		if v.from, _ = request.ParseID(given.Get(fromParameter)); v.from > 0 {
			v.query.Set(fromParameter, given.Get(fromParameter))
		}
	}
	v.deleted, _ = request.ParseID(given.Get("deleted"))
	v.takeForm(f, given, now)
	v.setView(f)
	v.readOptions()
	v.columns = readColumns(f, v.params)
	return v
}

// setView decides which view is shown. Links have it, unless the form's own is meant.
func (v *resultsView) setView(f *forms.Form) {
	decided := slices.ContainsFunc(f.Fields, func(field *forms.Field) bool { return field.ByEditors })
	switch v.query.Get("view") {
	case "table":
		v.table = true
	case "summary":
	default:
		v.query.Del("view")
		ofTable := func(name string) bool { return v.query.Has(name) }
		listed := slices.ContainsFunc([]string{"sort", "after", "cursor", "columns"}, ofTable)
		v.table = (decided || listed) && !v.query.Has("by")
		if v.table && !decided {
			v.query.Set("view", "table")
		}
	}
}

// columnsMessage begins the message about a column that there is not.
const columnsMessage = "columns: the form has no field "

// readColumns returns the columns that an address chooses, in their order; nil if it chooses
// none. An anonymous form has neither numbers nor user names.
func readColumns(f *forms.Form, params *request.Params) (ids []string) {
	for _, id := range f.CurrentIDs(params.Values["columns"]) {
		switch {
		case id == "", slices.Contains(ids, id), f.Anonymous && (id == forms.ColumnID || id == forms.ColumnUsername):
		case f.Field(id) == nil && metadataLabels[id] == nil:
			params.Invalid.AddError(forms.Say(`columns: the form has no field "{0}"`, clipLabel(id)))
		default:
			ids = append(ids, id)
		}
	}
	return ids
}

// takeForm makes a parameter of what the filter form has sent.
func (v *resultsView) takeForm(f *forms.Form, given url.Values, now time.Time) {
	for _, name := range []string{"q", "by"} { // controls that were left empty
		if given.Has(name) && given.Get(name) == "" && len(given[name]) == 1 {
			v.query.Del(name)
			v.changed = true
		}
	}
	if given.Has(firstControl) {
		v.changed = true
		v.query["columns"] = append(given[firstControl], v.query["columns"]...)
	}
	if !given.Has(fieldControl) {
		return
	}
	values := slices.DeleteFunc(given[valueControl], isEmpty)
	v.added = addedFilter{given.Get(fieldControl), given.Get(operatorControl), values, given.Get(toControl)}
	made := cmp.Or(given.Get(ruleControl), v.added.Field)
	if v.added.Field != "" && (made != v.added.Field || !given.Has(operatorControl) && !given.Has(valueControl)) {
		v.added = addedFilter{Field: v.added.Field} // operator and value are yet to be chosen
		v.part, v.changed = given.Has(partControl), false
		return
	}
	v.changed = true
	if v.added.Field != "" || len(v.added.Values) > 0 {
		v.addFilter(f, now)
	}
}

func isEmpty(text string) bool { return text == "" }

// addFilter makes parameters of the filter that is added.
func (v *resultsView) addFilter(f *forms.Form, now time.Time) {
	if v.added.Field == "" {
		v.params.Invalid.AddError(forms.Say("Choose what to filter by"))
		return
	}
	operator, values, problem := v.added.rules(f.Field(v.added.Field), now)
	for _, value := range values {
		_, fault := query.NewRule(v.added.Field, operator, value)
		problem = cmp.Or(problem, fault)
	}
	if problem != nil {
		v.params.Invalid.AddError(named(forms.Say("Value"), problem))
		return
	}
	name := "filter[" + v.added.Field + "][" + operator + "]"
	v.query[name] = append(slices.Clone(v.query[name]), values...)
}

// rules returns the operator and the values of the rules that are added: a rule each. All
// of them must hold. The field is nil for other columns.
func (a addedFilter) rules(
	field *forms.Field, now time.Time,
) (operator string, values []string, problem *forms.Message) {
	operator = cmp.Or(a.Operator, string(forms.Equals))
	if from, to := nearDays(operator, now); to != "" {
		return string(forms.Between), []string{from + forms.Separator + to}, nil
	}
	if isUnary(operator) {
		return operator, []string{""}, nil
	}
	values, to := slices.Clone(a.Values), a.To
	if field != nil && field.Validation == forms.Numeric {
		for i, value := range values {
			values[i], problem = plainFilter(field, value, problem)
		}
		to, problem = plainFilter(field, to, problem)
	}
	joined := strings.Join(values, forms.Separator)
	switch forms.Operator(operator) {
	case forms.Between:
		values = []string{joined + forms.Separator + to}
	case forms.InList, forms.Equals:
		values = []string{joined}
	case forms.GreaterThan, forms.LessThan:
		if len(values) > 1 {
			problem = forms.Say("must be a single value")
		}
	}
	if (len(a.Values) == 0 || joined == "") && (a.To == "" || operator != string(forms.Between)) {
		problem = cmp.Or(problem, forms.Say("is required"))
	}
	return operator, values, problem
}

// plainFilter returns a number as it is stored, and what is wrong with it, unless there is a
// problem already.
func plainFilter(field *forms.Field, text string, problem *forms.Message) (number string, fault *forms.Message) {
	if text == "" {
		return "", problem
	}
	number = tidyValue(field, text)
	return number, cmp.Or(problem, twoMeanings(number), field.CheckAnswer(forms.Answer{Value: number}))
}

// Words of the form for days near the current one. The address has the days.
const (
	thisMonth = "this-month"
	lastMonth = "last-month"
	lastWeek  = "last-7-days" // with the current day
)

// nearDays returns the first and the last day of such a word, "" for others.
func nearDays(word string, now time.Time) (from, to string) {
	year, month, day := now.Date()
	switch word {
	case thisMonth:
		return date(year, month, 1), date(year, month+1, 0)
	case lastMonth:
		return date(year, month-1, 1), date(year, month, 0)
	case lastWeek:
		return date(year, month, day-6), date(year, month, day)
	default:
		return "", ""
	}
}

func date(year int, month time.Month, day int) string {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// isUnary reports whether an operator takes no value.
func isUnary(operator string) bool {
	return operator == string(forms.Empty) || operator == string(forms.NotEmpty)
}

// Messages about the controls of the filter form begin like this.
const (
	noFieldMessage = "Choose what to filter by"
	valueMessage   = "“Value” "
)

// readOptions reads the parameters of the list. A page has a limit, and begins
// with the newest.
func (v *resultsView) readOptions() {
	query := maps.Clone(v.query)
	if !query.Has("limit") {
		query.Set("limit", strconv.Itoa(defaultRows))
	}
	v.params.Values = query
	opts := v.params.List()
	if by, given := v.params.One("by"); given {
		opts.By = &by
	}
	opts.Filter.Numbers = true // 9.8 is 9.80 for people
	if opts.Limit > maxRows {
		v.params.Invalid.AddError(forms.Say("limit must be at most {0} on this page", maxRows))
	}
	if v.print {
		opts.Limit = maxPrinted
	}
	if !query.Has("order") && opts.Sort == nil {
		opts.Descending = true
	}
	v.opts = opts
}

// positioned reports whether the address names another page than the first.
func (v *resultsView) positioned() bool { return v.query.Has("after") || v.query.Has("cursor") }

// base is the parameters without the position, as those of the first page, and without
// further ones.
func (v *resultsView) base(drop ...string) url.Values {
	base := maps.Clone(v.query)
	for _, name := range append(drop, "after", "cursor", fromParameter) {
		base.Del(name)
	}
	return base
}

// link is the path of a page of results.
func (v *resultsView) link(query url.Values) string { return withQuery(v.path, query.Encode()) }

// viewLink is the path of a view with these parameters. The view may be "", for the usual one.
func (v *resultsView) viewLink(query url.Values, view string) string {
	if view != "" {
		query.Set("view", view)
	}
	return v.link(query)
}

// pageLink is the path of the page that begins at a position, with the row of that number.
func (v *resultsView) pageLink(start query.Start, from int64) string {
	values := v.base()
	if start.Cursor != "" {
		values.Set("cursor", start.Cursor)
	} else if start.After != 0 {
		values.Set("after", strconv.FormatInt(start.After, 10))
	}
	if start != (query.Start{}) && from > 1 {
		values.Set(fromParameter, strconv.FormatInt(from, 10))
	}
	return v.link(values) + tableAnchor
}

// listQuery is the query of the page itself, "" for that of the whole list.
func (v *resultsView) listQuery() string { return v.query.Encode() }

// without is the path of the first page without a value of a parameter.
func (v *resultsView) without(name, value string) string {
	query := v.base()
	i := slices.Index(query[name], value)
	if query[name] = slices.Delete(slices.Clone(query[name]), i, i+1); len(query[name]) == 0 {
		query.Del(name)
	}
	return v.link(query)
}

// selection is the parameters that select submissions.
func (v *resultsView) selection() url.Values {
	return v.base("sort", "order", "limit", "view", "columns", "by")
}

// with is the path of the table that one more filter selects, "" if that is too long.
// It has no position and no order: a summary is for all pages of a list.
func (v *resultsView) with(id string, operator forms.Operator, value string, columns ...string) string {
	query := v.selection()
	query.Set("view", "table")
	if columns != nil {
		query["columns"] = columns
	}
	name := "filter[" + id + "][" + string(operator) + "]"
	if !slices.Contains(query[name], value) {
		query[name] = append(slices.Clone(query[name]), value)
	}
	if link := v.link(query); len(link) <= maxBarLink {
		return link
	}
	return ""
}

// exportLink leads to a file with all submissions that the filters select, by id.
type exportLink struct{ Name, Path string }

func (v *resultsView) exports() []exportLink {
	query := v.selection()
	if v.opts.Sort == nil && v.opts.Descending {
		query.Set("order", "desc")
	}
	var links []exportLink
	for _, to := range []exportLink{{"Excel", ".xlsx"}, {"CSV", ".csv"}, {"NDJSON", ".ndjson"}} {
		if query.Del("columns"); v.columns != nil && to.Name != "NDJSON" { // which is for programs, and has all
			query["columns"] = v.columns
		}
		links = append(links, exportLink{to.Name, v.path + to.Path + "?" + query.Encode()})
	}
	return links
}

// sortPrefix is the path and the query of the first page up to the value of a
// parameter that is added.
func (v *resultsView) sortPrefix() string {
	if query := v.base("sort", "order"); len(query) > 0 {
		return v.link(query) + "&"
	}
	return v.path + "?"
}

// header is the header of a column. Its link sorts by the column: ascending at
// first, then descending. prefix is sortPrefix, or "" for no link. The order by id
// has a parameter of its own.
func (v *resultsView) header(prefix, id, label string) tableHeader {
	h := tableHeader{Label: clipLabel(label)}
	by, descending := forms.ColumnID, v.opts.Descending
	if sort := v.opts.Sort; sort != nil {
		by, descending = sort.ID, sort.Descending
	}
	if by == id {
		if h.Order = "ascending"; descending {
			h.Order = "descending"
		}
	}
	parameter := "sort="
	if id == forms.ColumnID {
		parameter, id = "order=", "asc"
		if h.Order == "ascending" {
			id = "desc"
		}
	} else if h.Order == "ascending" {
		parameter += "-"
	}
	parameter += url.QueryEscape(id)
	if prefix != "" {
		h.Sort = prefix + parameter + tableAnchor
	}
	return h
}
