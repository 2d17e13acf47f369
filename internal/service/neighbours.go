package service

import (
	"context"

	"github.com/formulary/formulary/internal/forms"
)

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
	note := func(id *int64) func(forms.Submission) error {
		return func(s forms.Submission) error { *id = s.ID; return nil }
	}
	if err := l.scan(ctx, sub.ID, 1, note(&after)); err != nil {
		return 0, 0, err
	}
	err = l.reversed().scan(ctx, sub.ID, 1, note(&before))
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
