package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/postgres"
	"github.com/formulary/formulary/internal/store/sqlite"
)

// comparedPage is a page that is compared with a store.
type comparedPage struct {
	at      finding // names it
	blocks  []markup.Block
	source  []byte
	unclear bool // it may have more forms
}

// addPage adds a page for against: of several with one id, that which is served.
func (c *checker) addPage(at finding, page *markup.Page, source []byte) {
	if page.ID == 0 || !page.MetaRead {
		c.unread = true
		return
	}
	other, dup := c.compared[page.ID]
	if dup && !pages.Precedes(at.File, other.at.File, page.ID) {
		return
	}
	hasNoID := func(b markup.Block) bool { return b.FormID == "" }
	at.Page = page.ID
	added := comparedPage{at: at, blocks: page.Blocks}
	added.unclear = page.Unreadable || slices.ContainsFunc(page.Blocks, hasNoID)
	if len(page.Blocks) > 0 {
		added.source = source
	}
	c.compared[page.ID] = added
}

// against warns of what the pages would do to the submissions in a store.
func (c *checker) against(ctx context.Context, from location, zone *time.Location, streams Streams) error {
	compare := func(ctx context.Context, show sqlite.Progress) (err error) {
		s, err := from.open(ctx, postgres.Options{MustExist: true, ReadOnly: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		if err := refuseUnfinished(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		return c.compare(ctx, s, zone, show)
	}
	_, err := configured(0, withProgress(ctx, streams, "not all submissions were looked at", compare))
	return err
}

func (c *checker) compare(ctx context.Context, s store.Store, zone *time.Location, show sqlite.Progress) error {
	stored, err := s.CountForms(ctx, 0, 1)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(c.compared)) {
		page := c.compared[id]
		for _, block := range page.blocks {
			if block.Form == nil {
				continue
			}
			stage := fmt.Sprintf("page %d, form %s", id, block.FormID)
			found, err := reportForm(ctx, s, block.Form, zone, func(done, last int64) { show(stage, "ids", done, last) })
			if err != nil {
				return err
			}
			for _, f := range found {
				c.warn(page, block, f)
			}
		}
	}
	for _, n := range stored {
		if err := c.formGone(ctx, s, n, stored); err != nil {
			return err
		}
	}
	return nil
}

// reportForm reads the submissions of a form. It shows ids: to count submissions would take as
// long as to read them.
func reportForm(
	ctx context.Context, s store.Store, form *forms.Form, zone *time.Location, show func(done, last int64),
) ([]forms.Finding, error) {
	q, last := store.Query{PageID: form.PageID, FormID: form.ID, Descending: true, Limit: 1}, int64(0)
	if err := s.Scan(ctx, q, func(sub forms.Submission) error { last = sub.ID; return nil }); err != nil {
		return nil, err
	}
	q.Descending, q.Limit = false, 0
	report, done := forms.NewReport(form, zone), 0
	err := s.Scan(ctx, q, func(sub forms.Submission) error {
		if done++; done%10_000 == 0 {
			show(sub.ID, last)
		}
		return report.Add(sub)
	})
	return report.Findings(), err
}

// warn reports a finding at its field or at the id of the form.
func (c *checker) warn(page comparedPage, block markup.Block, f forms.Finding) {
	at := block.At
	if rank := block.Form.Index().Rank(f.At); rank >= 0 {
		at = block.FieldsAt[rank]
	}
	w := warning(page.at, f)
	w.Line, w.Column = markup.Position(page.source, at)
	w.source = &sourceLines(page.source)[w.Line-1]
	c.report(w)
}

func warning(at finding, f forms.Finding) finding {
	at.Severity, at.Code, at.Form, at.Field, at.Count, at.Of = markup.Warning, f.Code, f.FormID, f.FieldID, f.Count, f.Of
	at.Message, at.Hint = f.Message()
	return at
}

// formGone reports a form with submissions that its page does not have: at a form without
// submissions, which may be the same one with another id, or else if all pages were read.
func (c *checker) formGone(ctx context.Context, s store.Store, gone store.FormCount, stored []store.FormCount) error {
	page := c.compared[gone.PageID]
	isIt := func(b markup.Block) bool { return b.FormID == gone.FormID }
	isNew := func(b markup.Block) bool {
		return b.Form != nil && !slices.Contains(stored, store.FormCount{PageID: gone.PageID, FormID: b.FormID, Count: 1})
	}
	i := slices.IndexFunc(page.blocks, isNew)
	if page.unclear || slices.ContainsFunc(page.blocks, isIt) || i < 0 && (!c.whole || c.unread) {
		return nil
	}
	f := forms.Finding{Code: forms.CodeFormGone, FormID: gone.FormID}
	query := store.Query{PageID: gone.PageID, FormID: gone.FormID}
	err := s.Scan(ctx, query, func(forms.Submission) error { f.Count++; return nil })
	if i >= 0 {
		c.warn(page, page.blocks[i], f)
		return err
	}
	w := warning(page.at, f)
	w.Page, w.Message, w.Hint = gone.PageID, fmt.Sprintf("page %d: %s", gone.PageID, w.Message), ""
	c.report(w)
	return err
}
