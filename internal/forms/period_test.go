package forms_test

import (
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

func TestParsePeriod(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "90 days": "90 days", "1 day": "1 day", "1 days": "1 day", "2  week": "2 weeks",
		"18262 days": "18262 days", "2608 weeks": "2608 weeks", "600 months": "600 months", "50 years": "50 years",
	} {
		p, err := forms.ParsePeriod(text)
		again, errAgain := forms.ParsePeriod(p.String())
		if err != nil || p.String() != want || errAgain != nil || again != p {
			t.Errorf("%q is %+v, %v, which is stored as %q and read as %+v, %v", text, p, err, p, again, errAgain)
		}
	}
	for _, text := range []string{
		"0 days", "00 days", "09 days", "-1 days", "+1 days", "1.5 days", "days", "90", "90days", " 90 days", "90 days ", "90 Days",
		"90 dayss", "12 hours", "1 year 2 days", "18263 days", "2609 weeks", "601 months", "51 years", "99999999999999999999 days",
	} {
		if p, err := forms.ParsePeriod(text); err == nil || p != (forms.Period{}) {
			t.Errorf("%q is %+v, %v", text, p, err)
		}
	}
}

func TestPeriodBefore(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	testkit.Must(t, err)
	const minutes = "2006-01-02 15:04"
	for _, test := range []struct{ now, period, want string }{
		{"2026-11-18 14:05", "90 days", "2026-08-20 14:05"},
		{"2026-11-18 14:05", "2 weeks", "2026-11-04 14:05"},
		{"2026-11-18 14:05", "1 month", "2026-10-18 14:05"},
		{"2026-03-31 14:05", "1 month", "2026-02-28 14:05"},
		{"2024-03-31 14:05", "1 month", "2024-02-29 14:05"},
		{"2026-03-31 14:05", "31 days", "2026-02-28 14:05"},
		{"2024-02-29 14:05", "1 year", "2023-02-28 14:05"},
		{"2024-02-29 14:05", "4 years", "2020-02-29 14:05"},
		{"2026-01-31 14:05", "2 months", "2025-11-30 14:05"},
		{"2026-12-31 14:05", "13 months", "2025-11-30 14:05"},
		{"2026-12-31 14:05", "50 years", "1976-12-31 14:05"},
		{"2026-03-29 14:05", "1 day", "2026-03-28 14:05"}, // the clocks have been changed
	} {
		p, err := forms.ParsePeriod(test.period)
		testkit.Must(t, err)
		now, err := time.ParseInLocation(minutes, test.now, zone)
		testkit.Must(t, err)
		if got := p.Before(now).Format(minutes); got != test.want {
			t.Errorf("%s before %s is %s, want %s", test.period, test.now, got, test.want)
		}
	}
	havana, err := time.LoadLocation("America/Havana") // the 8th of March 2026 begins at 1:00
	testkit.Must(t, err)
	got := forms.Period{N: 1, Unit: "month"}.Before(time.Date(2026, 4, 8, 0, 30, 0, 0, havana))
	if want := time.Date(2026, 3, 8, 1, 0, 0, 0, havana); want.Sub(got) > time.Hour {
		t.Errorf("a month before is %s, want about %s", got, want)
	}
	if got := (forms.Period{}).Before(time.Now()); !got.IsZero() {
		t.Errorf("for ever is until %s", got)
	}
}

func TestLongerPeriod(t *testing.T) {
	t.Parallel()
	may, march := time.Date(2026, 5, 15, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		now        time.Time
		a, b, want string
	}{
		{may, "90 days", "91 days", "91 days"},
		{may, "2 weeks", "1 year", "1 year"},
		{may, "", "50 years", ""},
		{may, "29 days", "1 month", "1 month"},   // April has 30 days
		{march, "29 days", "1 month", "29 days"}, // February has 28
		{may, "1 year", "12 months", "1 year"},
	} {
		a, errA := forms.ParsePeriod(test.a)
		b, errB := forms.ParsePeriod(test.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		swapped := b.Longer(a, test.now)
		if got := a.Longer(b, test.now); got.String() != test.want || swapped.Before(test.now) != got.Before(test.now) {
			t.Errorf("the longer of %q and %q is %q, swapped %q, want %q", a, b, got, swapped, test.want)
		}
	}
}
