package service

import (
	"context"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// maxLatestForms bounds the forms that Latest looks at: a page may have hundreds.
const maxLatestForms = 10_000

// OwnSubmission is a submission of the caller, and where it belongs.
type OwnSubmission struct {
	forms.Submission // without Entries and Files
	PageTitle        string
	Form             *forms.Form
}

// Latest returns the caller's latest submissions to the forms of the listed
// pages, the latest first: at most limit and at most store.MaxLatest. It leaves
// out anonymous forms, and looks at no more than 10,000 forms. The list is what
// Pages has returned for the same caller, or a part of it.
func (s *Service) Latest(ctx context.Context, who auth.Identity, list PageList, limit int) ([]OwnSubmission, error) {
	among := make([]store.FormKey, 0, len(list))
	byForm := make(map[store.FormKey]OwnSubmission, len(list))
	for _, page := range list {
		for _, form := range page.Forms {
			if form.Anonymous || len(among) == maxLatestForms {
				continue
			}
			key := store.FormKey{PageID: page.ID, FormID: form.ID}
			among = append(among, key)
			byForm[key] = OwnSubmission{PageTitle: page.Title, Form: form}
		}
	}
	found, err := s.store.Latest(ctx, who.Name, among, limit)
	if err != nil {
		return nil, Explain(err)
	}
	own := make([]OwnSubmission, len(found))
	for i, sub := range found {
		own[i] = byForm[store.FormKey{PageID: sub.PageID, FormID: sub.FormID}]
		own[i].Submission = sub
	}
	return own, nil
}

// Mine returns the id of the caller's latest submission of the form. None is
// found on an anonymous form.
func (a *Access) Mine(ctx context.Context) (id int64, found bool, err error) {
	if a.anonymous {
		return 0, false, nil
	}
	latest, err := a.service.store.Latest(ctx, a.user, []store.FormKey{{PageID: a.Form.PageID, FormID: a.Form.ID}}, 1)
	if err != nil || len(latest) == 0 {
		return 0, false, Explain(err)
	}
	return latest[0].ID, true, nil
}

// Submitted reports whether the form takes one submission from each person, and
// has that of the caller. It works on anonymous forms, too.
func (a *Access) Submitted(ctx context.Context) (bool, error) {
	submitted, err := a.service.store.Submitted(ctx, a.unfilled())
	return submitted, Explain(err)
}
