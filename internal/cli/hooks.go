package cli

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/formulary/formulary/internal/store/sqlite"
)

func hooksCommand() *cli.Command {
	return &cli.Command{
		Name: "hooks", Usage: "list webhooks and mails that wait or have failed, try them again, test a webhook",
		Description: "A hook is the address of a program that the server tells of new, changed and deleted submissions. --hooks names a\n" +
			"file of them: see docs/events.md. list and retry also work while a server runs.\n\n" +
			"   formulary hooks list --hooks hooks.yaml --data data        what waits or has failed, and why\n" +
			"   formulary hooks retry --hooks hooks.yaml --data data crm   when the receiver of crm works again\n" +
			"   formulary hooks test --hooks hooks.yaml crm                sends an event of type test to crm",
		Flags: []cli.Flag{
			hooksFlag(),
			textFlag("data", "list, retry: directory of the embedded database"),
			textFlag("database", "list, retry: PostgreSQL instead, postgres://USER@HOST/NAME, best given by the environment"),
			valueFlag("format", "text", "list: text, or json with an object per line"),
		},
		Commands: []*cli.Command{
			{Name: "list", Usage: "print what waits and what has failed, by hook; mails are the hook mail", ArgValidator: refuseArguments, Action: listHooks},
			{Name: "retry", ArgsUsage: "[NAME…]", Usage: "queue failed events again, and make those that wait due at once", Action: retryHooks},
			{Name: "test", ArgsUsage: "NAME", Usage: "send a signed event of type test to a webhook; exit status 1 unless it answers 2xx", Action: testHook},
		},
		Action: func(context.Context, *cli.Command) error {
			return usagef("hooks takes a command: list, retry [NAME…], or test NAME")
		},
	}
}

func hooksFlag() cli.Flag {
	return textFlag("hooks", "file of webhooks, see docs/events.md; a server reads it again when it changes")
}

// loadHooks reads the file of --hooks. Without the flag there are none.
func loadHooks(cmd *cli.Command) (hooks []events.Hook, names []string, err error) {
	if file := cmd.String("hooks"); file != "" {
		hooks, err = events.LoadHooks(file)
	}
	if err != nil {
		complain(cmd.Root().ErrWriter, err)
		return nil, nil, errMisconfigured
	}
	for _, hook := range hooks {
		names = append(names, hook.Name)
	}
	return hooks, names, nil
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

// eventStore is what these commands need of a store.
type eventStore interface {
	EventCounts(ctx context.Context) ([]store.EventCount, error)
	RetryEvents(ctx context.Context, hooks []string) (failed int64, err error)
	Close() error
}

// withHooks opens the store, also beside a server, and calls do with the names of the hooks in the file,
// then that of mails, then those of hooks that have left the file.
func withHooks(ctx context.Context, cmd *cli.Command, do func(s eventStore, names []string, counts map[string]store.EventCount) error) error {
	at, err := locate(cmd)
	_, names, loadErr := loadHooks(cmd)
	if err := cmp.Or(err, loadErr); err != nil {
		return err
	}
	var s eventStore
	if at.url != "" {
		s, err = postgres.Open(ctx, postgres.Options{URL: at.url, MustExist: true, Log: slog.New(slog.NewTextHandler(cmd.Root().ErrWriter, nil))})
	} else {
		s, err = sqlite.OpenShared(ctx, at.dir) // without its lock: a server may start meanwhile
	}
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

func listHooks(ctx context.Context, cmd *cli.Command) error {
	format, file := cmd.String("format"), cmd.String("hooks")
	if format != "text" && format != "json" {
		return usagef("--format %q: use text or json", format)
	}
	return withHooks(ctx, cmd, func(_ eventStore, names []string, counts map[string]store.EventCount) error {
		out := tabwriter.NewWriter(cmd.Root().Writer, 0, 0, 2, ' ', 0)
		if format == "text" {
			_, _ = fmt.Fprintln(out, "NAME\tQUEUED\tFAILED\tOLDEST\tLAST ERROR") // Flush returns the error
		}
		for i, name := range names {
			c, oldest := counts[name], "-"
			if !c.Oldest.IsZero() {
				oldest = time.Since(c.Oldest).Round(time.Second).String()
			}
			switch {
			case name == store.MailHook && c.Hook == "": // mail need not be set up
			case format == "json":
				quote := func(text string) []byte { quoted, _ := json.Marshal(text); return quoted }
				_, _ = fmt.Fprintf(out, `{"name":%s,"queued":%d,"failed":%d,"lastError":%s}`+"\n", quote(name), c.Queued, c.Failed, quote(c.LastError))
			default:
				if file != "" && i > slices.Index(names, store.MailHook) {
					name += " (not in " + filepath.Base(file) + ")"
				}
				_, _ = fmt.Fprintf(out, "%s\t%d\t%d\t%s\t%s\n", name, c.Queued, c.Failed, oldest, cmp.Or(c.LastError, "-"))
			}
		}
		return out.Flush()
	})
}

func retryHooks(ctx context.Context, cmd *cli.Command) error {
	return withHooks(ctx, cmd, func(s eventStore, names []string, _ map[string]store.EventCount) error {
		if err := requireHooks(cmd.Args().Slice(), names); err != nil {
			return err
		}
		if cmd.Args().Present() {
			names = cmd.Args().Slice()
		}
		failed, err := s.RetryEvents(ctx, names)
		if err == nil {
			_, err = fmt.Fprintf(cmd.Root().Writer, "Failed events that were queued again: %d. Events that wait are due at once.\n", failed)
		}
		return err
	})
}

func testHook(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 1 || cmd.String("hooks") == "" {
		return usagef("hooks test takes --hooks FILE and the name of a hook in it")
	}
	hooks, names, err := loadHooks(cmd)
	if err := cmp.Or(err, requireHooks(cmd.Args().Slice(), names)); err != nil {
		return err
	}
	hook := hooks[slices.Index(names, cmd.Args().First())]
	if err := hook.Test(ctx); err != nil {
		return fmt.Errorf("%s: %w", hook.Name, err)
	}
	_, err = fmt.Fprintf(cmd.Root().Writer, "%s accepted the test event.\n", hook.Name)
	return err
}
