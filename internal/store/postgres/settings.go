package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
)

// Claim implements store.Settings.
func (s *Store) Claim(ctx context.Context, name, value string) (held string, err error) {
	for range maxTries { // it may be released between the insert and the select
		err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			batch := &pgx.Batch{}
			batch.Queue(sqlClaim, name, value)
			batch.Queue(sqlSetting, name)
			results := conn.SendBatch(ctx, batch)
			_, err := results.Exec()
			if err == nil {
				err = results.QueryRow().Scan(&held)
			}
			return errors.Join(err, results.Close())
		})
		if !errors.Is(err, pgx.ErrNoRows) {
			break
		}
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("%w: other processes claim and release it all the time", store.ErrUnavailable)
	}
	if err != nil {
		return "", fmt.Errorf("claim setting %q: %w", name, err)
	}
	return held, nil
}

// Setting implements store.Settings.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	err = s.queryRow(ctx, sqlSetting, []any{name}, &value)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("read setting %q: %w", name, err)
	}
	return value, nil
}

// Release implements store.Settings.
func (s *Store) Release(ctx context.Context, name string) error {
	if _, err := s.exec(ctx, sqlRelease, name); err != nil {
		return fmt.Errorf("release setting %q: %w", name, err)
	}
	return nil
}
