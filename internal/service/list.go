package service

import (
	"context"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/store"
)

const (
	checkBytes = 256 << 10 // how much is read until the next check
	rowBytes   = 64        // what a submission counts beside its entries
)

// Submissions answers questions about the submissions of the form that the caller may see. Unless it is nil, check is
// called now and then while they are read, also if a question selects none of them. An error of check ends the list.
func (a *Access) Submissions(ctx context.Context, check func() error) query.Source {
	from := query.Source{Form: a.Form, Zone: a.conf.Zone, Cursors: a.service.cursors}
	if !a.Rights.SeeAll { // all others see the same
		from.Reader = a.user
	}
	from.Scan = func(r query.Range) query.Rows {
		r.PageID, r.FormID = a.Form.PageID, a.Form.ID
		if !a.Rights.SeeAll {
			mine := a.user
			if r.Username != nil && *r.Username != mine {
				mine = "" // matches no row; the store is asked anyway, so that an outage is an error and not an empty list
			}
			r.Username = &mine
		}
		return a.checked(a.conf.Store.Scan(ctx, store.Query(r)), check)
	}
	return from
}

// checked returns rows with the ids and values that the form has now.
func (a *Access) checked(rows query.Rows, check func() error) query.Rows {
	return func(yield func(forms.Submission, error) bool) {
		unread := checkBytes
		for sub, err := range rows {
			if unread -= len(sub.Entries) + rowBytes; err == nil && unread < 0 && check != nil {
				unread, err = checkBytes, check()
			}
			if err == nil {
				sub, err = a.Form.Current(sub)
			}
			if err != nil {
				err = Explain(err)
			}
			if !yield(sub, err) || err != nil {
				return
			}
		}
	}
}
