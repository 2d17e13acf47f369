package request

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
)

// maxLimit bounds a page of a list. Without a limit all of it is sent.
const maxLimit = 1_000_000

// The names of the parameters that a page of a list begins with.
const (
	afterParameter  = "after"
	cursorParameter = "cursor"
)

// ParseQuery reads the query of an address. It takes note of a query that can't
// be read, and returns the rest of it.
func ParseQuery(rawQuery string, invalid *forms.Invalid) url.Values {
	query, err := parseQuery(rawQuery)
	if err != nil {
		invalid.AddError("the query of the URL can't be read: use %-escapes for special characters")
	}
	return query
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

// ListOptions reads the opt-in query parameters of a list. It ignores unknown
// parameters, and takes note of every fault at once.
func ListOptions(query url.Values, invalid *forms.Invalid) service.ListOptions {
	if len(query) == 0 {
		return service.ListOptions{}
	}
	r := queryReader{query: query, invalid: invalid}
	r.filters()
	r.page()
	r.sort()
	return r.opts
}

// SummaryOptions reads those parameters of a list that select submissions.
func SummaryOptions(query url.Values, invalid *forms.Invalid) service.ListOptions {
	r := queryReader{query: query, invalid: invalid}
	r.filters()
	return r.opts
}

// queryReader reads parameters.
type queryReader struct {
	query   url.Values
	opts    service.ListOptions
	invalid *forms.Invalid
}

// one returns the value of a parameter that must not be given twice.
func (r *queryReader) one(name string) (value string, given bool) {
	values := r.query[name]
	if len(values) > 1 {
		r.invalid.AddError(name + " must not be given twice")
	}
	return r.query.Get(name), len(values) > 0
}

// text is one for a value that is compared with what is stored. Not every engine
// can be asked for what it could never hold.
func (r *queryReader) text(name string) (value string, given bool) {
	value, given = r.one(name)
	if !utf8.ValidString(value) || strings.Contains(value, "\x00") {
		r.invalid.AddError(name + " must be text in UTF-8")
		return "", given
	}
	return value, given
}

// filters reads what selects submissions.
func (r *queryReader) filters() {
	if v, given := r.text("username"); given {
		r.opts.Username = &v
	}
	r.opts.Filter.Search, _ = r.text("q")
	count := 0
	for _, name := range slices.Sorted(maps.Keys(r.query)) {
		if name != "filter" && !strings.HasPrefix(name, "filter[") {
			continue
		}
		values := r.query[name]
		if count += len(values); count > forms.MaxRules {
			continue
		}
		r.filter(name, values)
	}
	if count > forms.MaxRules {
		r.invalid.AddError(fmt.Sprintf("there must be at most %d filters", forms.MaxRules))
	} else if problem := r.opts.Filter.Check(); problem != "" {
		r.invalid.AddError(problem)
	}
}

func (r *queryReader) filter(name string, values []string) {
	id, operator, ok := ParseFilter(name)
	if !ok {
		r.invalid.AddError(printable(name) + " is not a filter: write filter[ID]=VALUE or filter[ID][OPERATOR]=VALUE")
		return
	}
	for _, v := range values {
		rule, problem := forms.NewRule(id, operator, v)
		if problem != "" {
			r.invalid.AddError(printable(name) + " " + problem)
			return
		}
		r.opts.Filter.Rules = append(r.opts.Filter.Rules, rule)
	}
}

// ParseFilter takes the name of a filter's parameter apart. An id may hold brackets: the
// operator is what stands in the last ones, if there is more than one pair.
func ParseFilter(name string) (id, operator string, ok bool) {
	inner, found := strings.CutPrefix(name, "filter[")
	if !found || !strings.HasSuffix(inner, "]") {
		return "", "", false
	}
	inner = strings.TrimSuffix(inner, "]")
	id, operator = inner, string(forms.Equals)
	if i := strings.LastIndex(inner, "]["); i >= 0 {
		id, operator = inner[:i], inner[i+len("]["):]
	}
	return id, operator, id != "" && utf8.ValidString(id)
}

// printable is a name as it is repeated in a message.
func printable(name string) string { return forms.Clip(strings.ToValidUTF8(name, "\ufffd")) }

// page reads which part of a list is wanted.
func (r *queryReader) page() {
	if v, given := r.one("limit"); given {
		n, ok := ParseID(v)
		if !ok || n > maxLimit {
			r.invalid.AddError(fmt.Sprintf("limit must be a number from 1 to %d", maxLimit))
		}
		r.opts.Limit = int(n)
	}
	if v, given := r.one(afterParameter); given {
		id, ok := ParseID(v)
		if !ok && v != "0" {
			r.invalid.AddError("after must be the id of a submission")
		}
		r.opts.After = id
	}
	switch v, given := r.one("order"); {
	case v == "desc":
		r.opts.Descending = true
	case v != "asc" && given:
		r.invalid.AddError("order must be asc or desc")
	}
	switch v, given := r.one("count"); {
	case v == "true":
		r.opts.Count = true
	case v != "false" && given:
		r.invalid.AddError("count must be true or false")
	}
}

// sort reads the order of a list by values. It leaves to the service what only
// the form tells.
func (r *queryReader) sort() {
	cursor, hasCursor := r.one(cursorParameter)
	r.opts.Cursor = cursor
	v, sorted := r.text("sort")
	switch {
	case !sorted && hasCursor:
		r.invalid.AddError("cursor is of a sorted list, and needs its sort")
		return
	case !sorted:
		return
	case hasCursor && cursor == "":
		r.invalid.AddError("cursor must be that of a page before")
	}
	if r.query.Has(afterParameter) {
		r.invalid.AddError("after is of a list by id: a sorted one goes on with cursor")
	}
	if r.query.Has("order") {
		r.invalid.AddError("order is of a list by id: write sort=-ID to sort in descending order")
	}
	if r.opts.Limit < 1 || r.opts.Limit > service.MaxPage {
		r.invalid.AddError(fmt.Sprintf("sort needs a limit of at most %d", service.MaxPage))
	}
	id, descending := strings.CutPrefix(v, "-")
	if id == "" {
		r.invalid.AddError("sort must be the id of a field, or -ID to sort in descending order")
	}
	r.opts.Sort = &forms.Sort{ID: id, Descending: descending}
}

// NextPage returns a reference to the page after one at the given address, or ""
// if none is known to follow.
func NextPage(at *url.URL, page service.Page) string {
	if page.After == 0 && page.Cursor == "" {
		return ""
	}
	query, _ := parseQuery(at.RawQuery) // it was read before
	if page.Cursor != "" {
		query.Set(cursorParameter, page.Cursor)
	} else {
		query.Set(afterParameter, strconv.FormatInt(page.After, 10))
	}
	return at.EscapedPath() + "?" + query.Encode()
}
