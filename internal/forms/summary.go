package forms

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Summary is what many submissions of a form say together.
type Summary struct {
	Count       int64
	First, Last time.Time // of the submissions; zero without any
	Days        []DayCount
	Fields      []FieldSummary // by rank
}

// DayCount is the number of submissions of one day.
type DayCount struct {
	Day   time.Time // its beginning in UTC, in whichever zone the day was
	Count int64
}

// FieldSummary is what was answered to one field.
type FieldSummary struct {
	ID       string
	Answered int64         // submissions with a value that is not empty
	Options  []OptionCount // of a field with options
	Numbers  *Numbers      // of a numeric field without options

	// What follows is not part of the API's summary.

	Latest []string   // the last texts of a field for text, cut, the latest first
	Months []DayCount // of a date field: how often each month was answered, as its first day
	Beyond int64      // days in further months, where there are very many
}

// OptionCount is the number of submissions that chose a value.
type OptionCount struct {
	Value string
	Count int64
}

// Bounds of what is counted by value. Beyond the options of a field, any text
// may be stored: that of a time when the field had others, or none.
const (
	maxOtherValues = 100
	remainder      = "…" // the value under which all further ones are counted
)

// Summarizer makes a summary of submissions of one form. Its memory depends on
// neither their number nor their size. It is not safe for concurrent use.
type Summarizer struct {
	row     *Result
	summary Summary
	zone    *time.Location
	days    map[time.Time]int64 // by the day's beginning in UTC, in whichever zone the day was
	fields  []fieldCounter      // by rank
}

// fieldCounter counts the values of one field.
type fieldCounter struct {
	*Field
	answered int64
	values   valueCounter // nil if only answers are counted
}

// valueCounter sums up the values of one field.
type valueCounter interface {
	add(submissionID int64, value string)
	addTo(sum *FieldSummary)
}

// NewSummarizer makes a Summarizer for submissions of the form. Days are those of the
// zone, as in filters.
func (f *Form) NewSummarizer(zone *time.Location) *Summarizer {
	s := &Summarizer{
		row: f.NewResult(), zone: zone, days: map[time.Time]int64{}, fields: make([]fieldCounter, len(f.Fields)),
	}
	for rank, field := range f.Fields {
		c := &s.fields[rank]
		c.Field = field
		switch {
		case len(c.Options) > 0:
			c.values = newChoiceCounter(c.Options)
		case c.Validation == Numeric:
			c.values = &numberCounter{}
		case c.Validation == DateOnly:
			c.values = &monthCounter{counts: map[string]int64{}}
		case c.Type == Textfield || c.Type == Textbox:
			c.values = &latestTexts{}
		}
	}
	return s
}

// Add counts a submission. Each must be added once.
func (s *Summarizer) Add(sub Submission) error {
	if err := s.row.Read(sub); err != nil {
		return err
	}
	for rank := range s.fields {
		if err := s.fields[rank].add(sub.ID, s.row.Fields[rank]); err != nil {
			return err
		}
	}
	if s.summary.Count == 0 || sub.Created.Before(s.summary.First) {
		s.summary.First = sub.Created
	}
	if s.summary.Count == 0 || sub.Created.After(s.summary.Last) {
		s.summary.Last = sub.Created
	}
	s.summary.Count++
	year, month, day := sub.Created.In(s.zone).Date()
	s.days[time.Date(year, month, day, 0, 0, 0, 0, time.UTC)]++
	return nil
}

// Summary returns the summary of what was added.
func (s *Summarizer) Summary() Summary {
	sum := s.summary
	for _, day := range slices.SortedFunc(maps.Keys(s.days), time.Time.Compare) {
		sum.Days = append(sum.Days, DayCount{day, s.days[day]})
	}
	for rank := range s.fields {
		c := &s.fields[rank]
		field := FieldSummary{ID: c.ID, Answered: c.answered}
		if c.values != nil {
			c.values.addTo(&field)
		}
		sum.Fields = append(sum.Fields, field)
	}
	return sum
}

func (c *fieldCounter) add(id int64, v Value) error {
	text, err := v.Text()
	if err != nil || c.isBlank(text) {
		return err
	}
	c.answered++
	switch {
	case c.values == nil:
	case c.MultiValue():
		for part := range strings.SplitSeq(text, Separator) {
			c.values.add(id, part)
		}
	default:
		c.values.add(id, text)
	}
	return nil
}

// choiceCounter counts the submissions that chose each value. A value that
// occurs twice in a submission counts once.
type choiceCounter struct {
	options []string
	choices map[string]*choice // of options and others
	others  int
	rest    choice // of all others beyond maxOtherValues
}

type choice struct {
	count int64
	last  int64 // id of the last submission that was counted
}

func newChoiceCounter(options []string) *choiceCounter {
	c := &choiceCounter{options: options, choices: make(map[string]*choice, len(options))}
	for _, o := range options {
		c.choices[o] = &choice{}
	}
	return c
}

func (c *choiceCounter) add(id int64, value string) {
	if isBlank(value) {
		return
	}
	counted := c.choices[value]
	if counted == nil {
		value = Clip(value)
		counted = c.choices[value]
	}
	switch {
	case counted != nil:
	case c.others == maxOtherValues:
		counted = &c.rest
	default:
		c.others++
		counted = &choice{}
		c.choices[strings.Clone(value)] = counted // value may share memory with a text of any length
	}
	if counted.last != id {
		counted.count, counted.last = counted.count+1, id
	}
}

// addTo lists the options in the order of the form, then the others by code
// point, then the rest of them.
func (c *choiceCounter) addTo(sum *FieldSummary) {
	list := make([]OptionCount, 0, len(c.choices)+1)
	for _, o := range c.options {
		list = append(list, OptionCount{o, c.choices[o].count})
	}
	for _, value := range slices.Sorted(maps.Keys(c.choices)) {
		if !slices.Contains(c.options, value) {
			list = append(list, OptionCount{value, c.choices[value].count})
		}
	}
	if c.rest.count > 0 {
		list = append(list, OptionCount{remainder, c.rest.count})
	}
	sum.Options = list
}

// monthCounter counts days by month.
type monthCounter struct {
	counts map[string]int64 // by the month as 2006-01
	beyond int64            // of all other months, when there are maxMonths
}

const maxMonths = 1200 // a hundred years

func (c *monthCounter) add(_ int64, day string) {
	if !IsDay(day) {
		return
	}
	month := day[:len("2006-01")]
	if _, known := c.counts[month]; !known && len(c.counts) == maxMonths {
		c.beyond++
		return
	}
	c.counts[month]++
}

func (c *monthCounter) addTo(sum *FieldSummary) {
	sum.Beyond = c.beyond
	for _, month := range slices.Sorted(maps.Keys(c.counts)) {
		first, _ := time.Parse("2006-01", month) // it was a day
		sum.Months = append(sum.Months, DayCount{first, c.counts[month]})
	}
}

const (
	maxLatest     = 5
	maxLatestText = 300 // bytes of each
)

// latestTexts are the last texts of a field. Submissions are added by ascending id.
type latestTexts []string

func (l *latestTexts) add(_ int64, text string) {
	all := append(*l, strings.Clone(Truncate(text, maxLatestText))) // it may share memory with a text of any length
	*l = all[max(len(all)-maxLatest, 0):]
}

func (l *latestTexts) addTo(sum *FieldSummary) {
	sum.Latest = slices.Clone(*l)
	slices.Reverse(sum.Latest)
}
