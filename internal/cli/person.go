package cli

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/events"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/postgres"
	"github.com/formulary/formulary/internal/store/sqlite"
)

func personCommand(streams Streams) *cli.Command {
	p := &person{streams: streams}
	return &cli.Command{
		Name:      "person",
		Usage:     "export what is stored about a person, or erase it",
		ArgsUsage: "NAME",
		Description: `NAME is the user name as submissions have it, in the same upper and lower case.
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
Anonymous submissions can't be found by a name. If the name is nowhere, the exit status is 1.`,
		Flags: []cli.Flag{
			textFlag("data", &p.at.dir, "directory of the embedded database"),
			textFlag("database", &p.at.url,
				"PostgreSQL instead, postgres://USER@HOST/NAME, best given by the environment"),
			textFlag("export", &p.file, "write a ZIP file with what is stored about the person"),
			textFlag("pages", &p.directory, "with --export: directory of the pages, as for serve; a live wiki is not read"),
			boolFlag("erase", &p.erase, "delete what is stored about the person"),
			boolFlag("dry-run", &p.dryRun, "with --erase: print what would be deleted, and change nothing"),
			boolFlag("yes", &p.yes, "with --erase: do it"),
			textFlag("hooks", &p.hooks, "with --erase: file of webhooks that are told of deleted submissions, as for serve"),
			&cli.StringFlag{
				Name: "anonymous-key", Destination: &p.keyFile, Sources: env("anonymous-key"),
				DefaultText: anonymousKeyFile + " in --data",
				Usage:       "with --erase: file with the key of the server, which finds the sessions of the person",
			},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			p.name = cmd.Args().First()
			err := cmp.Or(
				refuse(cmd.Args().Len() != 1 || p.name == "" || !utf8.ValidString(p.name),
					"person takes the name of a user, in UTF-8"),
				refuse(p.erase == (p.file != ""), "person takes either --export FILE or --erase"),
				refuse(!p.erase && (p.dryRun || p.yes), "--dry-run and --yes go with --erase"),
				refuse(p.erase && !p.dryRun && !p.yes,
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
			p.listeners, err = configured(events.OpenListeners(p.hooks, nil, slog.New(slog.DiscardHandler)))
			if err != nil {
				return err
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
	erase, dryRun, yes   bool

	name      string
	streams   Streams
	listeners *events.Listeners
	store     store.Engine
	show      sqlite.Progress

	found    []foundForm
	sessions int

	archive *zip.Writer
	lines   [2]*os.File  // of submissions, and of changes to them
	pages   pages.Source // nil if they are not known
}

// foundForm is how much a form has of a person.
type foundForm struct {
	store.FormCount     // their submissions
	files, changes  int // files of these, and submissions of others that they changed
}

func (p *person) run(ctx context.Context, show sqlite.Progress) (err error) {
	p.show = show
	if p.erase && !p.dryRun {
		p.store, err = p.at.openShared(ctx, nil)
	} else {
		p.store, err = p.at.open(ctx, postgres.Options{MustExist: true, ReadOnly: true})
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.store.Close()) }()
	if err := refuseUnfinished(ctx, p.store); err != nil {
		return fmt.Errorf("%s: %w", p.at, err)
	}
	if p.erase {
		return p.eraseAll(ctx)
	}
	if err := p.export(ctx); err != nil {
		return err
	}
	return p.print()
}

// visit calls do for all submissions, or only for those of the person.
func (p *person) visit(
	ctx context.Context, stage string, own bool, do func(context.Context, *foundForm, forms.Submission) error,
) error {
	stored, err := p.store.CountForms(ctx, 0, 1)
	for i, form := range stored {
		found := &foundForm{FormCount: store.FormCount{PageID: form.PageID, FormID: form.FormID}}
		q := store.Query{PageID: form.PageID, FormID: form.FormID, Changes: true}
		if own {
			q.Username = &p.name
		}
		err := p.store.Scan(ctx, q, func(sub forms.Submission) error { return do(ctx, found, sub) })
		if found.Count+found.changes > 0 {
			p.found = append(p.found, *found)
		}
		if err != nil {
			return err
		}
		p.show(stage, "forms", int64(i+1), int64(len(stored)))
	}
	return err
}

// eraseAll begins with the sessions, so that the person does not go on. What an earlier run has left of
// deleted submissions is removed in any case.
func (p *person) eraseAll(ctx context.Context) error {
	if err := p.endSessions(ctx); err != nil {
		return err
	}
	stage := "erasing"
	if p.dryRun {
		stage = "searching"
	}
	err := p.visit(ctx, stage, false, p.eraseFrom)
	clean := ""
	if err == nil && !p.dryRun {
		clean = ", nor in what files of the embedded database have of deleted rows"
		err = p.store.Purge(ctx)
	}
	if err == nil && len(p.found) == 0 && p.sessions == 0 {
		err = fmt.Errorf("this name is nowhere in the store%s: write it as submissions have it, "+
			"in the same upper and lower case", clean)
	}
	return errors.Join(err, p.print()) // also if it was interrupted
}

func (p *person) endSessions(ctx context.Context) error {
	stored, err := p.store.Setting(ctx, store.SettingAnonymousKey)
	if err != nil || stored == "" { // no server was ever started
		return err
	}
	file := cmp.Or(p.keyFile, filepath.Join(p.at.dir, anonymousKeyFile))
	key, err := configured(service.LoadAnonymousKey(ctx, p.store, file, false))
	if err != nil {
		return fmt.Errorf("find the sessions of the person by --anonymous-key: %w", err)
	}
	sessions := session.New(session.Options{Store: p.store, OwnerKey: key})
	p.sessions, err = sessions.Count(ctx, p.name)
	if err == nil && !p.dryRun {
		err = sessions.SignOutUser(ctx, p.name)
	}
	return err
}

// eraseFrom deletes a submission of the person, or removes their name from another.
func (p *person) eraseFrom(ctx context.Context, f *foundForm, sub forms.Submission) error {
	key := keyOf(sub)
	if sub.Username == p.name {
		sub, err := p.store.Get(ctx, key) // with its files
		if err == nil && !p.dryRun {
			form := &forms.Form{PageID: key.PageID, ID: key.FormID}
			told := p.listeners.Events(form, "", false, store.SubmissionDeleted, time.Now(), nil)
			err = p.store.Delete(ctx, key, nil, told...)
		}
		if err == nil {
			f.Count, f.files = f.Count+1, f.files+len(sub.Files)
		}
		return unlessGone(err)
	}
	if !sub.IsChanged() {
		return nil
	}
	steps, err := p.store.History(ctx, sub.ID)
	if err != nil || sub.Changer != p.name && !slices.ContainsFunc(steps, p.made) {
		return err
	}
	f.changes++
	if p.dryRun {
		return nil
	}
	return p.store.RemoveName(ctx, key, p.name)
}

// unlessGone passes over what was deleted meanwhile.
func unlessGone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// made reports whether the person has made a change.
func (p *person) made(step store.Step) bool { return step.Username == p.name }

// print says what was found.
func (p *person) print() error {
	out := tabwriter.NewWriter(p.streams.Out, 0, 0, 2, ' ', 0)
	if len(p.found) > 0 {
		_, _ = fmt.Fprintln(out, "PAGE\tFORM\tSUBMISSIONS\tFILES\tCHANGES TO OTHERS") // Flush returns the error
	}
	for _, f := range p.found {
		_, _ = fmt.Fprintf(out, "%d\t%s\t%d\t%d\t%d\n", f.PageID, f.FormID, f.Count, f.files, f.changes)
	}
	if p.erase {
		_, _ = fmt.Fprintf(out, "Sessions: %d.\n", p.sessions)
	}
	_, _ = fmt.Fprintln(out, "Anonymous submissions can't be found by a name.")
	return out.Flush()
}

func keyOf(s forms.Submission) store.Key {
	return store.Key{PageID: s.PageID, FormID: s.FormID, ID: s.ID}
}
