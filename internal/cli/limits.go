package cli

import (
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/urfave/cli/v3"

	"github.com/formulary/formulary/internal/request"
)

// limitMemory sets the soft limit of the Go heap, unless the environment does:
// the closer to it, the more often garbage is collected. Otherwise the heap may
// grow to four times of what is in use, see gcPercent.
func limitMemory(cmd *cli.Command, log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit := memoryLimit(cmd.Int("max-connections"), request.DefaultLimits, cmd.Int64("max-body"))
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
