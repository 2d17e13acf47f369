package service

import (
	"context"
	"errors"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// Asked returns the form that a submission was checked against when it was created, with the ids of
// then; nil if that is not known. The submission must have been read before.
func (a *Access) Asked(ctx context.Context, id int64) (*forms.Form, error) {
	form, err := askedForm(ctx, a.conf.Store, a.key(id), a.Form)
	return form, Explain(err)
}

// askedForm is Asked. It returns now if that is the form, as of most submissions.
func askedForm(ctx context.Context, s store.Store, key store.Key, now *forms.Form) (*forms.Form, error) {
	definition, err := s.Definition(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil //nolint:nilnil // it is not known
	case err != nil:
		return nil, err
	case definition.Hash == now.Definition().Hash:
		return now, nil
	}
	return definition.Form()
}
