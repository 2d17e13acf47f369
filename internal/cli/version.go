package cli

import (
	"context"
	_ "embed" // for revision.txt
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/urfave/cli/v3"
)

// version is set where the build has no repository to tell it, as in the Docker image.
var version = ""

// revision is filled in by git archive, and so in the tarball of a release: the
// commit, its time, and the tag unless there is none. See .gitattributes.
//
//go:embed revision.txt
var revision string

// Version is the release, or what the build knows of itself.
func Version() string {
	if version != "" {
		return version
	}
	if v := archivedVersion(revision); v != "" {
		return v
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// archivedVersion is the tag, or the version that Go gives a commit without one.
// It is empty where git archive did not make the files.
func archivedVersion(revision string) string {
	var commit, tag string
	var seconds int64
	if n, _ := fmt.Sscan(revision, &commit, &seconds, &tag); n < 2 || len(commit) < 12 {
		return ""
	}
	if tag != "" {
		return tag
	}
	return "v0.0.0-" + time.Unix(seconds, 0).UTC().Format("20060102150405") + "-" + commit[:12]
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
		Name:  "version",
		Usage: "print the version",
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := refuseArguments(cmd); err != nil {
				return err
			}
			return printVersion(streams.Out)
		},
	}
}
