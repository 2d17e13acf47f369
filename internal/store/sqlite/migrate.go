package sqlite

import (
	"embed"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks a database file as Formulary's ("Frml").
const applicationID = 0x46726d6c

// checkSchema tells whether the database is one that this program may write
// to, and returns its schema's version, which is 0 for a database that holds
// nothing yet. It only reads: what is refused stays as it was found.
func checkSchema(conn *sqlite3.Conn) (version int, err error) {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return 0, err
	}
	version, err = queryInt(conn, "PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	appID, err := queryInt(conn, "PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	tables, err := queryInt(conn, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, err
	}
	fresh := version == 0 && appID == 0 && tables == 0
	if !fresh && (appID != applicationID || version < 1) {
		return 0, errors.New("this is another program's database, not Formulary's")
	}
	if version > len(files) {
		return 0, fmt.Errorf("it has schema version %d and this formulary knows versions up to %d: run the newer formulary that wrote it",
			version, len(files))
	}
	return version, nil
}

// migrate brings the schema up to date. Each migration is one transaction, so
// a crash leaves the one version or the other. A backup that becomes a store
// loses its digest, which the first write would make wrong.
func migrate(conn *sqlite3.Conn) error {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return err
	}
	version, err := queryInt(conn, "PRAGMA user_version")
	if err != nil {
		return err
	}
	for i := version; i < len(files); i++ {
		sql, err := migrations.ReadFile("migrations/" + files[i].Name())
		if err != nil {
			return err
		}
		if err := applyMigration(conn, string(sql), i+1); err != nil {
			return fmt.Errorf("migrate to schema version %d: %w", i+1, err)
		}
	}
	return execOnce(conn, `DELETE FROM settings WHERE name = ?`, store.SettingDigest)
}

func applyMigration(conn *sqlite3.Conn, sql string, version int) (err error) {
	txn, err := conn.BeginImmediate()
	if err != nil {
		return err
	}
	defer txn.End(&err)
	return conn.Exec(fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = %d", sql, applicationID, version))
}

func queryInt(conn *sqlite3.Conn, sql string) (int, error) {
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		return 0, err
	}
	defer func() { _ = stmt.Close() }()
	if !stmt.Step() {
		return 0, fmt.Errorf("%s: %w", sql, stmt.Err())
	}
	return stmt.ColumnInt(0), nil
}
