package forms

import (
	"maps"
	"math/big"
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
	Groups      []Group        // by what was chosen in one field; nil if there is none
	GroupsCut   bool           // there were too many groups
}

// Group is what the submissions with one answer to a field say together. A submission
// with several answers to it is in the group of each.
type Group struct {
	Value  string // "" for no answer
	Count  int64
	Fields []FieldSummary // by rank: counts of options, and Count, Sum and Mean of numbers
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
	Numbers  *Numbers      // of a numeric field; of one with options that are numbers, Count, Sum and Mean

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
	fields  fieldCounters
	groups  *grouper // nil without groups
}

// fieldCounters count the values of all fields, by rank.
type fieldCounters []fieldCounter

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
// zone, as in filters. by is the rank of a field with options that makes groups, or -1.
func (f *Form) NewSummarizer(zone *time.Location, by int) *Summarizer {
	s := &Summarizer{row: f.NewResult(), zone: zone, days: map[time.Time]int64{}}
	s.fields = newFieldCounters(f.Fields, false)
	if by >= 0 {
		s.groups = &grouper{by: f.Fields[by], rank: by, fields: f.Fields, groups: map[string]*group{}}
	}
	return s
}

// newFieldCounters makes counters of a summary, or of a group, which has fewer figures.
func newFieldCounters(fields []*Field, inGroup bool) fieldCounters {
	counters := make(fieldCounters, len(fields))
	for rank, field := range fields {
		c := &counters[rank]
		c.Field = field
		switch {
		case len(c.Options) > 0:
			c.values = &choiceCounter{options: c.Options}
		case c.Validation == Numeric && inGroup:
			c.values = &totalCounter{}
		case c.Validation == Numeric:
			c.values = &numberCounter{}
		case inGroup:
		case c.Validation == DateOnly:
			c.values = &monthCounter{counts: map[string]int64{}}
		case c.Type == Textfield || c.Type == Textbox:
			c.values = &latestTexts{}
		}
	}
	return counters
}

// Add counts a submission. Each must be added once.
func (s *Summarizer) Add(sub Submission) error {
	if err := s.row.Read(sub); err != nil {
		return err
	}
	if err := s.fields.add(sub.ID, s.row); err != nil {
		return err
	}
	if s.groups != nil {
		if err := s.groups.add(sub.ID, s.row); err != nil {
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
	sum.Fields = s.fields.summaries()
	if s.groups != nil {
		sum.Groups, sum.GroupsCut = s.groups.list(), s.groups.cut
	}
	return sum
}

func (c fieldCounters) add(id int64, row *Result) error {
	for rank := range c {
		if err := c[rank].add(id, row.Fields[rank]); err != nil {
			return err
		}
	}
	return nil
}

func (c fieldCounters) summaries() (list []FieldSummary) {
	for rank := range c {
		field := FieldSummary{ID: c[rank].ID, Answered: c[rank].answered}
		if values := c[rank].values; values != nil {
			values.addTo(&field)
		}
		list = append(list, field)
	}
	return list
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

func (c *choiceCounter) add(id int64, value string) {
	if isBlank(value) {
		return
	}
	counted := c.choices[value]
	if counted == nil {
		counted = c.newChoice(value)
	}
	if counted.last != id {
		counted.count, counted.last = counted.count+1, id
	}
}

// newChoice returns where a value is counted that is counted for the first time, or is
// none of the options.
func (c *choiceCounter) newChoice(value string) *choice {
	if c.choices == nil {
		c.choices = map[string]*choice{}
	}
	if isOption := slices.Contains(c.options, value); !isOption {
		value = Clip(value)
		if counted := c.choices[value]; counted != nil {
			return counted
		}
		if c.others == maxOtherValues {
			return &c.rest
		}
		c.others++
	}
	counted := &choice{}
	c.choices[strings.Clone(value)] = counted // value may share memory with a text of any length
	return counted
}

// addTo lists the options in the order of the form, then the others by code
// point, then the rest of them.
func (c *choiceCounter) addTo(sum *FieldSummary) {
	list := make([]OptionCount, 0, len(c.choices)+1)
	for _, o := range c.options {
		list = append(list, OptionCount{o, c.countOf(o)})
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
	if !slices.ContainsFunc(c.options, func(o string) bool { return !IsDecimal(o) }) {
		sum.Numbers = sumOf(list)
	}
}

func (c *choiceCounter) countOf(value string) int64 {
	if counted := c.choices[value]; counted != nil {
		return counted.count
	}
	return 0
}

// sumOf adds up the chosen values that are numbers.
func sumOf(list []OptionCount) *Numbers {
	n, total := &Numbers{}, new(big.Rat)
	for _, o := range list {
		if IsDecimal(o.Value) {
			x, _ := new(big.Rat).SetString(o.Value) // it is a decimal
			total.Add(total, x.Mul(x, new(big.Rat).SetInt64(o.Count)))
			n.Count += o.Count
		}
	}
	sum, _ := total.Float64()
	if n.Sum = min(max(sum, -largestNumber), largestNumber); n.Count > 0 {
		n.Mean = n.Sum / float64(n.Count)
	}
	return n
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
