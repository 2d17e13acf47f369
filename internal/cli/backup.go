package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/store/sqlite"
)

func backupCommand(streams Streams) *cli.Command {
	return &cli.Command{
		Name:      "backup",
		Usage:     "write all submissions of the embedded database to a file",
		ArgsUsage: "FILE",
		Description: `Writes what the store holds at this moment to a new file; a server may go on writing to it.
The key of anonymous submissions is not in the file: without it the file gives no name away. Keep a copy
of anonymous.key elsewhere.`,
		Flags:  embeddedFlags(),
		Action: fileAction(streams, "no backup was made", "%s backed up to %s.\n", sqlite.Backup),
	}
}

func restoreCommand(streams Streams) *cli.Command {
	return &cli.Command{
		Name:      "restore",
		Usage:     "bring all submissions of the embedded database back from a backup",
		ArgsUsage: "FILE",
		Description: `Makes a file that 'formulary backup' has written the store of a directory that has none.
Every page of the file is checked first. A restore that was killed is started over by the same command.`,
		Flags:  embeddedFlags(),
		Action: fileAction(streams, "nothing was restored", "%[1]s restored from %[2]s.\n"+beforeStart, sqlite.Restore),
	}
}

// beforeStart says what the copy of a store in a directory still needs.
const beforeStart = "Before the server starts: put your copy of anonymous.key into %[1]s, " +
	"or where --anonymous-key says, unless it\n" +
	"is there. If it is lost, start the server once with --new-anonymous-key: no submission is lost, but everybody\n" +
	"may submit once more to anonymous forms. The user that the server runs as must own these files.\n"

// fileAction runs a command on a data directory and one file. done tells both.
func fileAction(
	streams Streams, interrupted, done string, run func(ctx context.Context, dir, file string, show sqlite.Progress) error,
) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		file, err := oneFile(cmd)
		if err != nil {
			return err
		}
		dir, err := embeddedDir(cmd)
		if err != nil {
			return err
		}
		err = withProgress(ctx, streams, interrupted, func(ctx context.Context, show sqlite.Progress) error {
			return run(ctx, dir, file, show)
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(streams.Out, done, dir, file)
		return err
	}
}

func verifyCommand(streams Streams) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check that an embedded database or a backup is whole",
		ArgsUsage: "[FILE]",
		Description: `Checks the backup FILE, or else the store that --data names, while a server may go on writing to it:
its schema, its pages and indexes, that ids and forms fit together, and that every submission and every file can be
read. In a backup it finds every changed bit. It changes nothing. Exits with 1 and says what is wrong, if anything is.`,
		Flags: embeddedFlags(),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			check, argument := sqlite.Verify, embeddedDir
			if cmd.Args().Present() {
				check, argument = sqlite.VerifyBackup, oneFile
			}
			name, err := argument(cmd)
			if err != nil {
				return err
			}
			var report sqlite.Report
			verify := func(ctx context.Context, show sqlite.Progress) (err error) {
				report, err = check(ctx, name, show)
				return err
			}
			if err := withProgress(ctx, streams, "it is not known whether all is well", verify); err != nil {
				return err
			}
			_, err = fmt.Fprintf(streams.Out, "%s is whole: %d submissions, %d files.\n", name, report.Submissions, report.Files)
			return err
		},
	}
}

// embeddedFlags are for commands that know the embedded database only. They have
// --database to refuse it: the environment may name a server's database.
func embeddedFlags() []cli.Flag {
	return []cli.Flag{
		textFlag("data", nil, "directory of the embedded database"),
		textFlag("database", nil, "refused: PostgreSQL has its own tools, see 'Backup' in docs/operations.md"),
	}
}

func embeddedDir(cmd *cli.Command) (string, error) {
	dir := cmd.String("data")
	switch {
	case cmd.String("database") != "":
		return "", usagef("%s is for the embedded database, and --database or FORMULARY_DATABASE is set: "+
			"PostgreSQL has its own tools, such as pg_dump; see 'Backup' in docs/operations.md", cmd.Name)
	case dir == "":
		return "", usagef("say where submissions are: --data DIR")
	}
	return dir, nil
}

// oneFile is the only argument of a command.
func oneFile(cmd *cli.Command) (string, error) {
	file := cmd.Args().First()
	switch {
	case cmd.Args().Len() != 1 || file == "":
		return "", usagef("%s takes one file", cmd.Name)
	case strings.Contains(file, "://"): // it may have a password in it, and is not shown
		return "", usagef("%s takes a file, and got a URL", cmd.Name)
	}
	return file, nil
}

// withProgress runs what takes long until a signal ends it, and shows how far it
// has come.
func withProgress(
	ctx context.Context, streams Streams, interrupted string, run func(context.Context, sqlite.Progress) error,
) error {
	ctx, stop := untilSignal(ctx, endSignals()...)
	defer stop()
	err := run(ctx, (&progress{w: streams.Err}).show)
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted; " + interrupted)
	}
	return err
}

// progress prints a line now and then about how far long work has come.
type progress struct {
	w     io.Writer
	shown time.Time
	stage string
}

const lineEvery = 5 * time.Second

// show may be called often. The first and the last state of a stage are always shown.
func (p *progress) show(stage, unit string, done, total int64) {
	if stage == p.stage && done < total && time.Since(p.shown) < lineEvery {
		return
	}
	p.stage, p.shown = stage, time.Now()
	_, _ = fmt.Fprintf(p.w, "%s: %d of %d %s\n", stage, done, total, unit)
}
