package service

import (
	"context"
	"slices"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
)

// People are who a page names.
type People = markup.People

// People returns who the page names.
func (b *Block) People() People { return b.page.People() }

// CheckPeople returns a *forms.Invalid for the fields "view" and "edit" if the caller can't have a page name them.
func (s *Service) CheckPeople(who auth.Identity, people People) error {
	var invalid forms.Invalid
	known := s.opts.Markup
	for field, names := range map[string][]string{"view": people.View, "edit": people.Edit} {
		for _, name := range names {
			if !markup.IsName(name) || known != nil && known.UnknownName != nil && known.UnknownName(name) != "" {
				invalid.Add(field, forms.Say("This server has no user or group {0}.", name))
			}
		}
	}
	isCaller := func(name string) bool { return isNamed(who, name) }
	if !slices.ContainsFunc(people.Edit, isCaller) {
		invalid.Add("edit", forms.Say("Name yourself, or a group of yours. Else you could not change the form any more."))
	}
	return invalid.Err()
}

// SetPeople has the page name other people, if its people have the Tag. If not, the error is a *Conflict.
func (b *Block) SetPeople(ctx context.Context, tag string, people People) error {
	return b.change(ctx, "people saved", "", func(now pages.Draft) ([]byte, error) {
		if err := b.service.CheckPeople(b.who, people); err != nil {
			return nil, err
		}
		return now.SetPeople(tag, people)
	})
}
