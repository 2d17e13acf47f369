package forms

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of a filter. The work for a submission is at most MaxRules times its
// size, and what MaxFilterBytes cost for a short one.
const (
	MaxRules       = 20
	MaxFilterBytes = 4 << 10 // of all values of rules and of the search, together
)

// TooManyRules is what is wrong with a filter of more than MaxRules.
var TooManyRules = SayN("there must be at most {0} filter", "there must be at most {0} filters", MaxRules)

// Filter selects submissions by what is stored. The zero value selects all.
type Filter struct {
	Rules  []Rule // all must hold; FieldID is the id of a field, of one that has left the page, or of metadata
	Search string // must occur in the value of some field, or in its labels, upper and lower case alike; "" for any
	// Numbers has Equals and NotEquals compare the values of numeric fields as numbers.
	Numbers bool
}

// IsZero reports whether the filter selects all submissions.
func (f Filter) IsZero() bool { return len(f.Rules) == 0 && f.Search == "" }

// IDs returns the ids that the rules name.
func (f Filter) IDs() []string {
	var ids []string
	for _, r := range f.Rules {
		ids = append(ids, r.FieldID)
	}
	return ids
}

// NewRule makes a rule of a filter from what a caller wrote. What is wrong with
// it is returned as a message.
func NewRule(id, operator, value string) (rule Rule, message *Message) {
	rule = Rule{FieldID: id, Operator: Operator(operator), Value: value}
	switch {
	case rule.Operator != Between && !slices.Contains(Operators, rule.Operator):
		return rule, Say("has an unknown operator: use one of {0}", append(Names(Operators), string(Between)))
	case !storable(value):
		return rule, msgNotText
	case rule.Operator == Empty || rule.Operator == NotEmpty:
		if value != "" && value != "true" {
			return rule, Say("takes true, or nothing")
		}
		rule.Value = ""
	case rule.Operator == Between && (strings.Count(value, Separator) != 1 || value == Separator):
		return rule, Say("must be two values with ; between them, such as 1;5, of which one may be left out")
	case IsTimeColumn(id) && rule.Operator != Contains:
		return rule.withTimes()
	case rule.Operator == Between && !orderedRange(value):
		return rule, Say("must be two numbers such as 1;5, or two dates such as 2026-01-01;2026-01-31")
	case (rule.Operator == GreaterThan || rule.Operator == LessThan) && !Ordered(value):
		return rule, Say("must be a number such as 12 or -3.5, or a date such as 2026-01-31")
	}
	return rule, nil
}

// orderedRange reports whether a value has an order with both bounds of Between, where
// they are given.
func orderedRange(value string) bool {
	from, to, _ := strings.Cut(value, Separator)
	_, ok := compareOrdered(cmp.Or(from, to), cmp.Or(to, from))
	return ok
}

// withTimes writes the times of a rule as the flat model has them. Days stay: what
// they mean depends on the zone.
func (r Rule) withTimes() (rule Rule, message *Message) {
	times := []string{r.Value}
	if r.Operator == InList || r.Operator == Between {
		times = strings.Split(r.Value, Separator)
	}
	for i, text := range times {
		if IsDay(text) || text == "" && r.Operator == Between {
			continue
		}
		millis, ok := parseTime(text)
		if !ok {
			return r, Say("must be a time such as 2026-01-31T12:00:00Z or 2026-01-31, or milliseconds since 1970 " +
				"(write + as %2B in an address)")
		}
		times[i] = millis
	}
	r.Value = strings.Join(times, Separator)
	return r, nil
}

// timeLayouts are the forms of ISO 8601 that are accepted. Go accepts a
// fraction of a second after each, without it being in the layout. A time
// without a zone is in UTC.
var timeLayouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05-0700", "2006-01-02T15:04:05-07", "2006-01-02T15:04:05",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04-0700", "2006-01-02T15:04",
}

// parseTime returns the milliseconds since 1970 as a decimal. A time between two
// milliseconds becomes the half between them.
func parseTime(text string) (millis string, ok bool) {
	if isDigits(strings.TrimPrefix(text, "-")) {
		return text, true
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			millis = strconv.FormatInt(t.UnixMilli(), 10)
			if t.Nanosecond()%int(time.Millisecond) != 0 && t.Unix() >= 0 { // nothing is stored from before 1970
				millis += ".5"
			}
			return millis, true
		}
	}
	return "", false
}

// Check returns what is wrong with the filter as a whole, or nil.
func (f Filter) Check() *Message {
	size := len(f.Search)
	for _, r := range f.Rules {
		size += len(r.Value)
	}
	switch {
	case len(f.Rules) > MaxRules:
		return TooManyRules
	case size > MaxFilterBytes:
		return SayN("the values of all filters and q together must be at most {0} byte",
			"the values of all filters and q together must be at most {0} bytes", MaxFilterBytes)
	case !storable(f.Search):
		return Say("q must be valid text without NUL characters")
	default:
		return nil
	}
}

// Matcher applies a filter to submissions of one form. It is made once for a
// list. It is not safe for concurrent use.
type Matcher struct {
	fields []*Field
	rules  []columnRule
	search []byte // folded
	row    *Result
	reads  bool   // some rule, or the search, needs the row
	folded []byte // reused for each value that is searched
}

// columnRule is a rule about what convert makes of a column's value; nil leaves it as it is.
type columnRule struct {
	Rule
	column  column
	convert func(value string) string
}

func (r *columnRule) holds(value string) bool {
	f := r.column.field
	if r.convert == nil {
		return r.Holds(f, value)
	}
	isListed := r.Operator == InList && r.Holds(f, value) // a list may have times beside days
	return isListed || r.Holds(f, r.convert(value))
}

// NewMatcher makes a Matcher for submissions of the form. Days are those of the zone.
func (f *Form) NewMatcher(filter Filter, zone *time.Location) *Matcher {
	m := &Matcher{fields: f.Fields, row: f.NewResult(), search: appendFolded(nil, filter.Search)}
	m.reads = len(m.search) > 0
	fields := f.Index()
	for _, r := range splitRanges(filter.Rules) {
		rule := columnRule{Rule: r, column: fields.column(r.FieldID)}
		switch {
		case IsTimeColumn(r.FieldID) && slices.ContainsFunc(strings.Split(r.Value, Separator), IsDay):
			rule.convert = func(millis string) string { return dayOf(millis, zone) }
		case filter.Numbers && rule.column.field.Validation == Numeric && (r.Operator == Equals || r.Operator == NotEquals):
			rule.Value, rule.convert = shortNumber(r.Value), shortNumber
		}
		m.rules = append(m.rules, rule)
		m.reads = m.reads || rule.column.stored()
	}
	return m
}

// splitRanges makes two rules of each Between with two bounds: one may be a day and the
// other a time.
func splitRanges(rules []Rule) (split []Rule) {
	for _, r := range rules {
		from, to, _ := strings.Cut(r.Value, Separator)
		if r.Operator == Between && from != "" && to != "" {
			r.Value = from + Separator
			split = append(split, r)
			r.Value = Separator + to
		}
		split = append(split, r)
	}
	return split
}

// Match reports whether the filter selects the submission.
func (m *Matcher) Match(s Submission) (bool, error) {
	if m.reads {
		if err := m.row.Read(s); err != nil {
			return false, err
		}
	}
	value := ""
	for i := range m.rules {
		r := &m.rules[i]
		if i == 0 || r.FieldID != m.rules[i-1].FieldID { // else it is decoded already
			var err error
			if value, err = r.column.text(s, m.row); err != nil {
				return false, err
			}
		}
		if !r.holds(value) {
			return false, nil
		}
	}
	return m.found()
}

// shortNumber returns a decimal without zeros that change nothing. Equal numbers of any
// length have the same. Other texts stay.
func shortNumber(text string) string {
	if !IsDecimal(text) {
		return text
	}
	digits, negative := strings.CutPrefix(text, "-")
	digits = strings.TrimLeft(digits, "0")
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	switch {
	case digits == "":
		return "0"
	case negative:
		return "-" + digits
	}
	return digits
}

// dayOf returns the day of a time in a zone. A rule that names a day compares it with
// that, so that it means the whole day.
func dayOf(millis string, zone *time.Location) string {
	n, _ := strconv.ParseInt(millis, 10, 64) // as the column writes it
	return time.UnixMilli(n).In(zone).Format(time.DateOnly)
}

// IsTimeColumn reports whether the id is that of metadata which is a time.
func IsTimeColumn(id string) bool { return id == ColumnTimestamp || id == ColumnChanged }

// found reports whether some value of the row has the text that is searched.
func (m *Matcher) found() (bool, error) {
	if len(m.search) == 0 {
		return true, nil
	}
	for rank, v := range m.row.Fields {
		if found, err := m.contains(v, m.fields[rank]); found || err != nil {
			return found, err
		}
	}
	for _, v := range m.row.Retired {
		if found, err := m.contains(v.Value, &Field{}); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// contains looks into the value of a field, and into the labels of the options in it. No
// search has the NUL between them.
func (m *Matcher) contains(v Value, f *Field) (bool, error) {
	text, err := v.Text()
	m.folded = appendFolded(m.folded[:0], text)
	if label := f.LabelOf(text); label != text {
		m.folded = appendFolded(append(m.folded, 0), label)
	}
	return err == nil && bytes.Contains(m.folded, m.search), err
}
