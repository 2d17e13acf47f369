package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// SQLDefinition is the text of a definition of page $1 and form $2.
const SQLDefinition = `SELECT definition FROM definitions WHERE page_id = $1 AND form_id = $2 AND hash = $3`

// Definition implements store.Store.
func (c Common) Definition(ctx context.Context, key store.Key) (forms.Definition, error) {
	return readDefinition(ctx, c.Database, c.SQLDefinition, key.PageID, key.FormID, key.ID)
}

func readDefinition(ctx context.Context, db Querier, sql string, args ...any) (forms.Definition, error) {
	text := ""
	if err := queryRow(ctx, db, []any{&text}, sql, args...); err != nil {
		return forms.Definition{}, Wrap(err, "read a definition")
	}
	return forms.NewDefinition(text), nil
}

// DefinitionReader returns a function that completes the definition of a record, of which it needs the
// hash. In a dump most have the definition of the one before, which is not read again.
func DefinitionReader(ctx context.Context, db Querier) func(*store.Record) error {
	last := forms.Definition{}
	return func(r *store.Record) (err error) {
		switch r.Definition.Hash {
		case 0:
			return nil
		case last.Hash:
		default:
			last, err = readDefinition(ctx, db, SQLDefinition, r.PageID, r.FormID, r.Definition.Hash)
			if errors.Is(err, store.ErrNotFound) || err == nil && last.Hash != r.Definition.Hash {
				err = fmt.Errorf("the database is damaged: submission %d has lost the definition of its form", r.ID)
			}
		}
		r.Definition = last
		return err
	}
}
