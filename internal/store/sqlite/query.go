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

// connection is a connection to the database. It compiles a statement at its first use,
// and keeps it for the next one. The texts of statements are constants: there are few.
type connection struct {
	*sqlite3.Conn
	stmts   map[string]*sqlite3.Stmt // by their text
	commits int64                    // of the writer when it was last used by withSnapshot
}

// connect opens a connection, whose statements are interrupted when ctx ends.
func connect(ctx context.Context, uri string) (*connection, error) {
	conn, err := sqlite3.OpenContext(ctx, uri)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn, stmts: map[string]*sqlite3.Stmt{}, commits: -1}, nil
}

// orClose returns the connection, or closes it if there is an error.
func (c *connection) orClose(err error) (*connection, error) {
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close closes the statements, too. SQLite refuses to close a connection that has any.
func (c *connection) Close() error {
	for _, stmt := range c.stmts {
		_ = stmt.Close()
	}
	return c.Conn.Close()
}

func (c *connection) prepare(sql string) (*sqlite3.Stmt, error) {
	if stmt := c.stmts[sql]; stmt != nil {
		if stmt.Busy() { // by a read function that queries the same: its rows would begin again
			return nil, fmt.Errorf("%q is being read", sql)
		}
		return stmt, nil
	}
	stmt, _, err := c.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", sql, err)
	}
	c.stmts[sql] = stmt
	return stmt, nil
}

// bind sets the parameters of a statement.
func bind(stmt *sqlite3.Stmt, args []any) error {
	for i, arg := range args {
		var err error
		switch arg := arg.(type) {
		case nil:
			err = stmt.BindNull(i + 1)
		case int64:
			err = stmt.BindInt64(i+1, arg)
		case bool:
			err = stmt.BindBool(i+1, arg)
		case string:
			err = stmt.BindText(i+1, arg)
		case forms.Entries:
			err = stmt.BindRawText(i+1, arg)
		case []byte:
			err = stmt.BindBlob(i+1, arg)
		case []int64, []string: // for json_each
			err = stmt.BindJSON(i+1, arg)
		default:
			err = errors.New("its type is not supported")
		}
		if err != nil {
			return fmt.Errorf("parameter %d: %w", i+1, err)
		}
	}
	return nil
}

// run executes a statement that returns no rows.
func (c *connection) run(sql string, args ...any) error {
	stmt, err := c.prepare(sql)
	if err != nil {
		return err
	}
	if err := bind(stmt, args); err != nil {
		return err
	}
	return stmt.Exec()
}

// query calls read for the rows of a statement. An error of the statement comes before that of read.
func (c *connection) query(sql string, read func(rows *sqlite3.Stmt) error, args ...any) error {
	stmt, err := c.prepare(sql)
	if err != nil {
		return err
	}
	defer stmt.Reset()
	if err := bind(stmt, args); err != nil {
		return err
	}
	err = read(stmt)
	return cmp.Or(stmt.Err(), err)
}

// queryRow reads the first row of a statement. No row is ErrNotFound.
func (c *connection) queryRow(sql string, read func(row *sqlite3.Stmt), args ...any) error {
	return c.query(sql, func(rows *sqlite3.Stmt) error {
		if !rows.Step() {
			return store.ErrNotFound
		}
		read(rows)
		return nil
	}, args...)
}

func (c *connection) queryInt(sql string) (n int64, err error) {
	err = c.queryRow(sql, func(row *sqlite3.Stmt) { n = row.ColumnInt64(0) })
	return n, engine.Wrap(err, "%s", sql)
}

// refuseIfFound returns an error if a statement returns a row.
func (c *connection) refuseIfFound(refusal error, sql string, args ...any) error {
	return c.query(sql, func(rows *sqlite3.Stmt) error {
		if rows.Step() {
			return refusal
		}
		return nil
	}, args...)
}
