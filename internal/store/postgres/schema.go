package postgres

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store/engine"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

var migrations = engine.ReadMigrations(migrationFiles)

//go:embed schema.txt
var schemaNames string // what sqlSchema finds in a new database

const sqlSchema = `WITH relations AS (SELECT oid, relname::text AS name, relkind FROM pg_class
		WHERE pg_table_is_visible(oid) AND relnamespace <> 'pg_catalog'::regnamespace)
	SELECT name FROM relations
	UNION ALL SELECT name || '.' || attname FROM relations JOIN pg_attribute ON attrelid = oid
	WHERE relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped`

// migrationLock is the key of an advisory lock: processes that start at the same
// time migrate one after the other.
const migrationLock = 0x466f726d756c61

// prepareSchema brings the schema up to date. If it is, nothing is written or
// locked. It refuses a damaged one, and a database that can't store every Unicode text.
func prepareSchema(ctx context.Context, conn *pgx.Conn, options Options) error {
	if encoding := conn.PgConn().ParameterStatus("server_encoding"); encoding != "" && encoding != "UTF8" {
		return fmt.Errorf("its encoding is %s: create it with ENCODING 'UTF8'", encoding)
	}
	version, err := readVersion(ctx, conn)
	switch {
	case err != nil:
		return err
	case version == 0 && options.MustExist:
		return errors.New("there is no store of Formulary in it")
	case version < migrations.Version() && !options.MustExist:
		return migrate(ctx, conn, options.Log)
	}
	return cmp.Or(migrations.Require(version, false), checkSchema(ctx, conn))
}

// checkSchema refuses a database that lacks what the statements need.
func checkSchema(ctx context.Context, conn *pgx.Conn) error {
	rows, _ := conn.Query(ctx, sqlSchema) // its error is that of the rows
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return cmp.Or(engine.Wrap(err, "read the schema"), engine.CheckSchema(schemaNames, found))
}

// readVersion returns the version of the schema, 0 if there is none.
func readVersion(ctx context.Context, conn *pgx.Conn) (version int, err error) {
	var exists bool
	// to_regclass could answer from a cache of before another process has migrated.
	const find = `SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'formulary_schema' AND pg_table_is_visible(oid))`
	err = conn.QueryRow(ctx, find).Scan(&exists)
	if err == nil && exists {
		err = conn.QueryRow(ctx, `SELECT COALESCE(max(version_id), 0) FROM formulary_schema`).Scan(&version)
	}
	return version, engine.Wrap(err, "read the schema's version")
}

// migrate applies all migrations in one transaction, unless another process has
// done so meanwhile. It ends without a change if the schema is damaged.
func migrate(ctx context.Context, conn *pgx.Conn, log *slog.Logger) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		const noTimeouts = `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`
		if _, err := tx.Exec(ctx, noTimeouts); err != nil { // the role may have some
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, migrationLock); err != nil {
			return err
		}
		version, err := readVersion(ctx, conn)
		if err = cmp.Or(err, migrations.Require(version, true)); err != nil {
			return err
		}
		if version == migrations.Version() {
			return checkSchema(ctx, conn)
		}
		log.Info("migrating the database", "from", version, "to", migrations.Version())
		for _, sql := range migrations.After(version) {
			// The extended protocol takes one statement at a time.
			if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
		}
		if err := checkSchema(ctx, conn); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO formulary_schema VALUES ($1)`, migrations.Version())
		return err
	})
	return engine.Wrap(err, "migrate the schema")
}
