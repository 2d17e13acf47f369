package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/events"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/postgres"
)

// hookFlags are those of the command hooks.
type hookFlags struct {
	file, format string
	at           location
	mailer       events.MailOptions
	notified     []string
}

func hooksCommand() *cli.Command {
	var f hookFlags
	return &cli.Command{
		Name: "hooks",
		Usage: "list webhooks and mails that wait or have failed, try them again or discard them, " +
			"and test a webhook or the mail server",
		Description: `A hook is the address of a program that the server tells of new, changed and deleted submissions.
--hooks names a file of them: see docs/events.md. list, retry and discard also work while a server runs.

   formulary hooks list --hooks hooks.yaml --data data        what waits or has failed, and why
   formulary hooks retry --hooks hooks.yaml --data data crm   when the receiver of crm works again
   formulary hooks discard --data data old                    when old is gone for good
   formulary hooks test --hooks hooks.yaml crm                sends an event of type test to crm
   formulary hooks test --smtp smtp://mail.example.org --mail-from forms@example.org \
     --public-url https://forms.example.org --mail-domains example.org mail ann@example.org`,
		Flags: append([]cli.Flag{
			hooksFlag(&f.file),
			textFlag("data", &f.at.dir, "list, retry, discard: directory of the embedded database"),
			textFlag("database", &f.at.url,
				"list, retry, discard: PostgreSQL instead, postgres://USER@HOST/NAME, best given by the environment"),
			valueFlag("format", &f.format, "text", "list: text, or json with an object per line"),
		}, mailFlags(&f.mailer, &f.notified)...),
		Commands: []*cli.Command{
			{
				Name: "list", ArgValidator: refuseArguments, Action: f.list,
				Usage: "print what waits and what has failed, by hook; mails are the hook mail",
			},
			{
				Name: "retry", ArgsUsage: "[NAME…]", Action: f.changeEvents,
				Usage: "queue failed events again, and make those that wait due at once",
			},
			{
				Name: "discard", ArgsUsage: "NAME…", Action: f.changeEvents,
				Usage: "remove all events of hooks, those that wait and those that have failed",
			},
			{
				Name: "test", ArgsUsage: "NAME | mail ADDRESS", Action: f.test,
				Usage: "send a signed event of type test to a webhook, or a test mail; exit status 1 unless it is accepted",
			},
		},
		Action: func(context.Context, *cli.Command) error {
			return usagef("hooks takes a command: list, retry [NAME…], discard NAME…, test NAME, or test mail ADDRESS")
		},
	}
}

func hooksFlag(to *string) cli.Flag {
	return textFlag("hooks", to, "file of webhooks, see docs/events.md; a server reads it again when it changes")
}

// load reads the file of hooks. Without one there are none.
func (f *hookFlags) load() (hooks []events.Hook, names []string, err error) {
	if f.file != "" {
		hooks, err = configured(events.LoadHooks(f.file))
	}
	for _, hook := range hooks {
		names = append(names, hook.Name)
	}
	return hooks, names, err
}

// requireHooks refuses names that are not known.
func requireHooks(names, known []string) error {
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no hook %s; there are: %s", quoteArgument(name), strings.Join(known, ", "))
		}
	}
	return nil
}

// withHooks opens the store, also beside a server, and calls do with the names of the hooks in the file,
// then that of mails, then those of hooks that have left the file.
func (f *hookFlags) withHooks(
	ctx context.Context, cmd *cli.Command,
	do func(s store.Engine, names []string, counts map[string]store.EventCount) error,
) error {
	_, names, err := f.load()
	if err := cmp.Or(f.at.check(), err); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(cmd.Root().ErrWriter, nil))
	s, err := f.at.open(ctx, postgres.Options{MustExist: true, Log: log}, shared|unfinished)
	if err != nil {
		return err
	}
	stored, err := s.EventCounts(ctx)
	names, counts := append(names, store.MailHook), map[string]store.EventCount{}
	for _, c := range stored {
		if counts[c.Hook] = c; !slices.Contains(names, c.Hook) {
			names = append(names, c.Hook)
		}
	}
	if err == nil {
		err = do(s, names, counts)
	}
	return errors.Join(err, s.Close())
}

func (f *hookFlags) list(ctx context.Context, cmd *cli.Command) error {
	if f.format != "text" && f.format != "json" {
		return usagef("--format %q: use text or json", f.format)
	}
	return f.withHooks(ctx, cmd, func(_ store.Engine, names []string, counts map[string]store.EventCount) error {
		out := tabwriter.NewWriter(cmd.Root().Writer, 0, 0, 2, ' ', 0)
		if f.format == "text" {
			_, _ = fmt.Fprintln(out, "NAME\tQUEUED\tFAILED\tOLDEST\tLAST ERROR") // Flush returns the error
		}
		for i, name := range names {
			c, oldest := counts[name], "-"
			if !c.Oldest.IsZero() {
				oldest = time.Since(c.Oldest).Round(time.Second).String()
			}
			switch {
			case name == store.MailHook && c.Hook == "": // mail need not be set up
			case f.format == "json":
				_, _ = fmt.Fprintln(out, marshal(struct {
					Name      string `json:"name"`
					Queued    int64  `json:"queued"`
					Failed    int64  `json:"failed"`
					LastError string `json:"lastError"`
				}{name, c.Queued, c.Failed, c.LastError}))
			default:
				if f.file != "" && i > slices.Index(names, store.MailHook) {
					name += " (not in " + filepath.Base(f.file) + ")"
				}
				_, _ = fmt.Fprintf(out, "%s\t%d\t%d\t%s\t%s\n", name, c.Queued, c.Failed, oldest, cmp.Or(c.LastError, "-"))
			}
		}
		return out.Flush()
	})
}

// changeEvents is retry, of all hooks by default, and discard.
func (f *hookFlags) changeEvents(ctx context.Context, cmd *cli.Command) error {
	named, discards := cmd.Args().Slice(), cmd.Name == "discard"
	if discards && len(named) == 0 {
		return usagef("hooks discard takes the names of hooks")
	}
	return f.withHooks(ctx, cmd, func(s store.Engine, names []string, _ map[string]store.EventCount) error {
		if err := requireHooks(named, names); err != nil {
			return err
		}
		if len(named) > 0 {
			names = named
		}
		change, told := s.RetryEvents, "Failed events that were queued again: %d. Events that wait are due at once.\n"
		if discards {
			change, told = s.DiscardEvents, "Events that were discarded: %d.\n"
		}
		changed, err := change(ctx, names)
		if err == nil {
			_, err = fmt.Fprintf(cmd.Root().Writer, told, changed)
		}
		return err
	})
}

func (f *hookFlags) test(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().First() == store.MailHook {
		return f.testMail(ctx, cmd)
	}
	if cmd.Args().Len() != 1 || f.file == "" {
		return usagef("hooks test takes --hooks FILE and the name of a hook in it")
	}
	hooks, names, err := f.load()
	if err := cmp.Or(err, requireHooks(cmd.Args().Slice(), names)); err != nil {
		return err
	}
	hook := hooks[slices.Index(names, cmd.Args().First())]
	status, err := hook.Test(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", hook.Name, err)
	}
	_, err = fmt.Fprintf(cmd.Root().Writer, "%s accepted the test event: it answered %d.\n", hook.Name, status)
	return err
}

func (f *hookFlags) testMail(ctx context.Context, cmd *cli.Command) error {
	address := cmd.Args().Get(1)
	if cmd.Args().Len() != 2 || f.mailer.Server == "" {
		return usagef("hooks test mail takes an address, and the flags of the server for mail: " +
			"--smtp, --mail-from, --public-url and --mail-domains")
	}
	domains, domainsErr := parseMailDomains(f.notified)
	f.mailer.Domains = domains
	mailer, err := newMailer(f.mailer)
	if err := cmp.Or(domainsErr, err); err != nil {
		return err
	}
	if err := mailer.Send(ctx, events.Mail{To: address}); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	_, err = fmt.Fprintf(cmd.Root().Writer, "The mail server accepted a test mail to %s.\n", address)
	return err
}
