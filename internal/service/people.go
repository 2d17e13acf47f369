package service

import (
	"context"
	"reflect"
	"slices"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
)

// People are who a page names: users, and groups with "@" before them.
type People struct {
	View []string // nil is everybody
	Edit []string
}

// People returns who the page names. Only editors may ask.
func (s *Service) People(ctx context.Context, who auth.Identity, pageID int64) (People, error) {
	page, err := s.page(ctx, who, pageID)
	if err != nil {
		return People{}, err
	}
	if !page.Rights.Edit {
		return People{}, ErrNotNamed
	}
	view, edit := page.People()
	return People{view.Names(), edit.Names()}, nil
}

// CheckPeople returns a *forms.Invalid for the fields "view" and "edit" if the caller can't have a page name them.
func (s *Service) CheckPeople(who auth.Identity, people People) error {
	var invalid forms.Invalid
	for field, names := range map[string][]string{"view": people.View, "edit": people.Edit} {
		for _, name := range names {
			switch fault := markup.CheckName(name); {
			case fault != nil:
				invalid.Add(field, fault)
			case s.opts.Markup != nil && s.opts.Markup.UnknownName != nil && s.opts.Markup.UnknownName(name) != "":
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

// PeopleConflict is the error of SetPeople if the page names others than was shown.
type PeopleConflict struct{ Now People }

func (*PeopleConflict) Error() string { return "the people of the page have changed" }

// SetPeople has a page name other people. shown are the names that the caller has seen.
func (s *Service) SetPeople(ctx context.Context, who auth.Identity, pageID int64, shown, people People) error {
	return s.change(ctx, who, "people saved", pageID, "", func(now pages.Draft) ([]byte, error) {
		if err := s.CheckPeople(who, people); err != nil {
			return nil, err
		}
		named := People{now.Meta.View.Names(), now.Meta.Edit.Names()}
		if !reflect.DeepEqual(named, shown) {
			return nil, &PeopleConflict{named}
		}
		return now.SetPeople(people.View, people.Edit)
	})
}
