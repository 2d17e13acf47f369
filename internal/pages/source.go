// Package pages is where wiki pages come from, and what is known of each: its
// forms and who may see and edit it.
package pages

import (
	"context"
	"errors"
	"slices"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
)

// What can go wrong when a page is asked for.
var (
	// ErrNotFound: there is no such page.
	ErrNotFound = errors.New("page not found")
	// ErrUnavailable: the source can't tell now. It may be tried again.
	ErrUnavailable = errors.New("page source is unavailable")
)

// Source gives pages by their id. All methods are safe for concurrent use.
type Source interface {
	// Page returns the page as it stands now. It is quick, every request
	// calls it. Errors: ErrNotFound, ErrUnavailable.
	Page(ctx context.Context, id int64) (*Page, error)

	// Ready reports whether the source can be reached.
	Ready(ctx context.Context) error
}

// Page is one page. It is never changed after it was handed out.
type Page struct {
	ID    int64
	Forms []*forms.Form // in page order
	Meta  markup.Meta

	// Broken blocks that do not tell which form they were, and the forms that
	// are kept because they may be one of them.
	nameless []markup.Block
	kept     []*forms.Form

	keptBytes int // of the definitions of all forms that are kept
}

// Form returns the form with the given id, or nil.
func (p *Page) Form(id string) *forms.Form {
	i := slices.IndexFunc(p.Forms, func(f *forms.Form) bool { return f.ID == id })
	if i < 0 {
		return nil
	}
	return p.Forms[i]
}

// CanView reports whether a user may see the page; inGroup tells the user's
// groups. Who may edit a page may see it, too, but a page that names only its
// viewers is not opened to all by the default of its editors.
func (p *Page) CanView(user string, inGroup func(group string) bool) bool {
	view, edit := p.Meta.View, p.Meta.Edit
	return view == nil || includes(view, user, inGroup) || (edit != nil && includes(edit, user, inGroup))
}

// CanEdit reports whether a user may read and change every submission of the page.
func (p *Page) CanEdit(user string, inGroup func(group string) bool) bool {
	return p.CanView(user, inGroup) && (p.Meta.Edit == nil || includes(p.Meta.Edit, user, inGroup))
}

func includes(p *markup.Principals, user string, inGroup func(group string) bool) bool {
	return slices.Contains(p.Users, user) || slices.ContainsFunc(p.Groups, inGroup)
}
