package service

import (
	"context"
	"errors"
	"slices"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// MaxPage is the greatest limit of a sorted list, and that of a list which tells
// where its next page begins.
const MaxPage = store.MaxIDs

// ListOptions narrows and orders a list. The zero value is everything, by id.
type ListOptions struct {
	Username *string // only this submitter's
	Filter   forms.Filter

	Descending bool // by id, from the highest
	After      int64
	Limit      int
	Follow     bool // the list goes on later: see Settled of store.Query

	Sort   *forms.Sort // by values instead of by id, with a Limit of at most MaxPage
	Cursor string      // ListPage.Cursor of the page before, of a sorted list

	Count bool // ListPage.Total is wanted
	Back  bool // ListPage.Previous is wanted, of a list with a limit of at most MaxPage

	By *string // the id of a field with options, whose values make groups of a summary; nil for none

	Changes bool // Files, Changed and Changer of the submissions are wanted

	// Begin, if not nil, is called once, before the first submission is visited.
	Begin func(ListPage) error
	// Check, if not nil, is called now and then while submissions are read,
	// also if none of them is visited. An error of it ends the list.
	Check func() error
}

// ListPage is what is known of a list before its first submission.
type ListPage struct {
	Total  int64  // how many there are, whatever After, Limit and Cursor are; with Count only
	After  int64  // what the next page comes after; 0 if there is none, or Limit is above MaxPage
	More   bool   // with Follow: there is a next page, even if After is 0
	Cursor string // the same of a sorted list; "" if there is none

	Previous *ListStart // where the page before begins; nil for the first page; with Back only
}

// ListStart is After or Cursor of a page. Both are zero for the first one.
type ListStart struct {
	After  int64
	Cursor string
}

// List calls visit for each submission that the caller may see and the options
// select. See store.Store.Scan for what visit may rely on. An id of the filter or
// the sort order that is neither in the form nor in what the caller may see is a
// *forms.Invalid.
func (a *Access) List(ctx context.Context, opts ListOptions, visit func(forms.Submission) error) error {
	l, err := a.newLister(ctx, opts)
	if err != nil {
		return err
	}
	var page ListPage
	q := l.query(opts.Username)
	switch {
	case opts.Sort != nil:
		page, q.IDs, err = l.sortedPage(ctx)
	case opts.Begin != nil && 0 < opts.Limit && opts.Limit <= MaxPage:
		page, q.IDs, err = l.page(ctx)
	default:
		q.After, q.Limit, q.Settled = opts.After, opts.Limit, opts.Follow
	}
	if err == nil && opts.Count && opts.Sort == nil {
		err = l.scan(ctx, l.query(opts.Username), func(forms.Submission) error { page.Total++; return nil })
	}
	if err == nil && opts.Begin != nil {
		err = opts.Begin(page)
	}
	if err != nil {
		return err
	}
	q.Changes = q.Changes || opts.Changes
	return l.scan(ctx, q, visit)
}

// Summary sums up the submissions that the caller may see and the options
// select. The options are Username, Filter, By and Check.
func (a *Access) Summary(ctx context.Context, opts ListOptions) (sum forms.Summary, err error) {
	by := -1
	if opts.By != nil {
		by = a.Form.Index().Rank(a.Form.CurrentID(*opts.By))
		if by < 0 || len(a.Form.Fields[by].Options) == 0 {
			return sum, forms.InvalidRequest(forms.Say("by must be the id of a field with options"))
		}
	}
	l, err := a.newLister(ctx, opts)
	if err != nil {
		return sum, err
	}
	s := a.Form.NewSummarizer(a.conf.Zone, by)
	if err := l.scan(ctx, l.query(opts.Username), s.Add); err != nil {
		return sum, err
	}
	return s.Summary(), nil
}

// lister is a list under way.
type lister struct {
	*Access
	opts   ListOptions
	match  *forms.Matcher // nil if there is no filter
	unread int            // bytes that may be read until the next check
	more   bool           // a scan has ended before what is not settled
}

// newLister checks the options. An id that the form does not have may be that of a
// field that has left the page: a pass over what is stored finds out.
func (a *Access) newLister(ctx context.Context, opts ListOptions) (*lister, error) {
	var invalid forms.Invalid
	if fault := opts.Filter.Check(); fault != nil {
		invalid.AddError(fault)
	}
	if opts.Sort != nil && (opts.Limit < 1 || opts.Limit > MaxPage) {
		invalid.AddError(forms.Say("sort needs a limit of at most {0}", MaxPage))
	}
	if opts.Cursor != "" && opts.Sort == nil {
		invalid.AddError(forms.Say("cursor needs sort"))
	}
	if err := invalid.Err(); err != nil {
		return nil, err
	}
	opts.Filter = a.Form.CurrentFilter(opts.Filter)
	if opts.Sort != nil {
		opts.Sort = &forms.Sort{ID: a.Form.CurrentID(opts.Sort.ID), Descending: opts.Sort.Descending}
	}
	l := &lister{Access: a, opts: opts, unread: checkBytes}
	if err := l.findColumns(ctx); err != nil {
		return nil, err
	}
	if !opts.Filter.IsZero() {
		l.match = a.Form.NewMatcher(opts.Filter, a.conf.Zone)
	}
	return l, nil
}

// errEnough ends a scan.
var errEnough = errors.New("enough")

func (l *lister) findColumns(ctx context.Context) error {
	ids := l.opts.Filter.IDs()
	if l.opts.Sort != nil {
		ids = append(ids, l.opts.Sort.ID)
	}
	missing := l.Form.Missing(ids...)
	if len(missing.IDs()) == 0 {
		return nil
	}
	q := l.query(nil)
	err := l.conf.Store.Scan(ctx, q, func(sub forms.Submission) error {
		if err := l.check(sub); err != nil {
			return err
		}
		all, err := missing.Find(sub)
		if err == nil && all {
			err = errEnough
		}
		return err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return Explain(err)
	}
	return l.unknown(missing.IDs()).Err()
}

// unknown names the parameters whose ids are nowhere.
func (l *lister) unknown(ids []string) *forms.Invalid {
	invalid := &forms.Invalid{}
	add := func(parameter string) {
		invalid.AddError(forms.Say("{0}: the form has no such field, and none is stored", parameter))
	}
	for _, r := range l.opts.Filter.Rules {
		if slices.Contains(ids, r.FieldID) {
			add("filter[" + forms.Clip(r.FieldID) + "]")
		}
	}
	if l.opts.Sort != nil && slices.Contains(ids, l.opts.Sort.ID) {
		add("sort=" + forms.Clip(l.opts.Sort.ID))
	}
	return invalid
}

// query selects what the caller may see, of one submitter or of all. It comes with
// what the filter and the order need.
func (l *lister) query(username *string) store.Query {
	if !l.Rights.SeeAll {
		mine := l.user
		if username != nil && *username != mine {
			mine = "" // matches no row; the store is asked anyway, so that an outage is an error and not an empty list
		}
		username = &mine
	}
	changes := slices.Contains(l.opts.Filter.IDs(), forms.ColumnChanged) ||
		l.opts.Sort != nil && l.opts.Sort.ID == forms.ColumnChanged
	return store.Query{
		PageID: l.Form.PageID, FormID: l.Form.ID, Username: username, Descending: l.opts.Descending, Changes: changes,
	}
}

// scan visits what the filter selects of a query, at most Limit submissions of it if
// that is not 0.
func (l *lister) scan(ctx context.Context, q store.Query, visit func(forms.Submission) error) error {
	limit, visited := q.Limit, 0
	if l.match != nil {
		q.Limit = 0
	}
	err := l.conf.Store.Scan(ctx, q, func(sub forms.Submission) error {
		if err := l.check(sub); err != nil {
			return err
		}
		sub, err := l.Form.Current(sub)
		if err != nil {
			return err
		}
		if l.match != nil {
			if selected, err := l.match.Match(sub); err != nil || !selected {
				return err
			}
		}
		if err := visit(sub); err != nil {
			return err
		}
		if visited++; l.match != nil && visited == limit {
			return errEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		return nil
	case errors.Is(err, store.ErrUnsettled):
		l.more = true
		return nil
	}
	return Explain(err)
}

const (
	// checkBytes is how much is read until Check is called again.
	checkBytes = 256 << 10
	// rowBytes is what a submission counts beside its entries.
	rowBytes = 64
)

func (l *lister) check(sub forms.Submission) error {
	if l.unread -= len(sub.Entries) + rowBytes; l.unread >= 0 || l.opts.Check == nil {
		return nil
	}
	l.unread = checkBytes
	return l.opts.Check()
}

// ids returns the ids of the first submissions of the list by id beyond one, at
// most limit. It is never nil.
func (l *lister) ids(ctx context.Context, after int64, limit int) ([]int64, error) {
	ids := []int64{}
	q := l.query(l.opts.Username)
	q.After, q.Limit, q.Settled = after, limit, l.opts.Follow
	err := l.scan(ctx, q, func(sub forms.Submission) error { ids = append(ids, sub.ID); return nil })
	return ids, err
}

// page finds the submissions of a page by id. The list visits exactly these: the next
// page begins where this one ends, whatever is written meanwhile.
func (l *lister) page(ctx context.Context) (page ListPage, ids []int64, err error) {
	limit := l.opts.Limit
	if ids, err = l.ids(ctx, l.opts.After, limit+1); err != nil {
		return page, nil, err
	}
	page.More = l.more
	if len(ids) > limit {
		ids, page.More = ids[:limit], true
	}
	switch {
	case page.More && len(ids) > 0:
		page.After = ids[len(ids)-1]
	case page.More:
		page.After = l.opts.After
	}
	if !l.opts.Back || l.opts.After == 0 {
		return page, ids, nil
	}
	beyond := l.opts.After + 1 // so that After itself is found, too
	if l.opts.Descending {
		beyond = l.opts.After - 1
	}
	before, err := l.reversed().ids(ctx, beyond, limit+1) // the page before, from its end
	page.Previous = &ListStart{}
	if len(before) > limit {
		page.Previous.After = before[limit]
	}
	return page, ids, err
}

// reversed is the list by id in the other direction.
func (l *lister) reversed() *lister {
	back := *l
	back.opts.Descending = !l.opts.Descending
	return &back
}

// sortedPage finds the submissions of a page by values.
func (l *lister) sortedPage(ctx context.Context) (page ListPage, ids []int64, err error) {
	after, err := l.openCursor(l.opts)
	if err != nil {
		return page, nil, err
	}
	limit := l.opts.Limit
	before, next, total, err := l.sort(ctx, after)
	page.Total = total
	if l.opts.Back && after != nil {
		page.Previous = &ListStart{}
		if len(before) > limit {
			page.Previous.Cursor = l.sealCursor(l.opts, before[limit])
		}
	}
	if len(next) > limit {
		next = next[:limit]
		page.Cursor = l.sealCursor(l.opts, next[limit-1])
	}
	return page, idsOf(next), err
}

func idsOf(positions []forms.Position) []int64 {
	ids := make([]int64, len(positions))
	for i, p := range positions {
		ids[i] = p.ID
	}
	return ids
}

// sort finds the first positions beyond one, and the last ones up to it, from its own
// on, if Back is wanted: one more than the limit of each. total is how many
// submissions the list has.
func (l *lister) sort(
	ctx context.Context, at *forms.Position,
) (before, next []forms.Position, total int64, err error) {
	sorters := []*forms.Sorter{l.Form.NewSorter(*l.opts.Sort, at, l.opts.Limit+1)}
	if l.opts.Back && at != nil {
		sorters = append(sorters, l.Form.NewReverseSorter(*l.opts.Sort, *at, l.opts.Limit+1))
	}
	err = l.scan(ctx, l.query(l.opts.Username), func(sub forms.Submission) error {
		total++
		for _, s := range sorters {
			if err := s.Add(sub); err != nil {
				return err
			}
		}
		return nil
	})
	if len(sorters) > 1 {
		before = sorters[1].Positions()
	}
	return before, sorters[0].Positions(), total, err
}

// Neighbours returns the ids of the submissions before and after one in the list
// that the options select, whatever After, Limit and Cursor are. An id is 0 where there
// is none. Begin and Count do not count.
func (a *Access) Neighbours(
	ctx context.Context, opts ListOptions, sub forms.Submission,
) (before, after int64, err error) {
	opts.Limit, opts.Cursor, opts.Back = 1, "", true
	l, err := a.newLister(ctx, opts)
	if err != nil {
		return 0, 0, err
	}
	var last, next []int64
	if opts.Sort == nil {
		if next, err = l.ids(ctx, sub.ID, 1); err == nil {
			last, err = l.reversed().ids(ctx, sub.ID, 1)
		}
	} else {
		last, next, err = l.sortedNeighbours(ctx, sub)
	}
	other := func(ids []int64) int64 {
		for _, id := range ids {
			if id != sub.ID {
				return id
			}
		}
		return 0
	}
	return other(last), other(next), err
}

// sortedNeighbours may return the submission itself, if it was changed meanwhile.
func (l *lister) sortedNeighbours(ctx context.Context, sub forms.Submission) (last, next []int64, err error) {
	at, err := l.Form.NewSorter(*l.opts.Sort, nil, 0).Position(sub)
	if err != nil {
		return nil, nil, err
	}
	before, after, _, err := l.sort(ctx, &at)
	return idsOf(before), idsOf(after), err
}
