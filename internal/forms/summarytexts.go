package forms

import (
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	maxLatest     = 5
	maxLatestText = 300  // bytes of each
	maxMonths     = 1200 // a hundred years
)

// latestTexts are the last texts of a field. Submissions are added by ascending id.
type latestTexts []string

func (l *latestTexts) add(text string) {
	if len(text) > maxLatestText {
		text = CutText(text, maxLatestText) + "…"
	}
	all := append(*l, strings.Clone(text)) // it may share memory with a text of any length
	*l = all[max(len(all)-maxLatest, 0):]
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
