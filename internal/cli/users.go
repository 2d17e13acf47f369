package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/auth"
)

func usersCommand() *cli.Command {
	return &cli.Command{
		Name:  "users",
		Usage: "list or remove the users of an htpasswd file",
		Description: `'formulary passwd' adds users and changes passwords. A running server takes every change within
two seconds. A removed user is signed out by then. Their submissions stay.`,
		Commands: []*cli.Command{
			{
				Name: "list", ArgsUsage: "FILE", Action: listUsers,
				Usage: "print the names of those who can sign in, one on a line",
			},
			{
				Name: "remove", ArgsUsage: "FILE USER", Usage: "remove a user; the last one only with --yes",
				Flags:  []cli.Flag{boolFlag("yes", new(bool), "remove also the last user, so that nobody can sign in")},
				Action: removeUser,
			},
		},
		Action: func(context.Context, *cli.Command) error {
			return usagef("users takes a command: list FILE, or remove FILE USER")
		},
	}
}

func listUsers(_ context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 1 {
		return usagef("users list takes a file")
	}
	names, refused, err := auth.Users(cmd.Args().First())
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(cmd.Root().Writer, name); err != nil {
			return err
		}
	}
	for _, reason := range refused {
		_, _ = fmt.Fprintf(cmd.Root().ErrWriter, "formulary: %s: %s\n", cmd.Args().First(), reason)
	}
	if len(refused) > 0 {
		return errFailed
	}
	return nil
}

func removeUser(_ context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 2 {
		return usagef("users remove takes a file and a user name")
	}
	file, user := cmd.Args().Get(0), cmd.Args().Get(1)
	if err := auth.RemoveUser(file, user, cmd.Bool("yes")); err != nil { //nolint:contextcheck // see SetPassword
		return err
	}
	_, err := fmt.Fprintf(cmd.Root().ErrWriter, "%s removed from %s\n", user, file)
	return err
}
