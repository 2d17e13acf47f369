package forms

import (
	"testing"
	"time"
	_ "time/tzdata" // the machine may have none

	"github.com/formulary/formulary/internal/testkit"
)

func TestMoment(t *testing.T) {
	for _, tt := range []struct{ day, zone, start, end string }{
		{"2026-03-31", "UTC", "2026-03-31T00:00:00Z", "2026-04-01T00:00:00Z"},
		{"2026-03-29", "Europe/Berlin", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"2018-11-04", "America/Sao_Paulo", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}, // without a midnight
		{"2018-02-18", "America/Sao_Paulo", "2018-02-18T00:00:00-03:00", "2018-02-19T00:00:00-03:00"}, // after 23:00 has come twice
		{"2025-11-02", "America/Havana", "2025-11-02T00:00:00-04:00", "2025-11-03T00:00:00-05:00"},    // with two midnights
		{"2026-06-01", "Pacific/Kiritimati", "2026-06-01T00:00:00+14:00", "2026-06-02T00:00:00+14:00"},
		{"9999-12-31", "Pacific/Niue", "9999-12-31T00:00:00-11:00", "10000-01-01T00:00:00-11:00"},
	} {
		zone, err := time.LoadLocation(tt.zone)
		testkit.Must(t, err)
		m := Moment{Day: tt.day}
		if start, end := m.Start(zone).Format(time.RFC3339), m.End(zone).Format(time.RFC3339); start != tt.start || end != tt.end {
			t.Errorf("%s in %s: from %s to %s, want from %s to %s", tt.day, tt.zone, start, end, tt.start, tt.end)
		}
	}
	noon := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	if m := (Moment{Time: noon}); !m.Start(time.UTC).Equal(noon) || !m.End(time.UTC).Equal(noon) {
		t.Errorf("a point in time is from %v to %v", m.Start(time.UTC), m.End(time.UTC))
	}
}
