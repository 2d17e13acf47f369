package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/auth"
)

func usersCommand(streams Streams) *cli.Command {
	return &cli.Command{
		Name:  "users",
		Usage: "list or remove the users of an htpasswd file",
		Description: "'formulary passwd' adds users and changes passwords. A running server takes every change within two seconds:\n" +
			"who is removed is out by then, what they submitted stays.",
		Commands: []*cli.Command{
			{
				Name: "list", Usage: "print the names of those who can sign in, one on a line", ArgsUsage: "FILE",
				Action: func(_ context.Context, cmd *cli.Command) error { return listUsers(cmd, streams) },
			},
			{
				Name: "remove", Usage: "remove a user", ArgsUsage: "FILE USER",
				Action: func(_ context.Context, cmd *cli.Command) error { return removeUser(cmd, streams) },
			},
		},
		Action: func(context.Context, *cli.Command) error {
			return usagef("users takes a command: list FILE, or remove FILE USER")
		},
	}
}

func listUsers(cmd *cli.Command, streams Streams) error {
	if cmd.Args().Len() != 1 {
		return usagef("users list takes a file")
	}
	names, refused, err := auth.Users(cmd.Args().First())
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(streams.Out, name); err != nil {
			return err
		}
	}
	for _, reason := range refused {
		_, _ = fmt.Fprintf(streams.Err, "formulary: %s: %s\n", cmd.Args().First(), reason)
	}
	if len(refused) > 0 {
		return errFailed
	}
	return nil
}

func removeUser(cmd *cli.Command, streams Streams) error {
	if cmd.Args().Len() != 2 {
		return usagef("users remove takes a file and a user name")
	}
	file, user := cmd.Args().Get(0), cmd.Args().Get(1)
	if err := auth.RemoveUser(file, user); err != nil {
		return err
	}
	_, err := fmt.Fprintf(streams.Err, "%s removed from %s\n", user, file)
	return err
}
