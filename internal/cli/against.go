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
	at         finding // names it
	blocks     []markup.Block
	unreadable bool
	source     []byte

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
	if page.Blocks == nil {
		source = nil // it is not needed
	}
	at.Page = page.ID
	c.compared[page.ID] = comparedPage{at, page.Blocks, page.Unreadable, source, map[string]bool{}}
}

// against warns of what the pages would do to the submissions in a store.
func (c *checker) against(ctx context.Context, from location, zone *time.Location, streams Streams) error {
	compare := func(ctx context.Context, show sqlite.Progress) (err error) {
		s, err := from.open(ctx, postgres.Options{MustExist: true, ReadOnly: true}, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		return c.compare(ctx, s, zone, show)
	}
	_, err := configured(0, withProgress(ctx, streams, "not all submissions were looked at", compare))
	return err
}

func (c *checker) compare(ctx context.Context, s store.Store, zone *time.Location, show sqlite.Progress) error {
	reporter := service.Reporter{Store: s, Now: time.Now().In(zone)}
	for _, id := range slices.Sorted(maps.Keys(c.compared)) {
		page := c.compared[id]
		for _, block := range page.blocks {
			if block.Form == nil {
				continue
			}
			stage := fmt.Sprintf("page %d, form %s", id, block.FormID)
			reporter.Show = func(done, last int64) { show(stage, "ids", done, last) }
			found, _, err := reporter.Report(ctx, block.Form, page.mayHave)
			if err != nil {
				return err
			}
			for _, f := range found {
				c.warn(page, block, f)
			}
		}
	}
	if !c.whole || c.unread {
		return nil
	}
	return c.formsGone(ctx, reporter)
}

// mayHave reports whether the page has a form, or may have it, or it was found to be missing.
func (p comparedPage) mayHave(formID string) bool {
	return p.unreadable || p.reported[formID] || markup.MayHave(p.blocks, formID)
}

// warn reports a finding at its field or at the id of the form.
func (c *checker) warn(page comparedPage, block markup.Block, f forms.Finding) {
	page.reported[f.FormID] = true
	w := warning(page.at, f)
	w.Line, w.Column = block.Position(page.source, f)
	w.source = &sourceLines(page.source)[w.Line-1]
	c.report(w)
}

func warning(at finding, f forms.Finding) finding {
	at.Severity, at.Code, at.Form, at.Field, at.Count, at.Of = markup.Warning, f.Code, f.FormID, f.FieldID, f.Count, f.Of
	at.Message, at.Hint = f.Message()
	return at
}

// formsGone reports forms with submissions that no page has.
func (c *checker) formsGone(ctx context.Context, r service.Reporter) error {
	stored, err := r.Store.CountForms(ctx, 0, 1)
	for _, form := range stored {
		page := c.compared[form.PageID]
		if page.mayHave(form.FormID) {
			continue
		}
		lost, err := r.Lost(ctx, form.PageID, func(id string) bool { return id != form.FormID })
		if err != nil {
			return err
		}
		for _, f := range lost {
			w := warning(page.at, f)
			w.Page, w.Message, w.Hint = form.PageID, fmt.Sprintf("page %d: %s", form.PageID, w.Message), ""
			c.report(w)
		}
	}
	return err
}
