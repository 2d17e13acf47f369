package pages

import (
	"slices"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// maxDiagnostics bounds what a page keeps of what is wrong with it. Nobody reads
// more, and formulary check lists all.
const maxDiagnostics = 50

// renew makes the page that follows old, which may be nil: what is broken now
// keeps its last good definition. Permissions that can be read apply at once,
// whatever is wrong with the rest of the page.
func renew(old *Page, parsed *markup.Page, title string) *Page {
	page := &Page{
		ID: parsed.ID, Title: title, Text: parsed.Text,
		Blocks: parsed.Blocks, Lang: parsed.Meta.Lang, Readers: parsed.Meta.Edit, meta: parsed.Meta,
		Diagnostics: slices.Clone(parsed.Diagnostics[:min(len(parsed.Diagnostics), maxDiagnostics)]),
	}
	if parsed.Meta.ResultsForViewers { // see SeeAll in rightsOf
		page.Readers = nil
	}
	if parsed.Unreadable {
		if old == nil {
			return nil
		}
		if !parsed.MetaRead {
			same := *old
			same.Diagnostics = page.Diagnostics
			return &same
		}
		page.Forms, page.Text = old.Forms, old.Text
		return page
	}
	if old == nil {
		old = &Page{}
	}
	var missing []*forms.Form
	room := markup.MaxPageDefinitionBytes
	for _, b := range parsed.Blocks {
		switch {
		case b.Form != nil:
			page.Forms = append(page.Forms, b.Form)
		case b.FormID == "":
			missing = old.Forms // each of them may be the one in this block
		default:
			page.keep(old.Form(b.FormID), &room)
		}
	}
	for _, f := range missing {
		page.keep(f, &room)
	}
	return page
}

// keep adds a form that the page does not have. What is kept is bounded like what
// a page may hold: edits that break ever new blocks must not make the page grow
// without end.
func (p *Page) keep(f *forms.Form, room *int) {
	if f == nil || p.Form(f.ID) != nil || len(p.Forms) >= 2*markup.MaxForms {
		return
	}
	if size := markup.DefinitionSize(f); size <= *room {
		*room -= size
		p.Forms = append(p.Forms, f)
	}
}
