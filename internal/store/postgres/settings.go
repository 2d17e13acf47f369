package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store/engine"
)

// Claim implements store.Settings.
func (s *Store) Claim(ctx context.Context, name, value string) (current string, err error) {
	err = s.queryRow(ctx, sqlClaim, []any{name, value}, &current)
	return current, engine.Wrap(err, "claim setting %q", name)
}

// Setting implements store.Settings.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	err = s.queryRow(ctx, sqlSetting, []any{name}, &value)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return value, engine.Wrap(err, "read setting %q", name)
}

// Release implements store.Settings.
func (s *Store) Release(ctx context.Context, name string) error {
	_, err := s.exec(ctx, sqlRelease, name)
	return engine.Wrap(err, "release setting %q", name)
}
