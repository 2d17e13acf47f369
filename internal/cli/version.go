package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v3"
)

// Set by the linker where the build has no repository to tell them: in releases and in the Docker image.
var version, commit, commitDay string

// build is what the binary knows of itself. What it does not know is "".
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"` // the commit's day, in UTC
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild() build {
	b := build{version, commit, commitDay, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if b.Version != "" || !ok {
		return b
	}
	b.Version = cmp.Or(strings.TrimPrefix(info.Main.Version, "v"), "(devel)")
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date, _, _ = strings.Cut(s.Value, "T") // it is in UTC
		}
	}
	return b
}

// register publishes the build: the value is always 1.
func (b build) register(registry *prometheus.Registry) {
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "formulary_build_info", Help: "The version that runs, as labels.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "goversion": b.Go},
	}, func() float64 { return 1 }))
}

func (b build) String() string {
	return strings.Join(strings.Fields("formulary "+b.Version+" "+b.Commit+" "+b.Date+" "+b.Go+" "+b.Platform), " ")
}

// The library's own --version prints another line; there is one printer for
// the whole process.
func init() {
	cli.VersionPrinter = func(cmd *cli.Command) { _, _ = fmt.Fprintln(cmd.Root().Writer, thisBuild()) }
}

func versionCommand(streams Streams) *cli.Command {
	var format string
	return &cli.Command{
		Name:         "version",
		Usage:        "print the version, its commit and day, and the version of Go",
		Flags:        []cli.Flag{valueFlag("format", &format, "text", "text or json")},
		ArgValidator: refuseArguments,
		Action: func(context.Context, *cli.Command) error {
			switch format {
			case "text":
				_, err := fmt.Fprintln(streams.Out, thisBuild())
				return err
			case "json":
				return json.NewEncoder(streams.Out).Encode(thisBuild())
			default:
				return usagef("--format %q: use text or json", format)
			}
		},
	}
}
