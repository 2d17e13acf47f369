package forms

import (
	"maps"
	"slices"
	"time"
)

const (
	maxLatest     = 5
	maxLatestText = 300  // bytes of each
	maxMonths     = 1200 // a hundred years
)

// latestTexts keeps the last texts of a field. Submissions are added by ascending id.
type latestTexts struct {
	texts [maxLatest][]byte // reused
	count int
}

func (l *latestTexts) add(text string) {
	kept := &l.texts[l.count%maxLatest]
	l.count++
	if len(text) > maxLatestText {
		*kept = append(append((*kept)[:0], cutText(text, maxLatestText)...), "…"...)
		return
	}
	*kept = append((*kept)[:0], text...)
}

// list returns the texts, the latest first.
func (l *latestTexts) list() []string {
	var list []string
	for i := l.count - 1; i >= max(l.count-maxLatest, 0); i-- {
		list = append(list, string(l.texts[i%maxLatest]))
	}
	return list
}

// monthCounter counts days by month.
type monthCounter struct {
	counts map[string]int64 // by the month as 2006-01
	beyond int64            // of all other months, when there are maxMonths
}

func (c *monthCounter) add(day string) {
	if !isDay(day) {
		return
	}
	month := day[:len("2006-01")]
	if _, known := c.counts[month]; !known && len(c.counts) == maxMonths {
		c.beyond++
		return
	}
	c.counts[month]++
}

func (c *monthCounter) list() []DayCount {
	var list []DayCount
	for _, month := range slices.Sorted(maps.Keys(c.counts)) {
		if first, err := time.Parse("2006-01", month); err == nil { // as always: it was a day
			list = append(list, DayCount{first, c.counts[month]})
		}
	}
	return list
}
