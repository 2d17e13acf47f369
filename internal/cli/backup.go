package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/store/sqlite"
)

func backupCommand(streams Streams) *cli.Command {
	return &cli.Command{
		Name:      "backup",
		Usage:     "write all submissions to a file",
		ArgsUsage: "FILE",
		Description: "Writes what the store holds at this moment to a new file; servers may go on writing to it.\n" +
			"The file is a SQLite database, whatever the store is, and 'formulary restore' takes it to either.\n" +
			"The key of anonymous submissions is not in it: without it the file gives no name away. Keep a copy\n" +
			"of anonymous.key elsewhere.",
		Flags: copyFlags(),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			at, file, err := storeAndFile(cmd)
			if err != nil {
				return err
			}
			ctx, stop := untilSignal(ctx, endSignals()...)
			defer stop()
			if at.url == "" {
				err = backupFile(ctx, streams, at, file)
			} else {
				err = backupDatabase(ctx, streams, at, file)
			}
			if err != nil && ctx.Err() != nil {
				return errors.New("interrupted; no backup was made")
			}
			return err
		},
	}
}

// copyFlags are storeFlags, but for --data: whether it was given must be told
// from the environment, which may name a server's directory beside its database.
func copyFlags() []cli.Flag {
	flags := storeFlags()
	flags[0] = &cli.StringFlag{Name: "data", Usage: "directory that holds the embedded database; without it and --database, $FORMULARY_DATA"}
	return flags
}

// storeAndFile reads the flags and the argument of backup and restore.
func storeAndFile(cmd *cli.Command) (at location, file string, err error) {
	if cmd.Args().Len() != 1 || cmd.Args().First() == "" {
		return at, "", &usageError{fmt.Errorf("%s takes one file", cmd.Name), cmd.Name + " --help"}
	}
	if file = cmd.Args().First(); strings.Contains(file, "://") {
		return at, "", &usageError{errors.New("a URL is no file: give the database by --database"), cmd.Name + " --help"}
	}
	at, err = locateOne(cmd)
	return at, file, err
}

// locateOne is locate for a command that works on one store.
func locateOne(cmd *cli.Command) (location, error) {
	at, err := locate(cmd)
	if err == nil && at.url != "" && cmd.IsSet("data") {
		// The database may come from the environment, and be forgotten.
		err = &usageError{errors.New("--data and --database are two stores: give one, and unset FORMULARY_DATABASE if it is the other"), cmd.Name + " --help"}
	}
	return at, err
}

func backupFile(ctx context.Context, streams Streams, at location, file string) error {
	bar := newProgress(streams.Err)
	err := sqlite.Backup(ctx, at.dir, file, bar.show)
	bar.end()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(streams.Out, "%s backed up to %s.\n", at, file)
	return err
}

// backupDatabase copies into an embedded store, and keeps its file.
func backupDatabase(ctx context.Context, streams Streams, at location, file string) (err error) {
	source, err := at.openExisting(ctx, progressLogger(streams))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := refuseUnfinished(ctx, source); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	bar := newProgress(streams.Err)
	defer bar.end()
	return sqlite.WriteBackup(ctx, file, bar.show, func(target *sqlite.Store) error {
		return copyStore(ctx, streams, source, target, file)
	})
}

func restoreCommand(streams Streams) *cli.Command {
	return &cli.Command{
		Name:      "restore",
		Usage:     "bring all submissions back from a backup",
		ArgsUsage: "FILE",
		Description: "Fills a store from a file that 'formulary backup' has written. The store must be empty and not in use.\n" +
			"The file is checked first, against the digest that it carries. A restore that was killed is started over by the same command.\n" +
			"Put the copy of anonymous.key back in its place, too.",
		Flags: copyFlags(),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			at, file, err := storeAndFile(cmd)
			if err != nil {
				return err
			}
			ctx, stop := untilSignal(ctx, endSignals()...)
			defer stop()
			if at.url != "" {
				return restoreDatabase(ctx, streams, file, at)
			}
			if err = readBackup(ctx, streams, file, at.dir); err != nil {
				return err
			}
			_, err = fmt.Fprintf(streams.Out, "%s restored from %s.\n", at, file)
			return err
		},
	}
}

// readBackup makes an embedded store of a backup.
func readBackup(ctx context.Context, streams Streams, file, dir string) error {
	bar := newProgress(streams.Err)
	report, err := sqlite.Restore(ctx, file, dir, bar.show)
	bar.end()
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted; nothing was restored")
	}
	if err == nil && !report.Sealed {
		_, err = fmt.Fprintf(streams.Err, "formulary: warning: %s carries no digest, since it was not made by 'formulary backup': whether its content has changed can't be told\n", file)
	}
	return err
}

// restoreDatabase opens a copy of the backup as a store: to open the backup
// itself would change it.
func restoreDatabase(ctx context.Context, streams Streams, file string, at location) (err error) {
	room, err := os.MkdirTemp("", "formulary-restore-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(room)) }()
	data := filepath.Join(room, "data")
	if err := readBackup(ctx, streams, file, data); err != nil {
		return err
	}
	return migrate(ctx, streams, location{dir: data}, at)
}
