package pages

import (
	"cmp"
	"slices"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// renew makes the page that follows old, which may be nil: what is broken now
// keeps its last good definition. Permissions that can be read apply at once,
// whatever is wrong with the rest of the page. name is the title of a page that
// does not say one.
func renew(old *Page, parsed *markup.Page, name string) *Page {
	page := &Page{ID: parsed.ID, Title: cmp.Or(strings.TrimSpace(parsed.Meta.Title), name), Text: parsed.Text, meta: parsed.Meta}
	if parsed.Unreadable {
		if old == nil || !parsed.MetaRead {
			return old
		}
		page.Forms, page.Text, page.nameless, page.kept = old.Forms, old.Text, old.nameless, old.kept
		return page
	}
	for _, b := range parsed.Blocks {
		switch {
		case b.Form != nil:
			page.Forms = append(page.Forms, b.Form)
		case b.FormID == "":
			page.nameless = append(page.nameless, b)
		case old != nil:
			page.keep(old.Form(b.FormID))
		}
	}
	if len(page.nameless) > 0 && old != nil {
		// The form id of a block that is newly broken is not known, so every
		// form that is missing now may be it. A block that was broken before
		// keeps the forms that it kept then.
		missing := old.kept
		if page.brokenAnew(old) {
			missing = old.Forms
		}
		for _, f := range missing {
			if page.keep(f) {
				page.kept = append(page.kept, f)
			}
		}
	}
	return page
}

// brokenAnew reports whether a block without an id is not one of the old page's.
func (p *Page) brokenAnew(old *Page) bool {
	before := slices.Clone(old.nameless)
	for _, b := range p.nameless {
		i := slices.IndexFunc(before, func(o markup.Block) bool { return o.Sum == b.Sum })
		if i < 0 || b.Sum == (markup.Block{}).Sum {
			return true
		}
		before = slices.Delete(before, i, i+1)
	}
	return false
}

// keep adds a form that the page does not have, and reports whether it did.
// What is kept is bounded like what a page may hold: edits that break ever new
// blocks must not make the page grow without end.
func (p *Page) keep(f *forms.Form) bool {
	if f == nil || p.Form(f.ID) != nil {
		return false
	}
	size := markup.DefinitionSize(f)
	if len(p.Forms) >= 2*markup.MaxForms || p.keptBytes+size > markup.MaxPageDefinitionBytes {
		return false
	}
	p.keptBytes += size
	p.Forms = append(p.Forms, f)
	return true
}
