package service

import (
	"context"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
)

// Waiting is how many submissions of a form wait for its editors.
type Waiting struct {
	Rule  forms.Rule // that holds for them
	Count int
	Exact bool // otherwise there may be more

	access *Access
	match  *query.Matcher
	after  int64 // id of the last submission that was looked at
}

// Forms take turns to be looked at, so that a large one leaves time for the others.
const (
	turnRows  = 256 // submissions
	turnBytes = 256 << 10
)

// CountWaiting counts what waits in forms, the newest submissions first, until more is false. A form
// without a decision, or that the caller may not edit, has an exact 0.
func CountWaiting(ctx context.Context, list []*Access, more func() bool) ([]Waiting, error) {
	counts := make([]Waiting, len(list))
	var queue []*Waiting
	for i, a := range list {
		if rule, ok := a.Form.Undecided(); ok && a.Rights.Edit {
			match := query.NewMatcher(a.Form, query.Filter{Rules: []forms.Rule{rule}}, a.conf.Zone)
			counts[i] = Waiting{Rule: rule, access: a, match: match}
			queue = append(queue, &counts[i])
		} else {
			counts[i].Exact = true
		}
	}
	for len(queue) > 0 && more() {
		w := queue[0]
		if err := w.look(ctx); err != nil {
			return nil, err
		}
		if queue = queue[1:]; !w.Exact {
			queue = append(queue, w)
		}
	}
	return counts, nil
}

// look looks at the submissions of one turn.
func (w *Waiting) look(ctx context.Context) error {
	rows, size := 0, 0
	turn := query.Range{Descending: true, After: w.after, Limit: turnRows}
	for sub, err := range w.access.Submissions(ctx, nil).Scan(turn) {
		waits := false
		if err == nil {
			waits, err = w.match.Match(sub)
		}
		if err != nil {
			return err
		}
		if waits {
			w.Count++
		}
		rows, size, w.after = rows+1, size+len(sub.Entries), sub.ID
		if size > turnBytes {
			break
		}
	}
	w.Exact = rows < turnRows && size <= turnBytes
	return nil
}
