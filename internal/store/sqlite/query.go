package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
)

// optional is a text that is NULL in the database where it is "".
type optional string

// bind sets the parameters of a statement.
func bind(stmt *sqlite3.Stmt, args []any) error {
	for i, arg := range args {
		var err error
		switch arg := arg.(type) {
		case nil:
			err = stmt.BindNull(i + 1)
		case int64:
			err = stmt.BindInt64(i+1, arg)
		case string:
			err = stmt.BindText(i+1, arg)
		case optional:
			if arg == "" {
				err = stmt.BindNull(i + 1)
			} else {
				err = stmt.BindText(i+1, string(arg))
			}
		case forms.Entries:
			err = stmt.BindRawText(i+1, arg)
		case []byte:
			err = stmt.BindBlob(i+1, arg)
		default:
			err = errors.New("its type is not supported")
		}
		if err != nil {
			return fmt.Errorf("parameter %d: %w", i+1, err)
		}
	}
	return nil
}

// run executes a prepared statement that returns no rows.
func run(stmt *sqlite3.Stmt, args ...any) error {
	if err := bind(stmt, args); err != nil {
		return err
	}
	return stmt.Exec()
}

// query executes a prepared statement and calls row for each of its rows, until
// row returns false.
func query(stmt *sqlite3.Stmt, row func() bool, args ...any) error {
	defer func() { _ = stmt.Reset() }()
	if err := bind(stmt, args); err != nil {
		return err
	}
	for stmt.Step() {
		if !row() {
			break
		}
	}
	return stmt.Err()
}

// refuseIfFound returns an error if a prepared statement returns a row.
func refuseIfFound(refusal error, stmt *sqlite3.Stmt, args ...any) error {
	var found error
	err := query(stmt, func() bool { found = refusal; return false }, args...)
	return cmp.Or(classify(err), found)
}

// execute runs a statement that is used too rarely to stay prepared. It returns how
// many rows were changed.
func execute(conn *sqlite3.Conn, sql string, args ...any) (changed int64, err error) {
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		return 0, err
	}
	defer func() { _ = stmt.Close() }()
	if err := run(stmt, args...); err != nil {
		return 0, err
	}
	return conn.Changes(), nil
}

// exec runs one statement through the writer. It returns how many rows were changed.
func (s *Store) exec(ctx context.Context, sql string, args ...any) (changed int64, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		changed, err = execute(tx.stmts.conn, sql, args...)
		return classify(err)
	})
	return changed, err
}

// queryRow reads the first row of a statement that is used too rarely to stay
// prepared. No row is ErrNotFound.
func queryRow(conn *sqlite3.Conn, sql string, read func(row *sqlite3.Stmt), args ...any) error {
	found := false
	err := queryRows(conn, sql, func(row *sqlite3.Stmt) {
		if !found {
			read(row)
		}
		found = true
	}, args...)
	if err == nil && !found {
		return store.ErrNotFound
	}
	return err
}

// queryRows calls read for each row of a statement that is used too rarely to stay prepared.
func queryRows(conn *sqlite3.Conn, sql string, read func(row *sqlite3.Stmt), args ...any) error {
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	return query(stmt, func() bool { read(stmt); return true }, args...)
}

func queryInt(conn *sqlite3.Conn, sql string) (n int64, err error) {
	err = queryRow(conn, sql, func(row *sqlite3.Stmt) { n = row.ColumnInt64(0) })
	return n, engine.Wrap(err, "%s", sql)
}
