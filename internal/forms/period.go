package forms

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Period is a number of days, weeks, months or years. The zero value is for ever.
type Period struct {
	N    int
	Unit string // day, week, month or year
}

// periodUnits has the units, and how many of them are 50 years.
var periodUnits = map[string]struct{ days, months, most int }{
	"day": {1, 0, 18262}, "week": {7, 0, 2608}, "month": {0, 1, 600}, "year": {0, 12, 50},
}

var periodText = regexp.MustCompile(`^([1-9][0-9]{0,4}) +(day|week|month|year)s?$`)

// ParsePeriod reads a period from 1 day to 50 years, as authors write it and as String returns it.
// "" is the zero value.
func ParsePeriod(text string) (Period, error) {
	if text == "" {
		return Period{}, nil
	}
	if m := periodText.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // five digits at most
		if n <= periodUnits[m[2]].most {
			return Period{n, m[2]}, nil
		}
	}
	return Period{}, fmt.Errorf("must be from 1 day to 50 years, not %q", text)
}

// String returns the period as in "90 days" and "1 year", and "" for the zero value.
func (p Period) String() string {
	switch p.N {
	case 0:
		return ""
	case 1:
		return "1 " + p.Unit
	}
	return strconv.Itoa(p.N) + " " + p.Unit + "s"
}

// Before returns the time that is the period before now, by the calendar of now's location. A day
// that its month does not have is the last one of that month. For the zero value it is the zero time.
func (p Period) Before(now time.Time) time.Time {
	if p.N == 0 {
		return time.Time{}
	}
	unit := periodUnits[p.Unit]
	before := now.AddDate(0, -p.N*unit.months, 0)
	if before.Day() < now.Day()-1 { // it is in the next month; a day less is midnight where clocks are changed then
		before = before.AddDate(0, 0, -before.Day())
	}
	return before.AddDate(0, 0, -p.N*unit.days)
}

// Longer returns that of two periods which reaches further back from now.
func (p Period) Longer(other Period, now time.Time) Period {
	if other.Before(now).Before(p.Before(now)) {
		return other
	}
	return p
}
