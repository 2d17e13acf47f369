package sqlite

import (
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"
)

// Claim implements store.Settings.
func (s *Store) Claim(ctx context.Context, name, value string) (current string, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		err := execOnce(tx.stmts.conn, `INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING`, name, value)
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
	return s.writer.do(ctx, func(tx *tx) error {
		return classify(execOnce(tx.stmts.conn, `DELETE FROM settings WHERE name = ?`, name))
	})
}

func setting(conn *sqlite3.Conn, name string) (value string, err error) {
	stmt, _, err := conn.Prepare(`SELECT value FROM settings WHERE name = ?`)
	if err != nil {
		return "", err
	}
	defer func() { _ = stmt.Close() }()
	if err := stmt.BindText(1, name); err != nil {
		return "", err
	}
	if stmt.Step() {
		value = stmt.ColumnText(0)
	}
	return value, stmt.Err()
}

// execOnce runs a statement that is needed too rarely to be kept.
func execOnce(conn *sqlite3.Conn, sql string, args ...string) error {
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	for i, arg := range args {
		err = errors.Join(err, stmt.BindText(i+1, arg))
	}
	if err != nil {
		return err
	}
	return stmt.Exec()
}
