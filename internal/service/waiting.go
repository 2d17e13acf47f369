package service

import (
	"context"

	"github.com/formulary/formulary/internal/forms"
)

// Waiting is how many submissions of a form wait for its editors.
type Waiting struct {
	Rule  forms.Rule // that holds for them
	Count int
	Exact bool // otherwise there may be more

	access *Access
	match  *forms.Matcher
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
			match := a.Form.NewMatcher(forms.Filter{Rules: []forms.Rule{rule}}, a.conf.Zone)
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
	opts := ListOptions{Descending: true, After: w.after, Limit: turnRows}
	err := w.access.List(ctx, opts, func(sub forms.Submission) error {
		rows, size, w.after = rows+1, size+len(sub.Entries), sub.ID
		waits, err := w.match.Match(sub)
		if waits {
			w.Count++
		}
		if err == nil && size > turnBytes {
			err = errEnough
		}
		return err
	})
	w.Exact = rows < turnRows && size <= turnBytes
	return err
}
