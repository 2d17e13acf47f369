package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/formulary/formulary/internal/auth"
)

func passwdCommand(streams Streams) *cli.Command {
	return &cli.Command{
		Name:      "passwd",
		Usage:     "add a user or change a password",
		ArgsUsage: "FILE USER",
		Description: `Writes USER with a bcrypt hash into the htpasswd file FILE, which is made if it is not there.
Asks for the password, of 8 characters or more, on a terminal; otherwise reads one line from standard input.
A running server takes the change within two seconds.`,
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Len() != 2 {
				return usagef("passwd takes a file and a user name")
			}
			file, user := cmd.Args().Get(0), cmd.Args().Get(1)
			password, err := askPassword(streams, user)
			if err != nil {
				return err
			}
			if err := auth.SetPassword(file, user, password); err != nil { //nolint:contextcheck // a lock of moments
				return err
			}
			_, err = fmt.Fprintf(streams.Err, "password of %s set in %s\n", user, file)
			return err
		},
	}
}

func askPassword(streams Streams, user string) (string, error) {
	if f, ok := streams.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return askTwice(streams.Err, f, user)
	}
	line, err := bufio.NewReader(streams.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read password: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func askTwice(out io.Writer, terminal *os.File, user string) (string, error) {
	if err := restoreOnSignal(int(terminal.Fd())); err != nil {
		return "", err
	}
	first, err := askOnce(out, terminal, "New password for "+user+": ")
	if err != nil {
		return "", err
	}
	second, err := askOnce(out, terminal, "The same again: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", errors.New("the two passwords differ; nothing was changed")
	}
	return first, nil
}

// restoreOnSignal makes a signal that ends the process give the terminal its
// echo back first, which is off while a password is read.
func restoreOnSignal(fd int) error {
	state, err := term.GetState(fd)
	if err != nil {
		return fmt.Errorf("read password: %w", err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		s := <-signals
		_ = term.Restore(fd, state)
		os.Exit(128 + int(s.(syscall.Signal))) // as a shell reports it
	}()
	return nil
}

func askOnce(out io.Writer, terminal *os.File, prompt string) (string, error) {
	_, _ = fmt.Fprint(out, prompt)
	password, err := term.ReadPassword(int(terminal.Fd()))
	_, _ = fmt.Fprintln(out)
	if err != nil {
		return "", fmt.Errorf("read password: %w", err)
	}
	return string(password), nil
}
