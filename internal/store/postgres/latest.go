package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/recent"
)

// Latest implements store.Store.
func (s *Store) Latest(ctx context.Context, username string, among []store.FormKey, limit int) ([]forms.Submission, error) {
	return recent.Reader(s.readLatest).Find(ctx, username, among, limit)
}

// readLatest is a recent.Reader.
func (s *Store) readLatest(ctx context.Context, username string, among []store.FormKey, each int) (found []forms.Submission, err error) {
	pageIDs, formIDs := make([]int64, len(among)), make([]string, len(among))
	for i, key := range among {
		pageIDs[i], formIDs[i] = key.PageID, key.FormID
	}
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, sqlLatest, pageIDs, formIDs, username, each)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (forms.Submission, error) {
			var created int64
			sub := forms.Submission{Username: username}
			err := row.Scan(&sub.PageID, &sub.FormID, &sub.ID, &created)
			sub.Created = time.UnixMilli(created).UTC()
			return sub, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the latest submissions: %w", err)
	}
	return found, nil
}
