package query

import "github.com/formulary/formulary/internal/forms"

// ids returns the ids of the first submissions of the list by id beyond one, in either direction, at
// most limit. It is never nil.
func (q *question) ids(after int64, limit int, descending bool) ([]int64, error) {
	ids := []int64{}
	r := q.all()
	r.After, r.Limit, r.Descending, r.Settled = after, limit, descending, q.Follow
	for sub, err := range q.rows(r) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, sub.ID)
	}
	return ids, nil
}

// page finds the submissions of a page by id. The list has exactly these: the next
// page begins where this one ends, whatever is written meanwhile.
func (q *question) page() (page Page, ids []int64, err error) {
	limit, start := q.Limit, q.After
	if ids, err = q.ids(start, limit+1, q.Descending); err != nil {
		return page, nil, err
	}
	page.More = q.more
	if len(ids) > limit {
		ids, page.More = ids[:limit], true
	}
	if page.More {
		page.After = start
		if len(ids) > 0 {
			page.After = ids[len(ids)-1]
		}
	}
	if !q.Back || start == 0 {
		return page, ids, nil
	}
	beyond := start + 1 // so that After itself is found, too
	if q.Descending {
		beyond = start - 1
	}
	before, err := q.ids(beyond, limit+1, !q.Descending) // the page before, from its end
	page.Previous = &Start{}
	if len(before) > limit {
		page.Previous.After = before[limit]
	}
	return page, ids, err
}

// sortedPage finds the submissions of a page by values.
func (q *question) sortedPage() (page Page, ids []int64, err error) {
	after, err := q.openCursor()
	if err != nil {
		return page, nil, err
	}
	limit := q.Limit
	before, next, total, err := q.sort(after)
	page.Total = total
	if q.Back && after != nil {
		page.Previous = &Start{}
		if len(before) > limit {
			page.Previous.Cursor = q.sealCursor(before[limit])
		}
	}
	if len(next) > limit {
		next = next[:limit]
		page.Cursor = q.sealCursor(next[limit-1])
	}
	return page, idsOf(next), err
}

func idsOf(positions []Position) []int64 {
	ids := make([]int64, len(positions))
	for i, p := range positions {
		ids[i] = p.ID
	}
	return ids
}

// sort finds the first positions beyond one, and the last ones up to it, from its own
// on, if Back is wanted: one more than the limit of each. total is how many
// submissions the list has.
func (q *question) sort(at *Position) (before, next []Position, total int64, err error) {
	limit := q.Limit + 1
	sorters := []*sorter{q.newSorter(at, limit, false)}
	if q.Back && at != nil {
		sorters = append(sorters, q.newSorter(at, limit, true))
	}
	for sub, err := range q.rows(q.all()) {
		for _, s := range sorters {
			if err == nil {
				err = s.Add(sub)
			}
		}
		if err != nil {
			return nil, nil, 0, err
		}
		total++
	}
	if len(sorters) > 1 {
		before = sorters[1].Positions()
	}
	return before, sorters[0].Positions(), total, nil
}

func (q *question) sortedNeighbours(sub forms.Submission) (last, next []int64, err error) {
	at, err := q.newSorter(nil, 0, false).Position(sub)
	if err != nil {
		return nil, nil, err
	}
	before, after, _, err := q.sort(&at)
	return idsOf(before), idsOf(after), err
}
