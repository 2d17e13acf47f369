package request

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/service"
)

// maxLimit bounds a page of a list. Without a limit all of it is sent.
const maxLimit = 1_000_000

// Params are the query parameters of a request. The methods that read them note
// all faults in Invalid, so that a caller is told of every one at once.
type Params struct {
	Values  url.Values
	Invalid forms.Invalid
	tooLong bool
}

// maxQuery is the length of the longest query, in bytes: links repeat it.
const maxQuery = 8 << 10

var errQueryTooLong = &StatusError{
	http.StatusRequestURITooLong, forms.SayN("The query of the URL is longer than {0} byte.",
		"The query of the URL is longer than {0} bytes.", maxQuery),
}

// ReadParams reads the query of an address. Of a query that can't be read, Values
// has what could be; of one that is too long, nothing.
func ReadParams(rawQuery string) *Params {
	if len(rawQuery) > maxQuery {
		return &Params{Values: url.Values{}, tooLong: true}
	}
	values, err := parseQuery(rawQuery)
	p := &Params{Values: values}
	if err != nil {
		p.Invalid.AddError(forms.Say("the query of the URL can't be read: use %-escapes for special characters"))
	}
	return p
}

// Err returns the faults that were found so far, or nil: a *forms.Invalid, or a
// *StatusError for a query that is too long.
func (p *Params) Err() error {
	if p.tooLong {
		return errQueryTooLong
	}
	return p.Invalid.Err()
}

// parseQuery accepts ";" in filters, where it separates the values of a list.
// Elsewhere it is refused, as by package url: it may be meant to separate
// parameters, as it did in former times.
func parseQuery(rawQuery string) (url.Values, error) {
	pairs := strings.Split(rawQuery, "&")
	for i, pair := range pairs {
		if strings.HasPrefix(pair, "filter") {
			pairs[i] = strings.ReplaceAll(pair, ";", "%3B")
		}
	}
	return url.ParseQuery(strings.Join(pairs, "&"))
}

// List reads the opt-in query parameters of a list. It ignores unknown
// parameters.
func (p *Params) List() (opts query.List) {
	if len(p.Values) > 0 {
		p.filters(&opts)
		p.page(&opts)
		p.sort(&opts)
	}
	return opts
}

// Summary reads those parameters of a list that select submissions, and by.
func (p *Params) Summary() (opts query.List) {
	p.filters(&opts)
	if by, given := p.One("by"); given {
		opts.By = &by
	}
	return opts
}

// Flag returns the value of a parameter that is true or false.
func (p *Params) Flag(name string, usual bool) bool {
	switch value, given := p.One(name); {
	case value == "true":
		return true
	case value == "false":
		return false
	case given:
		p.Invalid.AddError(forms.Say("{0} must be true or false", name))
	}
	return usual
}

// One returns the value of a parameter that must not be given twice.
func (p *Params) One(name string) (value string, given bool) {
	values := p.Values[name]
	if len(values) > 1 {
		p.Invalid.AddError(forms.Say("{0} must not be given twice", name))
	}
	return p.Values.Get(name), len(values) > 0
}

// text is one for a value that is compared with what is stored. Not every engine
// can be asked for what it could never hold.
func (p *Params) text(name string) (value string, given bool) {
	value, given = p.One(name)
	if !utf8.ValidString(value) || strings.Contains(value, "\x00") {
		p.Invalid.AddError(forms.Say("{0} must be text in UTF-8", name))
		return "", given
	}
	return value, given
}

// filters reads what selects submissions.
func (p *Params) filters(opts *query.List) {
	if v, given := p.text("username"); given {
		opts.Username = &v
	}
	opts.Filter.Search, _ = p.text("q")
	count := 0
	for _, name := range slices.Sorted(maps.Keys(p.Values)) {
		if name != "filter" && !strings.HasPrefix(name, "filter[") {
			continue
		}
		values := p.Values[name]
		if count += len(values); count > query.MaxRules {
			continue
		}
		p.filter(opts, name, values)
	}
	if count > query.MaxRules {
		p.Invalid.AddError(query.TooManyRules)
	}
}

func (p *Params) filter(opts *query.List, name string, values []string) {
	id, operator, ok := ParseFilter(name)
	if !ok {
		p.Invalid.AddError(forms.Say("{0} is not a filter: write filter[ID]=VALUE or filter[ID][OPERATOR]=VALUE",
			printable(name)))
		return
	}
	for _, v := range values {
		rule, fault := query.NewRule(id, operator, v)
		if fault != nil {
			p.Invalid.AddError(forms.Named(printable(name), fault))
			return
		}
		opts.Filter.Rules = append(opts.Filter.Rules, rule)
	}
}

// ParseFilter takes the name of a filter's parameter apart. An id may hold brackets: the
// operator is in the last ones, if there is more than one pair.
func ParseFilter(name string) (id, operator string, ok bool) {
	inner, begun := strings.CutPrefix(name, "filter[")
	inner, ended := strings.CutSuffix(inner, "]")
	if !begun || !ended {
		return "", "", false
	}
	id, operator = inner, string(forms.Equals)
	if i := strings.LastIndex(inner, "]["); i >= 0 {
		id, operator = inner[:i], inner[i+len("]["):]
	}
	return id, operator, id != "" && utf8.ValidString(id)
}

// printable is a name as it is repeated in a message.
func printable(name string) string { return forms.Clip(strings.ToValidUTF8(name, "\ufffd")) }

// page reads which part of a list is wanted.
func (p *Params) page(opts *query.List) {
	if v, given := p.One("limit"); given {
		n, ok := ParseID(v)
		if !ok || n > maxLimit {
			p.Invalid.AddError(forms.Say("limit must be a number from 1 to {0}", maxLimit))
		}
		opts.Limit = int(n)
	}
	if v, given := p.One("after"); given {
		id, ok := ParseID(v)
		if !ok && v != "0" {
			p.Invalid.AddError(forms.Say("after must be the id of a submission"))
		}
		opts.After = id
	}
	switch v, given := p.One("order"); {
	case v == "desc":
		opts.Descending = true
	case v != "asc" && given:
		p.Invalid.AddError(forms.Say("order must be asc or desc"))
	}
	opts.Count = p.Flag("count", false)
}

// sort reads the order of a list by values.
func (p *Params) sort(opts *query.List) {
	cursor, hasCursor := p.One("cursor")
	opts.Cursor = cursor
	v, sorted := p.text("sort")
	if hasCursor && cursor == "" {
		p.Invalid.AddError(forms.Say("cursor must be that of a page before"))
	}
	if !sorted {
		return
	}
	if p.Values.Has("after") {
		p.Invalid.AddError(forms.Say("after is of a list by id: a sorted one goes on with cursor"))
	}
	if p.Values.Has("order") {
		p.Invalid.AddError(forms.Say("order is of a list by id: write sort=-ID to sort in descending order"))
	}
	id, descending := strings.CutPrefix(v, "-")
	if id == "" {
		p.Invalid.AddError(forms.Say("sort must be the id of a field, or -ID to sort in descending order"))
	}
	opts.Sort = &query.Sort{ID: id, Descending: descending}
}

// NextPage returns a reference to the page after one at the given address, or ""
// if none is known to follow.
func NextPage(at *url.URL, page query.Page) string {
	if page.After == 0 && page.Cursor == "" && !page.More {
		return ""
	}
	query, _ := parseQuery(at.RawQuery) // it was read before
	if page.Cursor != "" {
		query.Set("cursor", page.Cursor)
	} else {
		query.Set("after", strconv.FormatInt(page.After, 10))
	}
	return at.EscapedPath() + "?" + query.Encode()
}

// PathID reads an id of the path. One that can't exist is not found.
func PathID(r *http.Request, name string) (int64, error) {
	id, ok := ParseID(r.PathValue(name))
	if !ok {
		return 0, service.NewError(service.NotFound, forms.Say("An id in this path is not a number that an id can be."))
	}
	return id, nil
}

// ParseID accepts decimal digits without sign or leading zero, within 2^63.
func ParseID(s string) (int64, bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil
}
