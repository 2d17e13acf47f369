package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/store/sqlite"
	"github.com/formulary/formulary/internal/store/transfer"
)

func verifyCommand(streams Streams) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check that a store or a backup is whole",
		ArgsUsage: "[FILE]",
		Description: "Checks the store that --data or --database names, while servers may go on writing to it, or the backup FILE:\n" +
			"its schema, its pages and indexes, that ids and forms fit together, that every submission and every file can be read, and in a\n" +
			"backup the digest of all that was backed up. It changes nothing. Exits with 1 and says what is wrong, if anything is.\n" +
			"The checksum is the same for every store and backup with the same submissions and files.",
		Flags: copyFlags(),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			verify, err := verification(cmd)
			if err != nil {
				return err
			}
			ctx, stop := untilSignal(ctx, endSignals()...)
			defer stop()
			err = verify(ctx, streams)
			if err != nil && ctx.Err() != nil {
				return errors.New("interrupted; it is not known whether all is well")
			}
			return err
		},
	}
}

// verification reads the flags and the argument. A file comes before a store
// that the environment names.
func verification(cmd *cli.Command) (func(context.Context, Streams) error, error) {
	file := cmd.Args().First()
	switch {
	case cmd.Args().Len() > 1:
		return nil, &usageError{errors.New("verify takes one file"), "verify --help"}
	case strings.Contains(file, "://"):
		return nil, &usageError{errors.New("a URL is no file: give the database by --database"), "verify --help"}
	case file != "" && cmd.IsSet("data"):
		return nil, &usageError{errors.New("a file and --data are two things to check: give one"), "verify --help"}
	case file != "":
		return func(ctx context.Context, streams Streams) error { return verifyBackup(ctx, streams, file) }, nil
	}
	at, err := locateOne(cmd)
	if err != nil {
		return nil, err
	}
	if at.url != "" {
		return func(ctx context.Context, streams Streams) error { return verifyDatabase(ctx, streams, at) }, nil
	}
	return func(ctx context.Context, streams Streams) error { return verifyStore(ctx, streams, at) }, nil
}

func verifyBackup(ctx context.Context, streams Streams, file string) error {
	bar := newProgress(streams.Err)
	report, err := sqlite.VerifyBackup(ctx, file, bar.show)
	bar.end()
	if err != nil {
		return err
	}
	digest := "It carries no digest, since it was not made by 'formulary backup': whether its content has changed can't be told."
	if report.Sealed {
		digest = "Its content is what was backed up."
	}
	return tellReport(streams, file, report, digest)
}

func verifyStore(ctx context.Context, streams Streams, at location) error {
	bar := newProgress(streams.Err)
	report, err := sqlite.Verify(ctx, at.dir, bar.show)
	bar.end()
	if err != nil {
		return err
	}
	return tellReport(streams, at.String(), report, "")
}

// tellReport says what was checked of a SQLite file.
func tellReport(streams Streams, name string, report sqlite.Report, digest string) error {
	lines := []string{
		fmt.Sprintf("%s: pages and indexes are whole.", name),
		submissionsAreWell(report.Submissions, report.Files, report.Checksum),
	}
	if digest != "" {
		lines = append(lines, digest)
	}
	_, err := fmt.Fprintln(streams.Out, strings.Join(lines, "\n"))
	return err
}

func submissionsAreWell(count, files int64, checksum string) string {
	text := fmt.Sprintf("%d submissions can be read and have valid ids, checksum %s.", count, checksum)
	if files > 0 {
		text += fmt.Sprintf("\n%d files have the content that was stored.", files)
	}
	return text
}

func verifyDatabase(ctx context.Context, streams Streams, at location) (err error) {
	source, err := at.openExisting(ctx, progressLogger(streams))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := refuseUnfinished(ctx, source); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	bar := newProgress(streams.Err)
	result, err := transfer.Verify(ctx, source, func(stage string, done, total int64) { bar.show(stage, "submissions", done, total) })
	bar.end()
	if err != nil {
		return fmt.Errorf("check %s: it is damaged: %w", at, err)
	}
	_, err = fmt.Fprintf(streams.Out, "%s: the schema is up to date.\n%s\n", at, submissionsAreWell(result.Submissions, result.Files, result.Checksum))
	return err
}
