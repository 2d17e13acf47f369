package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/recent"
)

// Latest implements store.Store.
func (s *Store) Latest(ctx context.Context, username string, among []store.FormKey, limit int) ([]forms.Submission, error) {
	return recent.Reader(s.readLatest).Find(ctx, username, among, limit)
}

// readLatest is a recent.Reader. Each look-up is a read transaction of its own.
func (s *Store) readLatest(ctx context.Context, username string, among []store.FormKey, each int) (found []forms.Submission, err error) {
	err = s.pool.with(ctx, func(stmts *readStmts) error {
		for _, key := range among {
			form, err := s.form(stmts, formName{key.PageID, key.FormID})
			if errors.Is(err, errNoForm) {
				continue
			}
			if err == nil {
				found, err = appendLatest(found, stmts, form, key, username, each)
			}
			if err != nil {
				return fmt.Errorf("read the latest submissions: %w", err)
			}
		}
		return nil
	})
	return found, err
}

// appendLatest appends the latest submissions of one form.
func appendLatest(
	found []forms.Submission, stmts *readStmts, form int64, key store.FormKey, username string, each int,
) ([]forms.Submission, error) {
	stmt := stmts.latest
	defer func() { _ = stmt.Reset() }()
	if err := errors.Join(stmt.BindInt64(1, form), stmt.BindText(2, username)); err != nil {
		return nil, err
	}
	for range each {
		if !stmt.Step() {
			break
		}
		found = append(found, forms.Submission{
			ID: submissionID(stmt.ColumnInt64(0)), PageID: key.PageID, FormID: key.FormID,
			Created: time.UnixMilli(stmt.ColumnInt64(1)).UTC(), Username: username,
		})
	}
	return found, stmt.Err()
}
