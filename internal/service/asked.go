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
	definition, err := a.service.opts.Store.Definition(ctx, a.key(id))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil //nolint:nilnil // it is not known
	case err != nil:
		return nil, Explain(err)
	case definition.Hash == a.Form.Definition().Hash: // as of most submissions
		return a.Form, nil
	}
	return definition.Form()
}
