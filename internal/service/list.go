package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// MaxPage is the greatest limit of a sorted list, and that of a list which tells
// where its next page begins.
const MaxPage = 1000

// ListOptions narrows and orders a list. The zero value is everything, by id.
type ListOptions struct {
	Username *string // only this submitter's
	Filter   forms.Filter

	Descending bool // by id, from the highest
	After      int64
	Limit      int

	Sort   *forms.Sort // by values instead of by id, with a Limit of at most MaxPage
	Cursor string      // ListPage.Cursor of the page before, of a sorted list

	Count bool // ListPage.Total is wanted
	Back  bool // ListPage.Previous is wanted, of a list with a limit of at most MaxPage

	Changes bool // Changed and Changer of the submissions are wanted

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
	if opts.Sort != nil {
		return l.sorted(ctx, visit)
	}
	var page ListPage
	if opts.Count {
		err := l.scan(ctx, 0, 0, func(forms.Submission) error { page.Total++; return nil })
		if err != nil {
			return err
		}
	}
	if opts.Begin != nil && 0 < opts.Limit && opts.Limit <= MaxPage {
		return l.page(ctx, page, visit)
	}
	if err := l.begin(page); err != nil {
		return err
	}
	return l.scan(ctx, opts.After, opts.Limit, visit)
}

// Summary sums up the submissions that the caller may see and the options
// select. Of the options, Username, Filter and Check count.
func (a *Access) Summary(ctx context.Context, opts ListOptions) (forms.Summary, error) {
	l, err := a.newLister(ctx, ListOptions{Username: opts.Username, Filter: opts.Filter, Check: opts.Check})
	if err != nil {
		return forms.Summary{}, err
	}
	s := a.Form.NewSummarizer(a.service.opts.Zone)
	if err := l.scan(ctx, 0, 0, s.Add); err != nil {
		return forms.Summary{}, err
	}
	return s.Summary(), nil
}

// lister is a list under way.
type lister struct {
	*Access
	opts   ListOptions
	match  *forms.Matcher // nil if there is no filter
	unread int            // bytes that may be read until the next check
}

// newLister checks the options. An id that the form does not have may be that of a
// field that has left the page: a pass over what is stored finds out.
func (a *Access) newLister(ctx context.Context, opts ListOptions) (*lister, error) {
	var invalid forms.Invalid
	if fault := opts.Filter.Check(); fault != "" {
		invalid.AddError(fault)
	}
	if opts.Sort != nil && (opts.Limit < 1 || opts.Limit > MaxPage) {
		invalid.AddError(fmt.Sprintf("sort needs a limit of at most %d", MaxPage))
	}
	if opts.Cursor != "" && opts.Sort == nil {
		invalid.AddError("cursor needs sort")
	}
	if err := invalid.Err(); err != nil {
		return nil, err
	}
	l := &lister{Access: a, opts: opts, unread: checkBytes}
	if err := l.findColumns(ctx); err != nil {
		return nil, err
	}
	if !opts.Filter.IsZero() {
		l.match = a.Form.NewMatcher(opts.Filter, a.service.opts.Zone)
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
	err := l.service.opts.Store.Scan(ctx, q, func(sub forms.Submission) error {
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
	const message = "%s: the form has no such field, and none is stored"
	for _, r := range l.opts.Filter.Rules {
		if slices.Contains(ids, r.FieldID) {
			invalid.AddError(fmt.Sprintf(message, "filter["+forms.Clip(r.FieldID)+"]"))
		}
	}
	if l.opts.Sort != nil && slices.Contains(ids, l.opts.Sort.ID) {
		invalid.AddError(fmt.Sprintf(message, "sort="+forms.Clip(l.opts.Sort.ID)))
	}
	return invalid
}

func (l *lister) begin(p ListPage) error {
	if l.opts.Begin == nil {
		return nil
	}
	return l.opts.Begin(p)
}

// query selects what the caller may see, of one submitter or of all.
func (l *lister) query(username *string) store.Query {
	if !l.Rights.SeeAll {
		mine := l.user
		if username != nil && *username != mine {
			mine = "" // matches no row; the store is asked anyway, so that an outage is an error and not an empty list
		}
		username = &mine
	}
	changes := l.opts.Changes || slices.Contains(l.opts.Filter.IDs(), forms.ColumnChanged) || l.opts.Sort != nil && l.opts.Sort.ID == forms.ColumnChanged
	return store.Query{PageID: l.Form.PageID, FormID: l.Form.ID, Username: username, Descending: l.opts.Descending, Changes: changes}
}

// scan visits what the options select beyond an id, at most limit submissions if
// that is not 0.
func (l *lister) scan(ctx context.Context, after int64, limit int, visit func(forms.Submission) error) error {
	q := l.query(l.opts.Username)
	q.After = after
	if l.match == nil {
		q.Limit = limit
	}
	visited := 0
	err := l.service.opts.Store.Scan(ctx, q, func(sub forms.Submission) error {
		if selected, err := l.selects(sub); err != nil || !selected {
			return err
		}
		if err := visit(sub); err != nil {
			return err
		}
		if visited++; l.match != nil && visited == limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
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

// sorted lists a page by values. It finds the positions of its submissions
// first, and reads each of them again to visit it, so that it never holds more
// than one.
func (l *lister) sorted(ctx context.Context, visit func(forms.Submission) error) error {
	after, err := l.openCursor(l.opts)
	if err != nil {
		return err
	}
	var page ListPage
	sorter := l.Form.NewSorter(*l.opts.Sort, after, l.opts.Limit+1)
	var before *forms.Sorter // of the page before, and the one submission that it comes after
	if l.opts.Back && after != nil {
		before = l.Form.NewReverseSorter(*l.opts.Sort, *after, l.opts.Limit+1)
	}
	err = l.scan(ctx, 0, 0, func(sub forms.Submission) error {
		page.Total++
		if before != nil {
			if err := before.Add(sub); err != nil {
				return err
			}
		}
		return sorter.Add(sub)
	})
	if err != nil {
		return err
	}
	if before != nil {
		page.Previous = &ListStart{}
		if p := before.Positions(); len(p) > l.opts.Limit {
			page.Previous.Cursor = l.sealCursor(l.opts, p[l.opts.Limit])
		}
	}
	positions := sorter.Positions()
	if len(positions) > l.opts.Limit {
		positions = positions[:l.opts.Limit]
		page.Cursor = l.sealCursor(l.opts, positions[len(positions)-1])
	}
	if err := l.begin(page); err != nil {
		return err
	}
	for _, p := range positions {
		if err := l.revisit(ctx, p.ID, visit); err != nil {
			return err
		}
	}
	return nil
}

// revisit visits a submission unless it was deleted meanwhile, or was changed so
// that the filter no longer selects it.
func (l *lister) revisit(ctx context.Context, id int64, visit func(forms.Submission) error) error {
	sub, err := l.service.opts.Store.Get(ctx, l.key(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return Explain(err)
	}
	if selected, err := l.selects(sub); err != nil || !selected {
		return err
	}
	return visit(sub)
}

// selects reports whether the filter selects a submission that was just read.
func (l *lister) selects(sub forms.Submission) (bool, error) {
	if err := l.check(sub); err != nil || l.match == nil {
		return err == nil, err
	}
	return l.match.Match(sub)
}

// page lists a page by id of which Begin is told where the next one begins. It
// reads the ids first, and then visits exactly these submissions: the next page
// begins where this one ends, whatever is written meanwhile.
func (l *lister) page(ctx context.Context, page ListPage, visit func(forms.Submission) error) error {
	var ids []int64
	err := l.scan(ctx, l.opts.After, l.opts.Limit+1, func(sub forms.Submission) error {
		ids = append(ids, sub.ID)
		return nil
	})
	if err != nil {
		return err
	}
	if len(ids) > l.opts.Limit {
		ids = ids[:l.opts.Limit]
		page.After = ids[len(ids)-1]
	}
	if l.opts.Back && l.opts.After > 0 {
		if page.Previous, err = l.previous(ctx); err != nil {
			return err
		}
	}
	if err := l.begin(page); err != nil {
		return err
	}
	if len(ids) == 0 {
		return nil
	}
	last := ids[len(ids)-1]
	return l.scan(ctx, l.opts.After, 0, func(sub forms.Submission) error {
		if slices.Contains(ids, sub.ID) {
			if err := visit(sub); err != nil {
				return err
			}
		}
		if sub.ID == last || (sub.ID > last) != l.opts.Descending {
			return errEnough
		}
		return nil
	})
}

// reversed is the list by id in the other direction.
func (l *lister) reversed() *lister {
	back := *l
	back.opts.Descending = !l.opts.Descending
	return &back
}

// previous finds where the page before one by id begins. It reads that page from its
// end.
func (l *lister) previous(ctx context.Context) (*ListStart, error) {
	back, found, start := l.reversed(), 0, &ListStart{}
	beyond := l.opts.After + 1 // so that After itself is found, too
	if l.opts.Descending {
		beyond = l.opts.After - 1
	}
	err := back.scan(ctx, beyond, l.opts.Limit+1, func(sub forms.Submission) error {
		if found++; found > l.opts.Limit {
			start.After = sub.ID
		}
		return nil
	})
	return start, err
}

// Neighbours returns the ids of the submissions before and after one in the list
// that the options select, whatever After, Limit and Cursor are. An id is 0 where there
// is none. Begin and Count do not count.
func (a *Access) Neighbours(ctx context.Context, opts ListOptions, sub forms.Submission) (before, after int64, err error) {
	opts.After, opts.Limit, opts.Cursor, opts.Begin, opts.Count = 0, 1, "", nil, false
	l, err := a.newLister(ctx, opts)
	if err != nil {
		return 0, 0, err
	}
	if opts.Sort != nil {
		return l.sortedNeighbours(ctx, sub)
	}
	err = l.scan(ctx, sub.ID, 1, func(next forms.Submission) error { after = next.ID; return nil })
	if err == nil {
		err = l.reversed().scan(ctx, sub.ID, 1, func(last forms.Submission) error { before = last.ID; return nil })
	}
	return before, after, err
}

func (l *lister) sortedNeighbours(ctx context.Context, sub forms.Submission) (before, after int64, err error) {
	position, err := l.Form.NewSorter(*l.opts.Sort, nil, 0).Position(sub)
	if err != nil {
		return 0, 0, err
	}
	next := l.Form.NewSorter(*l.opts.Sort, &position, 1)
	last := l.Form.NewReverseSorter(*l.opts.Sort, position, 1)
	err = l.scan(ctx, 0, 0, func(s forms.Submission) error {
		if s.ID == sub.ID {
			return nil
		}
		if err := last.Add(s); err != nil {
			return err
		}
		return next.Add(s)
	})
	for _, p := range next.Positions() {
		after = p.ID
	}
	for _, p := range last.Positions() {
		before = p.ID
	}
	return before, after, err
}
