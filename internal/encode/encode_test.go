package encode

import (
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

func TestTimestampIsInUTCWithAllItsDigits(t *testing.T) {
	for want, at := range map[string]time.Time{
		"2025-11-15T00:00:00.123+0000": time.Date(2025, 11, 15, 2, 0, 0, 123_999_999, time.FixedZone("CEST", 2*60*60)),
		"0099-01-02T03:04:05.006+0000": time.Date(99, 1, 2, 3, 4, 5, 6_999_999, time.UTC),
		"9999-12-31T23:59:59.999+0000": time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		"2024-02-29T23:30:00.000+0000": time.Date(2024, 3, 1, 5, 0, 0, 0, time.FixedZone("", 5*3600+1800)),
	} {
		testkit.Same(t, at, string(appendTimestamp(nil, at)), want)
	}
}
