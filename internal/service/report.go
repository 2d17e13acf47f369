package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/store"
)

// Bounds of a report on the author's page.
const (
	maxReported   = 100_000 // submissions
	maxReportTime = time.Second
)

// Reporter says what forms would do to the submissions in a store.
type Reporter struct {
	Store  store.Store
	Zone   *time.Location
	Limit  int           // of submissions of a form, of which it looks at the newest; 0 for all
	Within time.Duration // it looks at no more after this time; 0 for no limit
	// Show, if not nil, is told how many ids were passed. To count submissions would take as long as to read them.
	Show func(done, last int64)
}

// Report returns what a form would do, and how many of its submissions it has looked at. If there
// are none, it also returns forms that have submissions, but are not on the page: one of them may
// have been this one.
func (r Reporter) Report(
	ctx context.Context, form *forms.Form, isOnPage func(formID string) bool,
) ([]forms.Finding, int, error) {
	asked := func(id int64) (*forms.Form, error) {
		return askedForm(ctx, r.Store, store.Key{PageID: form.PageID, FormID: form.ID, ID: id}, form)
	}
	report := forms.NewReport(form, r.Zone, asked)
	begun, last, n := time.Now(), int64(0), 0
	query := store.Query{PageID: form.PageID, FormID: form.ID, Descending: true, Limit: r.Limit}
	err := r.Store.Scan(ctx, query, func(s forms.Submission) error {
		last = max(last, s.ID)
		if n++; n%1000 == 0 {
			if r.Within > 0 && time.Since(begun) > r.Within {
				return errEnough
			}
			if r.Show != nil {
				r.Show(last-s.ID, last)
			}
		}
		return report.Add(s)
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if n > 0 || err != nil {
		return report.Findings(), n, err
	}
	stored, err := r.Store.CountForms(ctx, form.PageID, 1)
	stored = slices.DeleteFunc(stored, func(s FormCount) bool { return isOnPage(s.FormID) })
	var found []forms.Finding
	for _, s := range stored {
		lost, countErr := r.Lost(ctx, s.PageID, s.FormID)
		found, err = append(found, lost), errors.Join(err, countErr)
	}
	return found, 0, err
}

// Lost says how many submissions a form has that is not on its page.
func (r Reporter) Lost(ctx context.Context, pageID int64, formID string) (forms.Finding, error) {
	f := forms.Finding{Code: forms.CodeFormGone, FormID: formID}
	query := store.Query{PageID: pageID, FormID: formID, Limit: r.Limit}
	err := r.Store.Scan(ctx, query, func(forms.Submission) error { f.Count++; return nil })
	return f, err
}

// Block is a form as it is written on its page, for editors. It may be broken.
type Block struct {
	Text    string
	others  []string // ids of the other forms of the page
	service *Service
}

// Block returns a form as it is written on its page.
func (s *Service) Block(ctx context.Context, who auth.Identity, pageID int64, formID string) (*Block, error) {
	page, err := s.page(ctx, who, pageID)
	if err != nil {
		return nil, err
	}
	if !page.Rights.Edit {
		return nil, NewError(Forbidden, forms.Say("Only editors of this page may see how its forms are written."))
	}
	for _, id := range []string{formID, ""} { // what is broken may be the id
		hasID := func(b markup.Block) bool { return b.FormID == id && b.Text != "" }
		if i := slices.IndexFunc(page.Blocks, hasID); i >= 0 {
			block := &Block{Text: page.Blocks[i].Text, service: s}
			for _, b := range slices.Delete(slices.Clone(page.Blocks), i, i+1) {
				block.others = append(block.others, b.FormID)
			}
			return block, nil
		}
	}
	return nil, noSuchForm(pageID)
}

// Report returns what a form in place of the block would do to the newest submissions of the form,
// and how many it has looked at.
func (b *Block) Report(ctx context.Context, form *forms.Form) ([]forms.Finding, int, error) {
	opts := b.service.opts
	reporter := Reporter{Store: opts.Store, Zone: opts.Zone, Limit: maxReported, Within: maxReportTime}
	isOnPage := func(id string) bool { return id == form.ID || slices.Contains(b.others, id) }
	found, n, err := reporter.Report(ctx, form, isOnPage)
	return found, n, Explain(err)
}
