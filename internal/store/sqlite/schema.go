package sqlite

import (
	"embed"
	"errors"
	"fmt"

	"github.com/formulary/formulary/internal/store/engine"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

var migrations = engine.ReadMigrations(migrationFiles)

// applicationID marks a database file as Formulary's ("Frml").
const applicationID = 0x46726d6c

// readVersion returns the version of the schema, 0 for a database that holds
// nothing. It refuses the database of another program, and only reads.
func readVersion(conn *connection) (version int, err error) {
	var found, appID, tables int64
	for sql, to := range map[string]*int64{
		`PRAGMA user_version`: &found, `PRAGMA application_id`: &appID, `SELECT count(*) FROM sqlite_schema`: &tables,
	} {
		if *to, err = conn.queryInt(sql); err != nil {
			return 0, err
		}
	}
	isNew := found == 0 && appID == 0 && tables == 0
	if !isNew && (appID != applicationID || found < 1) {
		return 0, errors.New("this is another program's database, not Formulary's")
	}
	return int(found), nil
}

// requireSchema refuses a database that is not a store of this version.
func requireSchema(conn *connection) error {
	version, err := readVersion(conn)
	if err != nil {
		return err
	}
	if version == 0 {
		return errors.New("it is empty")
	}
	return migrations.Require(version)
}

// migrate brings the schema up to date, in one transaction: a crash leaves the
// one version or the other.
func migrate(conn *connection, version int) (err error) {
	if version == len(migrations) {
		return nil
	}
	txn, err := conn.BeginImmediate()
	if err != nil {
		return err
	}
	defer txn.End(&err)
	for _, sql := range migrations[version:] {
		if err := conn.Exec(sql); err != nil {
			return fmt.Errorf("migrate the schema: %w", err)
		}
	}
	return conn.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(migrations)))
}
