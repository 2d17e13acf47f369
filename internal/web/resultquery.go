package web

import (
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// How many rows a page of results has.
const (
	defaultRows = 50
	maxRows     = 200
)

// The controls of the filter form that become one parameter of a list. Their
// names are none of a list's.
const (
	fieldControl    = "_field"
	operatorControl = "_operator"
	valueControl    = "_value"
)

// summaryPartName is the value of the parameter "part" that asks for the
// summary alone.
const summaryPartName = "summary"

// resultsView is which submissions a page shows, and in which order, as its
// address says.
type resultsView struct {
	path    string     // of the page, escaped
	query   url.Values // the parameters of the list; nil without any
	opts    service.ListOptions
	invalid forms.Invalid

	added   addedFilter // by the form
	changed bool        // the address is not yet what the form asks for
	deleted int64
	part    string

	// sortBase is that of links that sort, escaped. It is nil where the table
	// has none: with many columns and long filters they would outweigh the rows.
	sortBase []byte
}

// addedFilter is the filter that somebody adds with the form.
type addedFilter struct{ Field, Operator, Value string }

// listParameters are those of a list that a page takes, besides filters.
var listParameters = []string{"q", "username", "sort", "order", "after", "cursor", "limit"}

func isFilter(name string) bool { return name == "filter" || strings.HasPrefix(name, "filter[") }

// readResults reads the address of a page.
func readResults(c *call) *resultsView {
	v := &resultsView{path: c.URL.EscapedPath()}
	v.opts.Limit, v.opts.Descending = defaultRows, true
	if c.URL.RawQuery == "" {
		return v
	}
	params := request.ReadParams(c.URL.RawQuery)
	given := params.Values
	v.invalid = params.Invalid
	v.query = url.Values{}
	for name, values := range given {
		if slices.Contains(listParameters, name) || isFilter(name) {
			v.query[name] = values
		}
	}
	v.part = given.Get("part")
	v.deleted, _ = request.ParseID(given.Get("deleted"))
	v.takeForm(given)
	v.readOptions()
	return v
}

// takeForm makes a parameter of what the filter form has sent.
func (v *resultsView) takeForm(given url.Values) {
	if given.Has("q") && given.Get("q") == "" && len(given["q"]) == 1 {
		v.query.Del("q")
		v.changed = true
	}
	if !given.Has(fieldControl) {
		return
	}
	v.changed = true
	v.added = addedFilter{given.Get(fieldControl), given.Get(operatorControl), given.Get(valueControl)}
	if v.added.Operator == "" {
		v.added.Operator = string(forms.Equals)
	}
	unary := v.added.Operator == string(forms.Empty) || v.added.Operator == string(forms.NotEmpty)
	switch {
	case v.added.Field == "" && v.added.Value == "":
		return
	case v.added.Field == "":
		v.invalid.AddError(noFieldMessage)
		return
	case unary:
		v.added.Value = ""
	}
	if _, problem := forms.NewRule(v.added.Field, v.added.Operator, v.added.Value); problem != "" {
		v.invalid.AddError(valueMessage + problem)
		return
	}
	v.query.Add("filter["+v.added.Field+"]["+v.added.Operator+"]", v.added.Value)
}

// Messages about the controls of the filter form begin like this.
const (
	noFieldMessage = "Choose what to filter by"
	valueMessage   = "The value to filter by "
)

// readOptions reads the parameters of the list. A page has a limit, and begins
// with the newest.
func (v *resultsView) readOptions() {
	query := maps.Clone(v.query)
	if !query.Has("limit") {
		query.Set("limit", strconv.Itoa(defaultRows))
	}
	params := &request.Params{Values: query, Invalid: v.invalid}
	opts := params.ListOptions()
	v.invalid = params.Invalid
	if opts.Limit > maxRows {
		v.invalid.AddError("limit must be at most " + strconv.Itoa(maxRows) + " on this page")
	}
	if !query.Has("order") && opts.Sort == nil {
		opts.Descending = true
	}
	v.opts = opts
}

// filtered reports whether some submissions may be left out.
func (v *resultsView) filtered() bool { return !v.opts.Filter.IsZero() || v.opts.Username != nil }

// base is the parameters without the position: those of the first page.
func (v *resultsView) base() url.Values {
	base := url.Values{}
	for name, values := range v.query {
		if name != "after" && name != "cursor" {
			base[name] = values
		}
	}
	return base
}

// link is the path of a page of results.
func (v *resultsView) link(query url.Values) string {
	if len(query) == 0 {
		return v.path
	}
	return v.path + "?" + query.Encode()
}

// without is the path of the first page without a value of a parameter.
func (v *resultsView) without(name, value string) string {
	query := v.base()
	i := slices.Index(query[name], value)
	if query[name] = slices.Delete(slices.Clone(query[name]), i, i+1); len(query[name]) == 0 {
		query.Del(name)
	}
	return v.link(query)
}

// with is the path of the results that one more filter selects. It keeps what
// selects submissions, and nothing else: a summary is for all pages of a list.
func (v *resultsView) with(id string, operator forms.Operator, value string) string {
	query := url.Values{}
	for name, values := range v.query {
		if name == "q" || name == "username" || isFilter(name) {
			query[name] = slices.Clip(values)
		}
	}
	name := "filter[" + id + "][" + string(operator) + "]"
	if !slices.Contains(query[name], value) {
		query.Add(name, value)
	}
	return v.link(query)
}

// exportQuery is the query of an export: the filters, and the order by id.
func (v *resultsView) exportQuery() string {
	query := v.base()
	for _, name := range []string{"limit", "sort", "order"} {
		query.Del(name)
	}
	if v.opts.Sort == nil && v.opts.Descending {
		query.Set("order", "desc")
	}
	return query.Encode()
}

// exports are the links to files with all submissions that the filters select.
func (v *resultsView) exports() template.HTML {
	query := v.exportQuery()
	var b []byte
	for _, name := range []string{"csv", "xlsx", "ndjson"} {
		b = append(b, ` <a download href="`...)
		b = appendEscaped(b, v.path+"."+name+"?"+query)
		b = append(b, `">`+strings.ToUpper(name)+"</a>"...)
	}
	return template.HTML(b) //nolint:gosec // it is escaped
}

// sortPrefix is the path and the query of the first page up to the value of a
// parameter that is added.
func (v *resultsView) sortPrefix() string {
	query := v.base()
	query.Del("sort")
	query.Del("order")
	if len(query) == 0 {
		return v.path + "?"
	}
	return v.path + "?" + query.Encode() + "&"
}

// appendHeader writes the header of a column, which is a link that sorts by it:
// ascending at first, then descending.
func (v *resultsView) appendHeader(b []byte, id, label, class string) []byte {
	ascending := v.opts.Sort != nil && v.opts.Sort.ID == id && !v.opts.Sort.Descending
	descending := v.opts.Sort != nil && v.opts.Sort.ID == id && v.opts.Sort.Descending
	parameter := "sort=" + url.QueryEscape(id)
	if ascending {
		parameter = "sort=-" + url.QueryEscape(id)
	}
	return v.appendSortLink(b, parameter, label, class, ascending, descending)
}

// appendIDHeader writes the header of the ids. The order by id needs no sorting.
func (v *resultsView) appendIDHeader(b []byte) []byte {
	byID := v.opts.Sort == nil
	parameter := "order=asc"
	if byID && !v.opts.Descending {
		parameter = "order=desc"
	}
	return v.appendSortLink(b, parameter, "Submission", "", byID && !v.opts.Descending, byID && v.opts.Descending)
}

func (v *resultsView) appendSortLink(b []byte, parameter, label, class string, ascending, descending bool) []byte {
	b = append(b, `<th scope="col"`...)
	if class != "" {
		b = append(b, ` class="`+class+`"`...)
	}
	switch {
	case ascending:
		b = append(b, ` aria-sort="ascending"`...)
	case descending:
		b = append(b, ` aria-sort="descending"`...)
	}
	label = clipLabel(label)
	if v.sortBase == nil {
		b = append(b, ` dir="auto">`...)
		return append(appendEscaped(b, label), "</th>"...)
	}
	b = append(b, `><a dir="auto" href="`...)
	b = append(b, v.sortBase...)
	b = appendEscaped(b, parameter)
	b = append(b, `">`...)
	b = appendEscaped(b, label)
	return append(b, "</a></th>"...)
}

// maxHeader is how many bytes of a label a header shows.
const maxHeader = 120

// filterForm is the form above the results that narrows them.
type filterForm struct {
	Action    string
	Search    string
	Fields    template.HTML // options of its selects
	Operators template.HTML
	Value     string // of a filter that can't be added
}

// appendOption writes an option of a select. Every page has one for each field,
// which is much for a template.
func appendOption(b []byte, value, label string, chosen bool) []byte {
	b = append(b, `<option value="`...)
	b = appendEscaped(b, value)
	b = append(b, '"')
	if chosen {
		b = append(b, " selected"...)
	}
	b = append(b, '>')
	b = appendEscaped(b, clipLabel(label))
	return append(b, "</option>\n"...)
}

// activeFilter is a filter that holds, with the path that lifts it.
type activeFilter struct{ Label, Operator, Value, Remove string }

// operatorWords are the operators as people say them.
var operatorWords = map[forms.Operator]string{
	forms.Equals: "is", forms.NotEquals: "is not", forms.InList: "is one of (separated by ;)", forms.Contains: "contains",
	forms.Empty: "is empty", forms.NotEmpty: "is not empty", forms.GreaterThan: "is above or after", forms.LessThan: "is below or before",
}

func newFilterForm(f *forms.Form, v *resultsView) filterForm {
	form := filterForm{Action: v.path, Search: v.query.Get("q"), Value: v.added.Value}
	var b []byte
	for rank := range f.Fields {
		b = appendOption(b, f.Fields[rank].ID, labelOf(&f.Fields[rank]), f.Fields[rank].ID == v.added.Field)
	}
	for _, id := range []string{forms.ColumnUsername, forms.ColumnTimestamp, forms.ColumnID} {
		if id != forms.ColumnUsername || !f.Anonymous {
			b = appendOption(b, id, columnLabel(f, id), id == v.added.Field)
		}
	}
	form.Fields = template.HTML(b) //nolint:gosec // it is escaped
	form.Operators = operatorOptions
	if v.added.Operator != "" {
		form.Operators = newOperatorOptions(v.added.Operator)
	}
	return form
}

var operatorOptions = newOperatorOptions("")

func newOperatorOptions(chosen string) template.HTML {
	var b []byte
	for _, o := range forms.Operators {
		b = appendOption(b, string(o), operatorWords[o], string(o) == chosen)
	}
	return template.HTML(b) //nolint:gosec // it is escaped
}

// maxActive bounds the filters that are listed: each of them has a link that
// holds all others. It is more than a list takes.
const maxActive = forms.MaxRules + 5

// active lists the filters of the address, also those that are wrong, so that
// each can be removed, and the parameters that the filter form keeps. Of too
// many it lists the first.
func (v *resultsView) active(f *forms.Form) (active []activeFilter, kept []keptValue) {
	listed := 0
	for _, name := range slices.Sorted(maps.Keys(v.query)) {
		if name == "after" || name == "cursor" {
			continue
		}
		for _, value := range v.query[name] {
			if listed++; listed > maxActive {
				return active, kept
			}
			filter := activeFilter{Value: value, Remove: v.without(name, value)}
			switch {
			case isFilter(name):
				filter.describe(f, name)
			case name == "username":
				filter.Label, filter.Operator = "User name", operatorWords[forms.Equals]
			case name == "q": // its control keeps it
				filter.Label = "Search"
				active = append(active, filter)
				continue
			default:
				kept = append(kept, keptValue{name, value})
				continue
			}
			active = append(active, filter)
			kept = append(kept, keptValue{name, value})
		}
	}
	return active, kept
}

// describe says what a parameter filters by.
func (a *activeFilter) describe(f *forms.Form, name string) {
	id, operator, ok := request.ParseFilter(name)
	if !ok {
		a.Label = name
		return
	}
	a.Label, a.Operator = columnLabel(f, id), operator
	if words, known := operatorWords[forms.Operator(operator)]; known {
		a.Operator, _, _ = strings.Cut(words, " (")
	}
	if operator == string(forms.Empty) || operator == string(forms.NotEmpty) {
		a.Value = ""
	}
}

// elementOf is the control that a message is about; "" if it is none.
func (form filterForm) elementOf(message string) string {
	switch {
	case message == noFieldMessage:
		return "#filter-field"
	case strings.HasPrefix(message, valueMessage):
		return "#filter-value"
	case strings.HasPrefix(message, "q "):
		return "#filter-q"
	default:
		return ""
	}
}
