package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versionTable holds the version of the schema. It is not goose's default, which
// another program in the same schema may use.
const versionTable = "formulary_schema"

// How long to wait for another process that migrates: the period in seconds, and
// how many times. To build an index on a large table takes long.
const lockPeriod, lockTries = 1, 600

// migrate brings the schema up to date. If it is, nothing is written or locked.
func migrate(ctx context.Context, config *pgx.ConnConfig, options Options) error {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return err
	}
	known := int64(len(files))
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	version, err := schemaVersion(ctx, conn)
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if version > known {
		return fmt.Errorf("it has schema version %d and this formulary knows versions up to %d: run the newer formulary that wrote it",
			version, known)
	}
	switch {
	case version == known:
		return nil
	case options.MustExist && version == 0:
		return errors.New("there is no store of Formulary in it")
	case options.MustExist:
		return fmt.Errorf("it has schema version %d and this formulary needs %d: start 'formulary serve' of this version on it first, or use the formulary that serves it",
			version, known)
	}
	return applyMigrations(ctx, config, options.Log)
}

func schemaVersion(ctx context.Context, conn *pgx.Conn) (version int64, err error) {
	err = conn.QueryRow(ctx, `SELECT COALESCE(max(version_id), 0) FROM `+versionTable+` WHERE is_applied`).Scan(&version)
	if serverCode(err) == codeUndefinedTable {
		return 0, nil
	}
	return version, err
}

// applyMigrations runs each migration in a transaction of its own. A lock keeps
// processes that start at the same time from migrating concurrently.
func applyMigrations(ctx context.Context, config *pgx.ConnConfig, log *slog.Logger) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(lockPeriod, lockTries))
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*config)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(locker), goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return errors.Join(err, db.Close())
	}
	results, err := provider.Up(ctx)
	for _, r := range results {
		log.Info("migrated the database", "to", r.Source.Version, "took", r.Duration)
	}
	if err = errors.Join(err, provider.Close()); err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	return nil
}
