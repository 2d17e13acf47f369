package service

import (
	"context"
	"errors"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store"
)

// OwnSubmission is a submission of the caller, and the form that it belongs to.
type OwnSubmission struct {
	forms.Submission
	*Access
}

// latestBytes is how much of the caller's latest submissions is read.
const latestBytes = 256 << 10

// Latest returns the caller's latest submissions to the forms of the listed
// pages, the latest first, at most limit. It looks at the caller's last
// store.MaxLatest submissions, and leaves out forms that have become anonymous, or are known by their titles alone.
// The list is what Pages has returned for the same caller, or a part of it. What comes after latestBytes
// of entries has none.
func (s *Service) Latest(ctx context.Context, who auth.Identity, list PageList, limit int) ([]OwnSubmission, error) {
	found, err := s.opts.Store.Latest(ctx, who.Name)
	if err != nil {
		return nil, Explain(err)
	}
	byID := make(map[int64]pages.View, len(list))
	for _, page := range list {
		byID[page.ID] = page
	}
	var own []OwnSubmission
	read := 0
	for _, sub := range found {
		page, ok := byID[sub.PageID]
		if !ok || page.IsOutline || len(own) == limit {
			continue
		}
		form := page.Form(sub.FormID)
		if form == nil || form.Anonymous {
			continue
		}
		access := s.access(page, form, who)
		sub.Entries = forms.EncodeEntries(nil, nil)
		if read <= latestBytes {
			sub, err = s.opts.Store.Get(ctx, access.key(sub.ID))
		}
		read += len(sub.Entries)
		if errors.Is(err, store.ErrNotFound) { // it was deleted meanwhile
			continue
		}
		if err == nil {
			sub, err = form.Current(sub)
		}
		if err != nil {
			return nil, Explain(err)
		}
		own = append(own, OwnSubmission{sub, access})
	}
	return own, nil
}

// Mine returns the id of the caller's latest submission of the form. None is
// found on an anonymous form.
func (a *Access) Mine(ctx context.Context) (id int64, found bool, err error) {
	if a.anonymous {
		return 0, false, nil
	}
	last := store.Query{PageID: a.Form.PageID, FormID: a.Form.ID, Username: &a.user, Descending: true, Limit: 1}
	for sub, err := range a.conf.Store.Scan(ctx, last) {
		return sub.ID, err == nil, Explain(err)
	}
	return 0, false, nil
}
