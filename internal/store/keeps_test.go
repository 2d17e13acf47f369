package store_test

import (
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// TestInForce: what is new waits for a day, unless it deletes less.
func TestInForce(t *testing.T) {
	now := time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		before, period string
		age            time.Duration
		want           string
	}{
		{"", "", 0, ""},
		{"", "1 day", 0, ""},
		{"", "1 day", store.Grace - time.Millisecond, ""},
		{"", "1 day", store.Grace, "1 day"},
		{"", "1 day", -time.Hour, ""}, // the clock was set back
		{"1 day", "", 0, ""},
		{"1 year", "90 days", time.Hour, "1 year"},
		{"1 year", "90 days", store.Grace, "90 days"},
		{"90 days", "1 year", time.Hour, "1 year"},
		{"1 month", "30 days", time.Hour, "30 days"}, // February had 28
		{"30 days", "1 month", time.Hour, "30 days"},
		{"30 days", "1 month", store.Grace, "1 month"},
	} {
		k := store.Keep{Since: now.Add(-c.age)}
		var errs [2]error
		k.Before, errs[0] = forms.ParsePeriod(c.before)
		k.Period, errs[1] = forms.ParsePeriod(c.period)
		if got := k.InForce(now).String(); got != c.want || errs != [2]error{} {
			t.Errorf("%q after %v, before %q: %q, want %q; %v", c.period, c.age, c.before, got, c.want, errs)
		}
	}
}
