package forms

import (
	"sort"
	"time"
)

// IsEarly reports whether the form is not open yet.
func (f *Form) IsEarly(now time.Time, zone *time.Location) bool {
	return now.Before(f.Opens.Start(zone))
}

// IsOver reports whether the form has closed.
func (f *Form) IsOver(now time.Time, zone *time.Location) bool {
	return !f.Closes.IsZero() && !now.Before(f.Closes.End(zone))
}

// Start returns the point in time in the zone; of a day its beginning.
func (m Moment) Start(zone *time.Location) time.Time { return m.day(zone, 0) }

// End returns the point in time in the zone; of a day the beginning of the next one.
func (m Moment) End(zone *time.Location) time.Time { return m.day(zone, 1) }

// day returns the beginning of the day that comes so many days after it.
func (m Moment) day(zone *time.Location, after int) time.Time {
	if m.Day == "" {
		return m.Time.In(zone)
	}
	day, err := time.Parse(time.DateOnly, m.Day)
	if err != nil {
		return time.Time{} // the parser refuses it
	}
	return startOfDay(day.AddDate(0, 0, after), zone)
}

// startOfDay returns when the day of a UTC midnight begins in a zone. Package time does
// not promise to find that: where the clocks are changed at midnight, there is no
// midnight, or there are two.
func startOfDay(day time.Time, zone *time.Location) time.Time {
	const reach = 24 * time.Hour // no zone is further from UTC
	first := day.Add(-reach)
	seconds := sort.Search(int(2*reach/time.Second), func(i int) bool {
		year, month, d := first.Add(time.Duration(i) * time.Second).In(zone).Date()
		return !time.Date(year, month, d, 0, 0, 0, 0, time.UTC).Before(day)
	})
	return first.Add(time.Duration(seconds) * time.Second).In(zone)
}
