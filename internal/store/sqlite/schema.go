package sqlite

import (
	"embed"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/store/engine"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

var migrations = engine.ReadMigrations(migrationFiles)

// applicationID marks a database file as Formulary's ("Frml").
const applicationID = 0x46726d6c

// readVersion returns the version of the schema, 0 for a database that holds
// nothing. It refuses the database of another program, and only reads.
func readVersion(conn *sqlite3.Conn) (version int, err error) {
	var appID, tables int
	for sql, to := range map[string]*int{
		`PRAGMA user_version`: &version, `PRAGMA application_id`: &appID, `SELECT count(*) FROM sqlite_schema`: &tables,
	} {
		if *to, err = queryInt(conn, sql); err != nil {
			return 0, err
		}
	}
	isNew := version == 0 && appID == 0 && tables == 0
	if !isNew && (appID != applicationID || version < 1) {
		return 0, errors.New("this is another program's database, not Formulary's")
	}
	return version, nil
}

// requireSchema refuses a database that is not a store of this version.
func requireSchema(conn *sqlite3.Conn) error {
	version, err := readVersion(conn)
	if err != nil {
		return err
	}
	if version == 0 {
		return errors.New("it is empty")
	}
	return migrations.Require(version)
}

// migrate brings the schema up to date. Each migration is one transaction, so
// that a crash leaves the one version or the other.
func migrate(conn *sqlite3.Conn, version int) error {
	for i, sql := range migrations[version:] {
		if err := applyMigration(conn, sql, version+i+1); err != nil {
			return fmt.Errorf("migrate to schema version %d: %w", version+i+1, err)
		}
	}
	return nil
}

func applyMigration(conn *sqlite3.Conn, sql string, version int) (err error) {
	txn, err := conn.BeginImmediate()
	if err != nil {
		return err
	}
	defer txn.End(&err)
	return conn.Exec(fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = %d", sql, applicationID, version))
}
