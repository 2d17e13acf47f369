package pages

import (
	"slices"

	"github.com/formulary/formulary/internal/markup"
)

// rightsOf returns what the front matter of a page grants a user.
func rightsOf(meta *markup.Meta, user User) Rights {
	view := mayView(meta, user)
	edit := view && (meta.Edit == nil || includes(meta.Edit, user))
	return Rights{View: view, SeeAll: edit || (view && meta.ResultsForViewers), Edit: edit}
}

// mayView reports whether a user may view the page. Who may edit a page may
// view it, too, but a page that names only its viewers is not opened to all by
// the default of its editors.
func mayView(meta *markup.Meta, user User) bool {
	return meta.View == nil || includes(meta.View, user) || (meta.Edit != nil && includes(meta.Edit, user))
}

func includes(p *markup.Principals, user User) bool {
	return slices.Contains(p.Users, user.Name) || slices.ContainsFunc(p.Groups, user.InGroup)
}
