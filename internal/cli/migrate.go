package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/store"
	copystore "github.com/formulary/formulary/internal/store/copy"
	"github.com/formulary/formulary/internal/store/postgres"
)

func migrateCommand(streams Streams) *cli.Command {
	return &cli.Command{
		Name:  "migrate",
		Usage: "copy all submissions from one store to another",
		Description: "Copies everything, ids included, and compares the copy with its source in the end.\n" +
			"Stop the servers of both stores first: what is submitted meanwhile is not copied.\n" +
			"The target must be empty. After an interrupted copy the same command removes what it has left, and begins anew.\n" +
			"The key of anonymous submissions, anonymous.key in the data directory, is not copied: it is a file of its own.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Required: true, Usage: "sqlite:DIR or postgres://USER@HOST/NAME", Sources: env("from")},
			&cli.StringFlag{Name: "to", Required: true, Usage: "sqlite:DIR or postgres://USER@HOST/NAME", Sources: env("to")},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := refuseArguments(cmd); err != nil {
				return err
			}
			from, err := parseLocation(cmd.String("from"))
			if err != nil {
				return &usageError{fmt.Errorf("--from: %w", err), "migrate --help"}
			}
			to, err := parseLocation(cmd.String("to"))
			if err != nil {
				return &usageError{fmt.Errorf("--to: %w", err), "migrate --help"}
			}
			if from == to {
				return &usageError{errors.New("--from and --to are the same store"), "migrate --help"}
			}
			ctx, stop := untilSignal(ctx, endSignals()...)
			defer stop()
			return migrate(ctx, streams, from, to)
		},
	}
}

func migrate(ctx context.Context, streams Streams, from, to location) (err error) {
	log := progressLogger(streams)
	source, err := from.openExisting(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := refuseUnfinished(ctx, source); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	target, err := to.open(ctx, postgres.Options{Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	return copyStore(ctx, streams, source, target, to.String())
}

func copyStore(ctx context.Context, streams Streams, from, to store.Engine, target string) error {
	bar := newProgress(streams.Err)
	count, err := copystore.Copy(ctx, from, to, func(stage string, done, total int64) { bar.show(stage, "submissions", done, total) })
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted; run the same command again, which begins anew")
	case errors.Is(err, copystore.ErrNotEmpty):
		return fmt.Errorf("%s: %w", target, err)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(streams.Out, "%d submissions copied to %s and compared.\n", count, target)
	return err
}
