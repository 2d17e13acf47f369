package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/events"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/postgres"
	"github.com/formulary/formulary/internal/store/sqlite"
	"github.com/formulary/formulary/internal/wiki"
)

func personCommand(streams Streams) *cli.Command {
	p := &person{streams: streams, Person: service.Person{AppendSubmission: encode.AppendChanged, Step: encode.Step}}
	return &cli.Command{
		Name:      "person",
		Usage:     "export what is stored about a person, or erase it",
		ArgsUsage: "NAME",
		Description: `NAME is the user name in submissions, in the same upper and lower case.
A server may run meanwhile.

   formulary person amy --data data --export amy.zip
   formulary person amy --data data --erase --dry-run
   formulary person amy --data data --erase --hooks hooks.yaml --yes

--export writes a new ZIP file: submissions.ndjson and history.ndjson, with a line for each submission of the
person and for each change that they made to one of these, and their files as files/ID/N-FIELD/NAME, where ID
is that of the submission and N counts its files. With --pages, renamed fields have the ids of now. Without it,
the last change under an earlier id has "renamed": true, and "after" tells nothing.
--erase deletes the submissions of the person for good, with files and history, tells webhooks, ends sessions,
and removes the name where it tells who changed a submission of somebody else. If it was interrupted, run it
again. Remove the account first, or the person may go on.
Anonymous submissions can't be found by a name. If nothing is found under the name, the exit status is 1.`,
		Flags: []cli.Flag{
			textFlag("data", &p.at.dir, "directory of the embedded database"),
			textFlag("database", &p.at.url,
				"PostgreSQL instead, postgres://USER@HOST/NAME, best given by the environment"),
			textFlag("export", &p.file, "write a ZIP file with what is stored about the person"),
			textFlag("pages", &p.directory, "with --export: directory of the pages, as for serve; a live wiki is not read"),
			boolFlag("erase", &p.erase, "delete what is stored about the person"),
			boolFlag("dry-run", &p.DryRun, "with --erase: print what would be deleted, and change nothing"),
			boolFlag("yes", &p.yes, "with --erase: do it"),
			textFlag("hooks", &p.hooks, "with --erase: file of webhooks that are told of deleted submissions, as for serve"),
			keyFlag(&p.keyFile, "with --erase: file with the key of the server, which finds the sessions of the person"),
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			p.Name = cmd.Args().First()
			err := cmp.Or(
				refuse(cmd.Args().Len() != 1 || p.Name == "" || !utf8.ValidString(p.Name),
					"person takes the name of a user, in UTF-8"),
				refuse(p.erase == (p.file != ""), "person takes either --export FILE or --erase"),
				refuse(!p.erase && (p.DryRun || p.yes), "--dry-run and --yes go with --erase"),
				refuse(p.erase && !p.DryRun && !p.yes,
					"--erase deletes for good: look with --dry-run what that would be, and add --yes"),
				p.at.check(),
				refuse(p.erase && p.at.dir == "" && p.keyFile == "",
					"--erase with --database needs --anonymous-key FILE: the key of the servers finds the sessions of the person"),
			)
			if err != nil {
				return err
			}
			interrupted := "nothing was exported"
			if p.erase {
				interrupted = "run it again"
			}
			return withProgress(ctx, streams, interrupted, p.run)
		},
	}
}

// person is who is exported or erased.
type person struct {
	at                   location
	keyFile, hooks, file string
	directory            string // of the pages
	erase, yes           bool
	streams              Streams
	service.Person
}

func (p *person) run(ctx context.Context, show sqlite.Progress) (err error) {
	quiet := slog.New(slog.DiscardHandler)
	listeners, err := configured(events.OpenListeners(p.hooks, nil, quiet))
	if err != nil {
		return err
	}
	opened, how := postgres.Options{MustExist: true, ReadOnly: true}, 0
	if p.erase && !p.DryRun {
		opened.ReadOnly, how = false, shared
	}
	s, err := p.at.open(ctx, opened, how)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	options := service.Options{Store: s, Files: s, Now: time.Now, Events: listeners.Events}
	if !p.erase && p.directory != "" && !wiki.IsAddress(p.directory) {
		directory, openErr := pages.OpenDirectory(p.directory, &markup.Options{}, quiet)
		if options.Pages, err = configured[pages.Source](directory, openErr); err != nil {
			return err
		}
	}
	p.Service, p.Show = service.New(options), show
	if p.erase {
		return p.eraseAll(ctx, s)
	}
	found, err := p.Export(ctx, p.file)
	if errors.Is(err, service.ErrNoSubmissions) {
		return fmt.Errorf("%w: write it in the same upper and lower case as in submissions. "+
			"--erase --dry-run also finds it in changes to submissions of others, and in sessions", err)
	}
	if err != nil {
		return err
	}
	return p.print(found)
}

// findSessions adds the sessions of the person, which the key of the server finds.
func (p *person) findSessions(ctx context.Context, s store.Engine) error {
	stored, err := s.Setting(ctx, store.SettingAnonymousKey)
	if err != nil || stored == "" { // no server was ever started
		return err
	}
	file := cmp.Or(p.keyFile, filepath.Join(p.at.dir, anonymousKeyFile))
	key, err := configured(service.LoadAnonymousKey(ctx, s, file, false))
	if err != nil {
		return fmt.Errorf("find the sessions of the person by --anonymous-key: %w", err)
	}
	p.Sessions = session.New(session.Options{Store: s, OwnerKey: key})
	return nil
}

// eraseAll prints the erased submissions, also if it was interrupted.
func (p *person) eraseAll(ctx context.Context, s store.Engine) error {
	if err := p.findSessions(ctx, s); err != nil {
		return err
	}
	found, err := p.Erase(ctx)
	if found == nil {
		return err
	}
	if err == nil && len(found.Forms) == 0 && found.Sessions == 0 {
		clean := ""
		if !p.DryRun {
			clean = ", nor in deleted rows that the database files still hold"
		}
		err = fmt.Errorf("nothing was found under this name%s: write it in the same upper and "+
			"lower case as in submissions", clean)
	}
	return errors.Join(err, p.print(found))
}

// print says what was found.
func (p *person) print(found *service.PersonalData) error {
	out := tabwriter.NewWriter(p.streams.Out, 0, 0, 2, ' ', 0)
	if len(found.Forms) > 0 {
		_, _ = fmt.Fprintln(out, "PAGE\tFORM\tSUBMISSIONS\tFILES\tCHANGES TO OTHERS") // Flush returns the error
	}
	for _, f := range found.Forms {
		_, _ = fmt.Fprintf(out, "%d\t%s\t%d\t%d\t%d\n", f.PageID, f.FormID, f.Count, f.Files, f.Changes)
	}
	if p.erase {
		_, _ = fmt.Fprintf(out, "Sessions: %d.\n", found.Sessions)
	}
	_, _ = fmt.Fprintln(out, "Anonymous submissions can't be found by a name.")
	return out.Flush()
}
