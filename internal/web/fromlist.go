package web

import (
	"errors"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// openedFrom is the list that the address of a submission names: that of all if it
// names none.
func (c *call) openedFrom(f *forms.Form) *resultsView {
	path := c.alone().formPath(f) + "/results"
	v := c.readResults(f, path, c.URL.RawQuery)
	if v.params.Err() != nil || len(v.listQuery()) > maxRowQuery {
		v = c.readResults(f, path, "")
	}
	return v
}

// withQuery adds the parts of a query to a path, as far as they are not empty.
func withQuery(path string, parts ...string) string {
	query := strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "&")
	if query == "" {
		return path
	}
	return path + "?" + query
}

// at is the path of a page about the submission, which leads back to its list.
func (st stored) at(page string) string { return withQuery(st.path+page, st.list.listQuery()) }

// setNeighbours finds the submissions before and after this one in its list. Those of an
// anonymous form have no such links: their order could identify the senders.
func (st stored) setNeighbours(page *submissionPage) error {
	if page.Sent || st.Framed || st.access.Form.Anonymous {
		return nil
	}
	opts := st.list.opts
	if !opts.Filter.IsZero() || opts.Sort != nil { // it may read the whole list
		if err := st.HoldList(); err != nil {
			return err
		}
	}
	check := func() error { return st.MayStillList(st.access) }
	before, after, err := st.access.Submissions(st.Context(), check).Neighbours(opts, st.sub)
	if _, ok := errors.AsType[*forms.Invalid](err); ok { // a filter by a field that is nowhere any more
		return nil
	}
	page.Back, page.Next = st.inList(before), st.inList(after)
	return err
}

// inList is the path of another submission of the same list, "" for none.
func (st stored) inList(id int64) string {
	if id == 0 {
		return ""
	}
	st.path = st.submissionPath(st.access.Form, id)
	return st.at("")
}
