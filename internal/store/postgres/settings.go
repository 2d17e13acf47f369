package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Claim implements store.Settings.
func (s *Store) Claim(ctx context.Context, name, value string) (current string, err error) {
	if err = s.queryRow(ctx, sqlClaim, []any{name, value}, &current); err != nil {
		return "", fmt.Errorf("claim setting %q: %w", name, err)
	}
	return current, nil
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
