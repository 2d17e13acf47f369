package cli

import (
	"math"
	"testing"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/server"
)

func TestMemoryLimit(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		connections int
		limits      request.Limits
		maxBody     int64
		want        int64
	}{
		{server.DefaultMaxConnections, request.DefaultLimits, request.DefaultMaxBody, 942 * mib},
		{1, request.Limits{Lists: 1, LargeBodies: 1}, 1, 128*mib + 8<<10 + mib + 5},
		{100, request.Limits{Lists: 10, LargeBodies: 10}, 10 * mib, (128+10+100+400)*mib + 100*8<<10},
		{1, request.Limits{Uploads: 10}, 3 * mib, (128+40)*mib + 8<<10},
		{math.MaxInt, request.DefaultLimits, math.MaxInt64, math.MaxInt64},
	} {
		if got := memoryLimit(tt.connections, tt.limits, tt.maxBody); got/mib != tt.want/mib {
			t.Errorf("%+v: %d, want %d", tt, got, tt.want)
		}
	}
}
