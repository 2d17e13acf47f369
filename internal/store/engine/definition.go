package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

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

// RecordReader returns a function that completes a record of a dump, which has the hash of its definition. Most have
// the definition of the one before, which is not read again.
func RecordReader(ctx context.Context, db Querier) func(*store.Record) error {
	last := forms.Definition{}
	return func(r *store.Record) (err error) {
		r.Open = func(f forms.StoredFile) io.ReadCloser { return OpenContent(ctx, f, db, func() {}) }
		if hash := r.Definition.Hash; hash != 0 && hash != last.Hash {
			last, err = readDefinition(ctx, db, SQLDefinition, r.PageID, r.FormID, hash)
			if errors.Is(err, store.ErrNotFound) || err == nil && last.Hash != hash {
				err = fmt.Errorf("the database is damaged: submission %d has lost the definition of its form", r.ID)
			}
		}
		if r.Definition.Hash != 0 {
			r.Definition = last
		}
		if err == nil && r.IsChanged() {
			r.History, err = ReadHistory(ctx, db, r.ID)
		}
		return err
	}
}
