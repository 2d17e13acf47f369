package query

import (
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
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
	fields fieldCounters
}

// Field returns counts of options, and Count, Sum and Mean of numbers. All fields of all groups at
// one time would take much memory.
func (g Group) Field(rank int) FieldSummary { return g.fields[rank].summary() }

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
	Value string `json:"value"`
	Count int64  `json:"count"`
}

// Bounds of what is counted by value. Beyond the options of a field, any text
// may be stored: that of a time when the field had others, or none.
const (
	maxOtherValues = 100
	maxMonths      = 1200 // a hundred years
	// Forms with very many fields count fewer different values of each.
	maxAllOthers = 1000
	maxAllCells  = 20_000 // numbers or months

	remainder = "…" // the value under which all further ones are counted
)

// summarizer makes a summary of submissions of one form. Its memory depends on
// neither their number nor their size. It is not safe for concurrent use.
type summarizer struct {
	row     *forms.Result
	answers []answer // of the row, by rank
	values  []choiceIndex
	summary Summary
	zone    *time.Location
	days    map[time.Time]int64 // by the day's beginning in UTC, in whichever zone the day was
	fields  fieldCounters
	groups  *grouper // nil without groups
}

// answer is what one submission has for a field.
type answer struct {
	text   string // "" if it is blank
	chosen []int  // indices of the different values, of a field with options
}

// fieldCounters count the values of all fields, by rank.
type fieldCounters []fieldCounter

// fieldCounter counts the values of one field.
type fieldCounter struct {
	*choiceIndex
	answered int64
	counts   []int64      // by the index of a value, of a field with options; nil before the first
	values   valueCounter // nil if there are options, or only answers are counted
}

// valueCounter sums up the values of one field.
type valueCounter interface {
	add(value string)
	addTo(sum *FieldSummary)
}

// newSummarizer makes a summarizer for submissions of the form. Days are those of the
// zone, as in filters. by is the rank of a field with options that makes groups, or -1.
func newSummarizer(f *forms.Form, zone *time.Location, by int) *summarizer {
	s := &summarizer{
		row: f.NewResult(), zone: zone, days: map[time.Time]int64{},
		answers: make([]answer, len(f.Fields)), values: make([]choiceIndex, len(f.Fields)),
	}
	for rank, field := range f.Fields {
		s.values[rank] = choiceIndex{Field: field, room: min(maxOtherValues, maxAllOthers/len(f.Fields))}
	}
	s.fields = newFieldCounters(s.values, false)
	if by >= 0 {
		s.groups = &grouper{rank: by, values: s.values, most: maxGroupBytes / groupBytes(f)}
	}
	return s
}

// newFieldCounters makes counters of a summary, or of a group, which has fewer figures.
func newFieldCounters(values []choiceIndex, inGroup bool) fieldCounters {
	counters := make(fieldCounters, len(values))
	cells := maxAllCells / max(len(values), 1)
	for rank := range values {
		c := &counters[rank]
		c.choiceIndex = &values[rank]
		switch {
		case len(c.Options) > 0:
		case c.Validation == forms.Numeric && inGroup:
			c.values = &totalCounter{}
		case c.Validation == forms.Numeric:
			c.values = &numberCounter{most: min(maxCells, cells)}
		case inGroup:
		case c.Validation == forms.DateOnly:
			c.values = &monthCounter{most: min(maxMonths, cells), counts: map[string]int64{}}
		case c.Type == forms.Textfield || c.Type == forms.Textbox:
			c.values = &latestTexts{}
		}
	}
	return counters
}

// Add counts a submission. Each must be added once. It returns an *Invalid if there are too many
// groups for so many fields and options.
func (s *summarizer) Add(sub forms.Submission) error {
	if err := s.read(sub); err != nil {
		return err
	}
	s.fields.add(s.answers)
	if s.groups != nil {
		if err := s.groups.add(s.answers); err != nil {
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
	s.days[forms.UTCDay(sub.Created.In(s.zone))]++
	return nil
}

// read reads the answers of a submission.
func (s *summarizer) read(sub forms.Submission) error {
	if err := s.row.Read(sub); err != nil {
		return err
	}
	for rank := range s.answers {
		text, err := s.row.Fields[rank].Text()
		if err != nil {
			return err
		}
		s.answers[rank].set(&s.values[rank], sub.ID, text)
	}
	return nil
}

func (a *answer) set(field *choiceIndex, submissionID int64, text string) {
	if field.IsBlank(text) {
		text = ""
	}
	a.text, a.chosen = text, a.chosen[:0]
	if text != "" && len(field.Options) > 0 {
		a.chosen = field.appendIndices(a.chosen, submissionID, text)
	}
}

// Summary returns the summary of what was added.
func (s *summarizer) Summary() Summary {
	sum := s.summary
	for _, day := range slices.SortedFunc(maps.Keys(s.days), time.Time.Compare) {
		sum.Days = append(sum.Days, DayCount{day, s.days[day]})
	}
	for rank := range s.fields {
		sum.Fields = append(sum.Fields, s.fields[rank].summary())
	}
	if s.groups != nil {
		sum.Groups, sum.GroupsCut = s.groups.list(), s.groups.cut
	}
	return sum
}

func (c fieldCounters) add(answers []answer) {
	for rank := range c {
		if answers[rank].text != "" {
			c[rank].add(&answers[rank])
		}
	}
}

func (c *fieldCounter) add(a *answer) {
	c.answered++
	if c.values != nil {
		c.values.add(a.text)
	}
	for _, index := range a.chosen {
		if more := max(index, len(c.Options)) + 1 - len(c.counts); more > 0 {
			c.counts = append(c.counts, make([]int64, more)...)
		}
		c.counts[index]++
	}
}

func (c *fieldCounter) summary() FieldSummary {
	sum := FieldSummary{ID: c.ID, Answered: c.answered}
	if c.values != nil {
		c.values.addTo(&sum)
	}
	if len(c.Options) > 0 {
		sum.Options = c.optionCounts(c.counts)
		if !slices.ContainsFunc(c.Options, func(o string) bool { return !forms.IsDecimal(o) }) {
			sum.Numbers = sumOf(sum.Options)
		}
	}
	return sum
}

// sumOf adds up the chosen values that are numbers.
func sumOf(list []OptionCount) *Numbers {
	n, total := &Numbers{}, new(big.Rat)
	for _, o := range list {
		if o.Count > 0 && forms.IsDecimal(o.Value) { // parsing each of 1,000 options takes long
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
	most   int              // months
	counts map[string]int64 // by the month as 2006-01
	beyond int64            // of all other months
}

func (c *monthCounter) add(day string) {
	if !forms.IsDay(day) {
		return
	}
	month := day[:len("2006-01")]
	if _, known := c.counts[month]; !known && len(c.counts) == c.most {
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

func (l *latestTexts) add(text string) {
	all := append(*l, strings.Clone(forms.Truncate(text, maxLatestText))) // it may share memory with a text of any length
	*l = all[max(len(all)-maxLatest, 0):]
}

func (l *latestTexts) addTo(sum *FieldSummary) {
	sum.Latest = slices.Clone(*l)
	slices.Reverse(sum.Latest)
}
