package sqlite

import (
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
)

// Claim implements store.Settings.
func (s *Store) Claim(ctx context.Context, name, value string) (current string, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		_, err := execute(tx.stmts.conn, `INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING`, name, value)
		if err == nil {
			current, err = setting(tx.stmts.conn, name)
		}
		return classify(err)
	})
	return current, err
}

// Setting implements store.Settings.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	err = s.pool.with(ctx, func(stmts *readStmts) (err error) {
		value, err = setting(stmts.conn, name)
		return err
	})
	return value, err
}

// Release implements store.Settings.
func (s *Store) Release(ctx context.Context, name string) error {
	_, err := s.exec(ctx, `DELETE FROM settings WHERE name = ?`, name)
	return err
}

func setting(conn *sqlite3.Conn, name string) (value string, err error) {
	err = queryRow(conn, `SELECT value FROM settings WHERE name = ?`, func(row *sqlite3.Stmt) { value = row.ColumnText(0) }, name)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return value, err
}
