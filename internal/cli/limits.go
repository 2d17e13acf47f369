package cli

import (
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/server"
)

// limitFlags are those of serve that bound what callers may use at one time.
func limitFlags() []cli.Flag {
	flag := func(name string, value int, usage string) cli.Flag {
		return &cli.IntFlag{Name: name, Value: value, Usage: usage, Sources: env(name)}
	}
	d := request.DefaultLimits
	return []cli.Flag{
		flag("max-connections", server.DefaultMaxConnections, "open connections at most; further ones wait"),
		flag("max-lists", d.Lists, "lists that are read at one time; more get 503"),
		flag("max-lists-per-user", d.ListsPerUser, "lists that one user reads at one time; more get 429"),
		flag("max-large-bodies", d.LargeBodies, "bodies and answers over 64 KiB under way at one time; more get 503"),
		flag("max-large-bodies-per-user", d.LargeBodiesPerUser, "bodies and answers over 64 KiB of one user under way at one time; more get 429"),
		flag("max-uploads", d.Uploads, "bodies with files that are sent at one time; more get 503"),
		flag("max-uploads-per-user", d.UploadsPerUser, "bodies with files that one user sends at one time; more get 429"),
	}
}

// notPositive returns the name of the first of these flags that is below 1, or "".
func notPositive(cmd *cli.Command) string {
	for _, flag := range limitFlags() {
		if name := flag.Names()[0]; cmd.Int(name) < 1 {
			return name
		}
	}
	return ""
}

func limits(cmd *cli.Command) request.Limits {
	return request.Limits{
		Lists: cmd.Int("max-lists"), ListsPerUser: cmd.Int("max-lists-per-user"),
		LargeBodies: cmd.Int("max-large-bodies"), LargeBodiesPerUser: cmd.Int("max-large-bodies-per-user"),
		Uploads: cmd.Int("max-uploads"), UploadsPerUser: cmd.Int("max-uploads-per-user"),
	}
}

// limitMemory sets the soft limit of the Go heap, unless the environment does:
// the closer to it, the more often garbage is collected. Otherwise the heap may
// grow to four times of what is in use, see gcPercent.
func limitMemory(cmd *cli.Command, log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit := memoryLimit(cmd.Int("max-connections"), limits(cmd), cmd.Int64("max-body"))
	debug.SetMemoryLimit(limit)
	log.Debug("soft limit of memory set; GOMEMLIMIT sets another", "bytes", limit)
}

// memoryLimit is what the server needs when all limits are used up. It is
// generous, since a limit below what is in use makes the collector run all the
// time.
func memoryLimit(connections int, l request.Limits, maxBody int64) int64 {
	const (
		base          = 128 << 20 // pages, users, caches, the database
		perList       = 1 << 20   // two chunks, a buffer and a compressor, and a row of the largest size
		perUpload     = 1 << 20   // a chunk of a file as it arrives and as it is stored
		perConnection = 8 << 10   // most of them are idle
		copies        = 4         // of a large body: as sent, decoded, encoded, and as the answer
	)
	body := float64(maxBody)
	sum := base + float64(connections)*perConnection +
		float64(l.Lists)*(perList+body) + float64(l.LargeBodies)*copies*body + float64(l.Uploads)*(perUpload+body)
	if sum >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(sum)
}
