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
	firstTurn = 128 // submissions
	lastTurn  = 4096
	turnBytes = 256 << 10
)

// CountWaiting counts what waits in forms, the newest submissions first, until more is false. A form
// without a decision, or that the caller may not edit, has an exact 0.
func CountWaiting(ctx context.Context, list []*Access, more func() bool) ([]Waiting, error) {
	counts := make([]Waiting, len(list))
	unfinished := false
	for i, a := range list {
		w := &counts[i]
		rule, ok := a.Form.Undecided()
		if w.Exact = !ok || !a.Rights.Edit; !w.Exact {
			w.Rule, w.access, unfinished = rule, a, true
			w.match = a.Form.NewMatcher(forms.Filter{Rules: []forms.Rule{rule}}, a.service.opts.Zone)
		}
	}
	for turn := firstTurn; unfinished; turn = min(2*turn, lastTurn) {
		unfinished = false
		for i := range counts {
			w := &counts[i]
			if w.Exact {
				continue
			}
			if !more() {
				return counts, nil
			}
			if err := w.look(ctx, turn); err != nil {
				return nil, err
			}
			unfinished = unfinished || !w.Exact
		}
	}
	return counts, nil
}

// look looks at the next submissions, at most limit.
func (w *Waiting) look(ctx context.Context, limit int) error {
	seen, size := 0, 0
	opts := ListOptions{Descending: true, After: w.after, Limit: limit}
	err := w.access.List(ctx, opts, func(sub forms.Submission) error {
		seen, size, w.after = seen+1, size+len(sub.Entries), sub.ID
		waits, err := w.match.Match(sub)
		switch {
		case err != nil:
			return err
		case waits:
			w.Count++
		}
		if size > turnBytes {
			return errEnough
		}
		return nil
	})
	w.Exact = err == nil && seen < limit && size <= turnBytes
	return err
}
