// Package cli is the command line: a file per command. It alone picks the storage
// engine and puts the parts together.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"
)

// Streams are what a command reads from and writes to.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// errFailed is the error of a command that has printed what is wrong.
var errFailed = errors.New("failed")

// Run runs the command line and returns the exit status: 0, 1 for a failure, 2
// for a wrong call or configuration. systemd restarts the server after 1, not after 2.
func Run(ctx context.Context, args []string, streams Streams) int {
	root := Root(streams)
	started := false
	root.Before = func(ctx context.Context, _ *cli.Command) (context.Context, error) {
		started = true
		return ctx, nil
	}
	err := advise(root.Run(ctx, args))
	wrong, isConfig := errors.AsType[*configError](err)
	switch {
	case err == nil:
		return 0
	// urfave/cli does not call OnUsageError for an environment variable that can't be
	// parsed. An error before any command has started is of the call.
	case isConfig && wrong.usage || !started:
		help := "--help"
		if c := root.Command(root.Args().First()); c != nil {
			help = c.Name + " --help"
		}
		_, _ = fmt.Fprintf(streams.Err, "formulary: %v\nRun 'formulary %s' to see how it is called.\n", err, help)
		return 2
	case !errors.Is(err, errFailed):
		_, _ = fmt.Fprintf(streams.Err, "formulary: %v\n", err)
	}
	if isConfig {
		return 2
	}
	return 1
}

// refuseArguments is the ArgValidator of commands that have flags only. Unlike Before, it is
// called neither for shell completion nor for help.
func refuseArguments(_ context.Context, cmd *cli.Command) error {
	if !cmd.Args().Present() {
		return nil
	}
	return usagef("%s takes no argument, but got %s", cmd.Name, quoteArgument(cmd.Args().First()))
}

// configError is a wrong call, or a file of the configuration that can't be used. Trying
// again does not help.
type configError struct {
	error
	usage bool // it is the call
}

func usagef(format string, args ...any) error { return &configError{fmt.Errorf(format, args...), true} }

func (e *configError) Unwrap() error { return e.error }

// configured is for what is made of files of the configuration: its error is a configError.
func configured[T any](value T, err error) (T, error) {
	if err != nil {
		err = &configError{err, false}
	}
	return value, err
}

// Root is the command of which all others are a part.
func Root(streams Streams) *cli.Command {
	root := &cli.Command{
		Name:    "formulary",
		Usage:   "forms on wiki pages, and the submissions that people make to them",
		Version: thisBuild().Version,
		Description: `Every flag can be given by an environment variable instead; 'formulary COMMAND --help' names both.
Shell completion: source <(formulary completion bash), or zsh, fish, pwsh.
Exit status: 0 for success, 1 for a failure or for problems found, 2 for a wrong call or configuration.`,
		Commands: []*cli.Command{
			serveCommand(streams), checkCommand(streams), passwdCommand(streams), usersCommand(),
			migrateCommand(streams), backupCommand(streams), restoreCommand(streams), verifyCommand(streams),
			hooksCommand(), personCommand(streams), healthCommand(streams), versionCommand(streams),
		},
		Reader: streams.In, Writer: streams.Out, ErrWriter: streams.Err,
		EnableShellCompletion: true,
		ExitErrHandler:        func(context.Context, *cli.Command, error) {}, // Run decides
		OnUsageError:          asUsageError,
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return usagef("there is no command %s", quoteArgument(cmd.Args().First()))
			}
			return cli.ShowRootCommandHelp(cmd)
		},
	}
	configure(root.Commands)
	return root
}

// configure has errors of flags printed as those of other wrong calls. A command without
// subcommands gets none for help: "formulary check help" checks the file help.
func configure(commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError, c.HideHelpCommand = asUsageError, len(c.Commands) == 0
		configure(c.Commands)
	}
}

// asUsageError names the flag that is most like an unknown one, if they begin alike.
func asUsageError(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return &configError{err, true}
	}
	if hint := similar(cmd, name); hint != "" {
		return usagef("%s has no flag --%s: did you mean --%s?", cmd.Name, name, hint)
	}
	return usagef("%s has no flag --%s", cmd.Name, name)
}

// similar is the flag that is most like an unknown one, if they begin alike.
func similar(cmd *cli.Command, name string) string {
	hint := strings.TrimPrefix(cli.SuggestFlag(cmd.Flags, name, false), "--")
	if name == "" || !strings.HasPrefix(hint, name[:1]) {
		return ""
	}
	return hint
}

// quoteArgument quotes an argument for a message. It hides URLs: that of a database
// may have a password in it.
func quoteArgument(arg string) string {
	if strings.Contains(arg, "://") {
		return "a URL"
	}
	return strconv.Quote(arg)
}

// env names the environment variable of a flag.
func env(flag string) cli.ValueSourceChain { return cli.EnvVars(variableOf(flag)) }

func variableOf(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

const variablePrefix = "FORMULARY_"

// otherVariable matches what is no flag: passwords, and what Kubernetes sets for a service of this name.
var otherVariable = regexp.MustCompile(`^smtp-password$|^wiki-(user|password|token)$|(^|-)(port|service-host)(-|$)`)

// warnOfVariables warns of variables that may be misspelt. Those of other commands are known, too.
func warnOfVariables(cmd *cli.Command, log *slog.Logger) {
	for _, text := range os.Environ() {
		variable, _, _ := strings.Cut(text, "=")
		name, ours := strings.CutPrefix(variable, variablePrefix)
		name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		isFlag := func(c *cli.Command) bool { return similar(c, name) == name }
		if ours && !otherVariable.MatchString(name) && !slices.ContainsFunc(cmd.Root().Commands, isFlag) {
			attrs := []any{"name", variable}
			if near := similar(cmd, name); near != "" {
				attrs = append(attrs, "did_you_mean", variableOf(near))
			}
			log.Warn("unknown environment variable", attrs...)
		}
	}
}

// textFlag is a flag with its environment variable, as are those below. Parsing sets what
// to points to.
func textFlag(name string, to *string, usage string) cli.Flag { return valueFlag(name, to, "", usage) }

func valueFlag(name string, to *string, value, usage string) cli.Flag {
	return &cli.StringFlag{Name: name, Destination: to, Value: value, Usage: usage, Sources: env(name)}
}

// keyFlag names the file with the key of anonymous submissions.
func keyFlag(to *string, usage string) cli.Flag {
	return &cli.StringFlag{
		Name: "anonymous-key", Destination: to, DefaultText: anonymousKeyFile + " in --data", Usage: usage,
		Sources: env("anonymous-key"),
	}
}

func listFlag(name string, to *[]string, usage string) cli.Flag {
	return &cli.StringSliceFlag{Name: name, Destination: to, Usage: usage, Sources: env(name)}
}
