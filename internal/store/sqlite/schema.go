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

//go:embed schema.txt
var schemaNames string // what sqlSchema finds in a new store

const sqlSchema = `SELECT name FROM sqlite_schema WHERE type <> 'view' AND name NOT LIKE 'sqlite%'
	UNION ALL SELECT s.name || '.' || c.name FROM sqlite_schema s, pragma_table_info(s.name) c
	WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite%'`

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

// checkSchema refuses a store that writes could not use, or would assign wrong ids in.
func checkSchema(conn *connection) error {
	var found []string
	err := conn.query(sqlSchema, func(rows *sqlite3.Stmt) error {
		for rows.Step() {
			found = append(found, rows.ColumnText(0))
		}
		return nil
	})
	if err == nil {
		err = engine.CheckSchema(schemaNames, found)
	}
	if err == nil {
		_, err = conn.readLastID()
	}
	return err
}

// migrate brings the schema up to date and checks it, in one transaction: a crash or an error
// leaves the version that was there.
func migrate(conn *connection, version int) (err error) {
	if version == migrations.Version() {
		return nil
	}
	txn, err := conn.BeginImmediate()
	if err != nil {
		return err
	}
	defer txn.End(&err)
	for _, sql := range migrations.After(version) {
		if err := conn.Exec(sql); err != nil {
			return fmt.Errorf("migrate the schema: %w", err)
		}
	}
	if err := checkSchema(conn); err != nil {
		return err
	}
	return conn.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d",
		applicationID, migrations.Version()))
}
