// Package query is questions about many submissions of a form: filters, orders, pages, summaries. It is pure: the
// submissions come from a Source.
//
// A rule, a sort key and a sum look at the text of a column, however it was found: see column.
package query

import (
	"crypto/cipher"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// MaxPage is the greatest limit of a sorted list, and that of a list which tells
// where its next page begins.
const MaxPage = 1000

// List narrows and orders a list. The zero value is everything, by id.
type List struct {
	Username *string // only this submitter's
	Filter   Filter

	Descending bool // by id, from the highest
	After      int64
	Limit      int
	Follow     bool // the list goes on later: see Settled of store.Query

	Sort   *Sort  // by values instead of by id, with a Limit of at most MaxPage
	Cursor string // Page.Cursor of the page before, of a sorted list

	Count bool // Page.Total is wanted
	Back  bool // Page.Previous is wanted, of a list with a limit of at most MaxPage

	By *string // the id of a field with options, whose values make groups of a summary; nil for none

	Changes bool // Files, Changed and Changer of the submissions are wanted
}

// Page tells about a list before its first submission is read.
type Page struct {
	Start           // where the next page begins; zero if there is none, or Limit is above MaxPage
	Total    int64  // how many there are, whatever After, Limit and Cursor are; with Count only
	More     bool   // with Follow: there is a next page, even if After is 0
	Previous *Start // where the page before begins; nil for the first page; with Back only
}

// Start is After or Cursor of a page. Both are zero for the first one.
type Start struct {
	After  int64
	Cursor string
}

// Rows are submissions. They are read when they are ranged over, each time. The Entries of one are valid until
// the body of the loop ends. An error comes last.
type Rows = iter.Seq2[forms.Submission, error]

// Range is a part of the submissions of a form. It has the fields of store.Query, which explains them. The Source knows
// the form.
type Range struct {
	PageID     int64
	FormID     string
	Username   *string
	Descending bool
	After      int64
	Limit      int
	Changes    bool
	Settled    bool
	IDs        []int64
}

// ErrUnsettled ends a range before submissions that are not settled.
var ErrUnsettled = errors.New("more submissions follow later")

// Source has the submissions of a form that one reader may see.
type Source struct {
	Form    *forms.Form
	Zone    *time.Location   // in which days begin
	Scan    func(Range) Rows // with the ids and values that the form has now
	Cursors cipher.AEAD      // see NewCursors
	Reader  string           // for whom cursors count; "" for all who see all submissions
}

// List returns the submissions that a list selects. An id of the filter or
// the sort order that is neither in the form nor in what the reader may see is a
// *forms.Invalid.
func (s Source) List(list List) (page Page, rows Rows, err error) {
	q, err := s.ask(list)
	if err != nil {
		return page, nil, err
	}
	r := q.all()
	switch {
	case list.Sort != nil:
		page, r.IDs, err = q.sortedPage()
	case 0 < list.Limit && list.Limit <= MaxPage:
		page, r.IDs, err = q.page()
	default:
		r.After, r.Limit, r.Settled = list.After, list.Limit, list.Follow
	}
	if err == nil && list.Count && list.Sort == nil {
		for _, err = range q.rows(q.all()) {
			page.Total++
		}
	}
	r.Changes = r.Changes || list.Changes
	return page, q.rows(r), err
}

// Summary sums up the submissions that a list selects by Username and Filter, in groups of By.
func (s Source) Summary(list List) (sum Summary, err error) {
	by := -1
	if list.By != nil {
		by = s.Form.Index().Rank(s.Form.CurrentID(*list.By))
		if by < 0 || len(s.Form.Fields[by].Options) == 0 {
			return sum, forms.InvalidRequest(forms.Say("by must be the id of a field with options"))
		}
	}
	q, err := s.ask(list)
	if err != nil {
		return sum, err
	}
	all := newSummarizer(s.Form, s.Zone, by)
	for sub, err := range q.rows(q.all()) {
		if err == nil {
			err = all.Add(sub)
		}
		if err != nil {
			return sum, err
		}
	}
	return all.Summary(), nil
}

// Neighbours returns the ids of the submissions before and after one in a list,
// whatever After, Limit, Cursor and Count are. An id is 0 where there is none.
func (s Source) Neighbours(list List, sub forms.Submission) (before, after int64, err error) {
	list.Limit, list.Cursor, list.Back = 1, "", true
	q, err := s.ask(list)
	if err != nil {
		return 0, 0, err
	}
	var last, next []int64
	if list.Sort != nil {
		last, next, err = q.sortedNeighbours(sub)
	} else if next, err = q.ids(sub.ID, 1, list.Descending); err == nil {
		last, err = q.ids(sub.ID, 1, !list.Descending)
	}
	other := func(ids []int64) int64 { // it may be listed itself, if it was changed meanwhile
		for _, id := range ids {
			if id != sub.ID {
				return id
			}
		}
		return 0
	}
	return other(last), other(next), err
}

// question is a list that is being answered.
type question struct {
	Source
	List
	match *Matcher // nil if there is no filter
	more  bool     // a range has ended before submissions that are not settled
}

// ask checks a list. An id that the form does not have may be that of a
// field that has left the page: a pass over what is stored finds out.
func (s Source) ask(list List) (*question, error) {
	var invalid forms.Invalid
	if fault := list.Filter.Check(); fault != nil {
		invalid.AddError(fault)
	}
	if list.Sort != nil && (list.Limit < 1 || list.Limit > MaxPage) {
		invalid.AddError(forms.Say("sort needs a limit of at most {0}", MaxPage))
	}
	if list.Cursor != "" && list.Sort == nil {
		invalid.AddError(forms.Say("cursor needs sort"))
	}
	if err := invalid.Err(); err != nil {
		return nil, err
	}
	list.Filter.Rules = slices.Clone(list.Filter.Rules)
	for i := range list.Filter.Rules {
		s.Form.NameRule(&list.Filter.Rules[i])
	}
	if list.Sort != nil {
		list.Sort = &Sort{ID: s.Form.CurrentID(list.Sort.ID), Descending: list.Sort.Descending}
	}
	q := &question{Source: s, List: list}
	if err := q.findColumns(); err != nil {
		return nil, err
	}
	if !list.Filter.IsZero() {
		q.match = NewMatcher(s.Form, list.Filter, s.Zone)
	}
	return q, nil
}

// columns returns the ids of the columns that the filter and the order look at.
func (q *question) columns() (ids []string) {
	for _, r := range q.Filter.Rules {
		ids = append(ids, r.FieldID)
	}
	if q.Sort != nil {
		ids = append(ids, q.Sort.ID)
	}
	return ids
}

// findColumns looks for the columns that the form does not have. Parameters whose ids are nowhere are unknown.
func (q *question) findColumns() error {
	missing, fields := map[string]string{}, q.Form.Index() // ids by their keys in Entries
	for _, id := range q.columns() {
		if c := newColumn(fields, id); c.key != nil {
			missing[string(c.key)] = id
		}
	}
	if len(missing) == 0 {
		return nil
	}
	r := q.all()
	r.Username = nil
	for sub, err := range q.Scan(r) {
		if err == nil {
			scan := sub.Entries.Scan()
			for scan.Next() {
				delete(missing, string(scan.FieldID))
			}
			err = scan.Err()
		}
		if err != nil || len(missing) == 0 {
			return err
		}
	}
	var unknown forms.Invalid
	left := slices.Collect(maps.Values(missing))
	for i, id := range q.columns() {
		if !slices.Contains(left, id) {
			continue
		}
		parameter := "filter[" + forms.Clip(id) + "]"
		if i == len(q.Filter.Rules) {
			parameter = "sort=" + forms.Clip(id)
		}
		unknown.AddError(forms.Say("{0}: the form has no such field, and none is stored", parameter))
	}
	return unknown.Err()
}

// all is the range that the list selects from. It comes with what the filter and the order need.
func (q *question) all() Range {
	return Range{
		Username: q.Username, Descending: q.Descending, Changes: slices.Contains(q.columns(), forms.ColumnChanged),
	}
}

// rows returns what the filter selects of a range, at most Limit submissions of it if
// that is not 0.
func (q *question) rows(r Range) Rows {
	limit := r.Limit
	if q.match != nil {
		r.Limit = 0
	}
	return func(yield func(forms.Submission, error) bool) {
		found := 0
		for sub, err := range q.Scan(r) {
			if errors.Is(err, ErrUnsettled) {
				q.more = true
				return
			}
			selected := true
			if err == nil && q.match != nil {
				selected, err = q.match.Match(sub)
			}
			if err != nil {
				yield(sub, err)
				return
			}
			if !selected {
				continue
			}
			if found++; !yield(sub, nil) || found == limit {
				return
			}
		}
	}
}
