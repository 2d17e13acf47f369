package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"
)

// version is set where the build has no repository to tell it, as in the Docker image.
var version = ""

// Version is the release, or what the build knows of itself.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// The library's own --version prints another line; there is one printer for
// the whole process.
func init() {
	cli.VersionPrinter = func(cmd *cli.Command) { _ = printVersion(cmd.Root().Writer) }
}

func printVersion(out io.Writer) error {
	_, err := fmt.Fprintf(out, "formulary %s %s %s/%s\n", Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func versionCommand(streams Streams) *cli.Command {
	return &cli.Command{
		Name:         "version",
		Usage:        "print the version",
		ArgValidator: refuseArguments,
		Action:       func(context.Context, *cli.Command) error { return printVersion(streams.Out) },
	}
}
