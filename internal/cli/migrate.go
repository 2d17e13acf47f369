package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/urfave/cli/v3"

	copystore "github.com/formulary/formulary/internal/store/copy"
	"github.com/formulary/formulary/internal/store/postgres"
	"github.com/formulary/formulary/internal/store/sqlite"
)

func migrateCommand(streams Streams) *cli.Command {
	const where = "sqlite:DIR or postgres://USER@HOST/NAME"
	return &cli.Command{
		Name:  "migrate",
		Usage: "copy all submissions from one store to another",
		Description: `Copies everything, ids included, and compares the copy with its source in the end.
Stop the servers of both stores first: what is submitted meanwhile is not copied.
The target must be empty. After an interrupted copy the same command removes what it has left, and begins anew.
The key of anonymous submissions, anonymous.key in the data directory, is not copied: it is a file of its own.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Required: true, Usage: where, Sources: env("from")},
			&cli.StringFlag{Name: "to", Required: true, Usage: where, Sources: env("to")},
		},
		ArgValidator: refuseArguments,
		Action: func(ctx context.Context, cmd *cli.Command) error {
			from, err := parseLocation(cmd.String("from"))
			if err != nil {
				return usagef("--from: %w", err)
			}
			to, err := parseLocation(cmd.String("to"))
			if err != nil {
				return usagef("--to: %w", err)
			}
			if from == to {
				return usagef("--from and --to are the same store")
			}
			again := "run the same command again, which begins anew"
			return withProgress(ctx, streams, again, func(ctx context.Context, show sqlite.Progress) error {
				return migrate(ctx, streams, from, to, show)
			})
		},
	}
}

func migrate(ctx context.Context, streams Streams, from, to location, show sqlite.Progress) (err error) {
	warnings := &slog.HandlerOptions{Level: slog.LevelWarn}
	options := postgres.Options{Log: slog.New(slog.NewTextHandler(streams.Err, warnings))}
	existing := options
	existing.MustExist = true // a slip in its name would look like an empty store
	source, err := from.open(ctx, existing, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := to.open(ctx, options, unfinished)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	count, err := copystore.Copy(ctx, source, target, show)
	if errors.Is(err, copystore.ErrNotEmpty) {
		return fmt.Errorf("%s: %w", to, err)
	}
	if err != nil {
		return err
	}
	done := "%[2]d submissions copied to %[3]s and compared.\n"
	if to.url == "" {
		done += beforeStart
	}
	_, err = fmt.Fprintf(streams.Out, done, to.dir, count, to)
	return err
}
