// Package recent finds a user's latest submissions among many forms. There is
// no index by user alone, because it would slow down every create. So each form
// is looked up in the index by form and user.
package recent

import (
	"cmp"
	"context"
	"slices"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// batch is how many forms one read looks up: a read must be short.
const batch = 256

// Reader returns a user's latest submissions in each of the forms, at most each
// per form, in any order.
type Reader func(ctx context.Context, username string, among []store.FormKey, each int) ([]forms.Submission, error)

// Find is store.Store.Latest. The forms whose last submissions are the latest
// hold all that it returns: only of these it reads more than one row.
func (read Reader) Find(ctx context.Context, username string, among []store.FormKey, limit int) ([]forms.Submission, error) {
	limit = min(limit, store.MaxLatest)
	if username == "" || limit <= 0 {
		return nil, nil
	}
	among = distinct(among)
	if len(among) > limit {
		var last []forms.Submission
		for some := range slices.Chunk(among, batch) {
			found, err := read(ctx, username, some, 1)
			if err != nil {
				return nil, err
			}
			last = first(append(last, found...), limit)
		}
		among = among[:0]
		for _, sub := range last {
			among = append(among, store.FormKey{PageID: sub.PageID, FormID: sub.FormID})
		}
	}
	if len(among) == 0 {
		return nil, nil
	}
	found, err := read(ctx, username, among, limit)
	if err != nil {
		return nil, err
	}
	return first(found, limit), nil
}

// distinct returns a copy without duplicates.
func distinct(among []store.FormKey) []store.FormKey {
	seen := make(map[store.FormKey]bool, len(among))
	kept := make([]store.FormKey, 0, len(among))
	for _, key := range among {
		if !seen[key] {
			seen[key] = true
			kept = append(kept, key)
		}
	}
	return kept
}

// first sorts by id, the highest first, and cuts the slice at limit.
func first(subs []forms.Submission, limit int) []forms.Submission {
	slices.SortFunc(subs, func(a, b forms.Submission) int { return cmp.Compare(b.ID, a.ID) })
	return subs[:min(len(subs), limit)]
}
