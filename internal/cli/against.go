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
	"github.com/formulary/formulary/internal/service"
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

	reported map[string]bool // ids of forms for which something was reported
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
	added := comparedPage{at: at, blocks: page.Blocks, reported: map[string]bool{}}
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
	reporter := service.Reporter{Store: s, Zone: zone}
	for _, id := range slices.Sorted(maps.Keys(c.compared)) {
		page := c.compared[id]
		for _, block := range page.blocks {
			if block.Form == nil {
				continue
			}
			stage := fmt.Sprintf("page %d, form %s", id, block.FormID)
			reporter.Show = func(done, last int64) { show(stage, "ids", done, last) }
			found, _, err := reporter.Report(ctx, block.Form, page.has)
			if err != nil {
				return err
			}
			for _, f := range found {
				c.warn(page, block, f)
			}
		}
	}
	for _, form := range stored {
		if err := c.formGone(ctx, reporter, form); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether the page has a form, or may have it, or it was found to be missing.
func (p comparedPage) has(formID string) bool {
	isIt := func(b markup.Block) bool { return b.FormID == formID }
	return p.unclear || p.reported[formID] || slices.ContainsFunc(p.blocks, isIt)
}

// warn reports a finding at its field or at the id of the form.
func (c *checker) warn(page comparedPage, block markup.Block, f forms.Finding) {
	page.reported[f.FormID] = true
	w := warning(page.at, f)
	w.Line, w.Column = block.Position(page.source, f.At)
	w.source = &sourceLines(page.source)[w.Line-1]
	c.report(w)
}

func warning(at finding, f forms.Finding) finding {
	at.Severity, at.Code, at.Form, at.Field, at.Count, at.Of = markup.Warning, f.Code, f.FormID, f.FieldID, f.Count, f.Of
	at.Message, at.Hint = f.Message()
	return at
}

// formGone reports a form with submissions that no page has, if all pages were read.
func (c *checker) formGone(ctx context.Context, r service.Reporter, form store.FormCount) error {
	page := c.compared[form.PageID]
	if !c.whole || c.unread || page.has(form.FormID) {
		return nil
	}
	f, err := r.Lost(ctx, form.PageID, form.FormID)
	w := warning(page.at, f)
	w.Page, w.Message, w.Hint = form.PageID, fmt.Sprintf("page %d: %s", form.PageID, w.Message), ""
	c.report(w)
	return err
}
