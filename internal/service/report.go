package service

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store"
)

// Bounds of a report on the author's page.
const (
	maxReported   = 100_000 // submissions
	maxReportTime = time.Second
)

// Reporter says what forms would do to the submissions in a store.
type Reporter struct {
	Store store.Store
	Now   time.Time // in the zone of the service
	Limit int       // of submissions of a form: it looks at the newest, for maxReportTime; 0 for all
	// Show, if not nil, is told how many ids were passed. To count submissions would take as long as to read them.
	Show func(done, last int64)
}

// Report returns what a form would do, and how many of its submissions it has looked at. If there
// are none, it returns the lost forms of the page: one of them may have been this one.
func (r Reporter) Report(
	ctx context.Context, form *forms.Form, mayHave func(formID string) bool,
) (found []forms.Finding, n int, err error) {
	asked := func(id int64) (*forms.Form, error) {
		return askedForm(ctx, r.Store, store.Key{PageID: form.PageID, FormID: form.ID, ID: id}, form)
	}
	report := forms.NewReport(form, r.Now, asked)
	begun, last := time.Now(), int64(0)
	query := store.Query{PageID: form.PageID, FormID: form.ID, Descending: true, Limit: r.Limit}
	for s, err := range r.Store.Scan(ctx, query) {
		if err == nil {
			err = report.Add(s)
		}
		if err != nil {
			return nil, n, err
		}
		last = max(last, s.ID)
		if n++; n%1000 == 0 && r.Show != nil {
			r.Show(last-s.ID, last)
		}
		if r.Limit > 0 && time.Since(begun) > maxReportTime {
			break
		}
	}
	if n == 0 {
		found, err = r.Lost(ctx, form.PageID, mayHave)
		return found, 0, err
	}
	return report.Findings(), n, nil
}

// Lost returns the forms that have submissions, but are not on the page.
func (r Reporter) Lost(
	ctx context.Context, pageID int64, mayHave func(formID string) bool,
) (lost []forms.Finding, err error) {
	stored, err := r.Store.CountForms(ctx, pageID, cmp.Or(r.Limit, math.MaxInt))
	for _, s := range stored {
		if !mayHave(s.FormID) {
			lost = append(lost, forms.Finding{Code: forms.CodeFormGone, FormID: s.FormID, Count: s.Count, Of: r.Limit})
		}
	}
	return lost, err
}

// Findings returns warnings for editors, and none for others: what a new keep of the form will delete, how many of the
// oldest submissions have names although the form is anonymous, or have none although it is not, or, if the form has no
// submissions, the lost forms of the page, since its id may have been changed. Submissions are counted up to
// store.MaxLimit.
func (a *Access) Findings(ctx context.Context) (found []forms.Finding, err error) {
	if !a.Rights.Edit {
		return nil, nil
	}
	s := a.conf.Store
	named, all, err := s.CountNamed(ctx, a.Form.PageID, a.Form.ID)
	before := forms.Finding{
		Code: forms.CodeAnonymousBefore, FormID: a.Form.ID, Count: all - named, Again: a.Form.OneSubmission,
	}
	if a.Form.Anonymous {
		before.Code, before.Count = forms.CodeNamedBefore, named
	}
	if all == store.MaxLimit {
		before.Of = before.Count // there may be more
	}
	switch {
	case err == nil && all == 0:
		mayHave := func(id string) bool { return a.page.Form(id) != nil || markup.MayHave(a.page.Blocks, id) }
		found, err = Reporter{Store: s, Limit: store.MaxLimit}.Lost(ctx, a.Form.PageID, mayHave)
	case err == nil && a.Form.Keep != forms.Period{}:
		found, err = a.expiring(ctx)
	}
	if before.Count > 0 {
		found = append(found, before)
	}
	return found, Explain(err)
}

// expiring returns what a new or shorter keep will delete when store.Grace has passed.
func (a *Access) expiring(ctx context.Context) ([]forms.Finding, error) {
	opts, zone := a.conf, a.conf.Zone
	keep, err := opts.Store.Keep(ctx, a.Form.PageID, a.Form.ID)
	if now := a.service.Now(); err == nil && keep.Period != a.Form.Keep { // it is not stored yet
		keep = store.Keep{Period: a.Form.Keep, Since: now, Before: keep.InForce(now), Now: now}
	}
	if err != nil || keep.InForce(keep.Now.In(zone)) == keep.Period {
		return nil, err
	}
	found := forms.Finding{
		Code: forms.CodeOverKeep, FormID: a.Form.ID, Of: store.MaxLimit,
		Reason: keep.Period.String(), After: keep.Since.Add(store.Grace),
	}
	oldest := keep.Period.Before(found.After.In(zone))
	all := store.Query{PageID: a.Form.PageID, FormID: a.Form.ID, Limit: store.MaxLimit}
	for s, err := range opts.Store.Scan(ctx, all) {
		if err != nil {
			return nil, err
		}
		if s.Created.Before(oldest) {
			found.Count++
		}
	}
	if found.Count == 0 {
		return nil, nil
	}
	return []forms.Finding{found}, nil
}

// Block is a form as it is written on its page, for editors. It may be broken.
type Block struct {
	Text    string
	Lang    string         // of the page
	others  []markup.Block // of the page
	formID  string         // "" if it can't be read
	page    pages.View
	who     auth.Identity
	service *Service
}

// Tag identifies the text.
func (b *Block) Tag() string { return markup.Tag(b.Text) }

// PageTitle is what people call the form if it has no title.
func (b *Block) PageTitle() string { return b.page.Title }

// Title is what people call the form on the page.
func (b *Block) Title() string {
	for _, form := range b.page.Forms {
		if form.ID == b.formID {
			return form.Title
		}
	}
	return b.PageTitle()
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
			others := slices.Delete(slices.Clone(page.Blocks), i, i+1)
			return &Block{page.Blocks[i].Text, page.Lang, others, id, page, who, s}, nil
		}
	}
	return nil, noSuchForm(pageID)
}

// NewBlock is a block for one more form on a page.
func (s *Service) NewBlock(ctx context.Context, who auth.Identity, pageID int64) (*Block, error) {
	page, err := s.page(ctx, who, pageID)
	if err != nil {
		return nil, err
	}
	return &Block{Lang: page.Lang, page: page, who: who, service: s}, nil
}

// Report returns what a form in place of the block would do to the newest submissions of the form,
// and how many it has looked at.
func (b *Block) Report(ctx context.Context, form *forms.Form) ([]forms.Finding, int, error) {
	reporter := Reporter{Store: b.service.opts.Store, Now: b.service.Now(), Limit: maxReported}
	mayHave := func(id string) bool { return id == form.ID || markup.MayHave(b.others, id) }
	found, n, err := reporter.Report(ctx, form, mayHave)
	return found, n, Explain(err)
}
