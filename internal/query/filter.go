package query

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// Limits of a filter. The work for a submission is at most MaxRules times its
// size, and what MaxFilterBytes cost for a short one.
const (
	MaxRules       = 20
	MaxFilterBytes = 4 << 10 // of all values of rules and of the search, together
)

// TooManyRules is what is wrong with a filter of more than MaxRules.
var TooManyRules = forms.SayN("there must be at most {0} filter", "there must be at most {0} filters", MaxRules)

// Filter selects submissions by what is stored. The zero value selects all.
type Filter struct {
	Rules  []forms.Rule // all must hold; FieldID is the id of a field, of one that has left the page, or of metadata
	Search string       // must occur in the value of some field, or in its labels, upper and lower case alike; "" for any
	// Numbers has Equals and NotEquals compare the values of numeric fields as numbers.
	Numbers bool
}

// IsZero reports whether the filter selects all submissions.
func (f Filter) IsZero() bool { return len(f.Rules) == 0 && f.Search == "" }

// NewRule makes a rule of a filter from what a caller wrote. What is wrong with
// it is returned as a message.
func NewRule(id, operator, value string) (rule forms.Rule, message *forms.Message) {
	op := forms.Operator(operator)
	rule = forms.Rule{FieldID: id, Operator: op, Value: value}
	switch {
	case op != forms.Between && !slices.Contains(forms.Operators, op):
		return rule, forms.Say("has an unknown operator: use one of {0}",
			forms.Names(append(slices.Clip(forms.Operators), forms.Between)))
	case !forms.Storable(value):
		return rule, forms.MsgNotText
	case op == forms.Empty || op == forms.NotEmpty:
		if value != "" && value != "true" {
			return rule, forms.Say("takes true, or nothing")
		}
		rule.Value = ""
	case op == forms.Between && (strings.Count(value, forms.Separator) != 1 || value == forms.Separator):
		return rule, forms.Say("must be two values with ; between them, such as 1;5, of which one may be left out")
	case IsTimeColumn(id) && op != forms.Contains:
		return withTimes(rule)
	case op == forms.Between && !orderedRange(value):
		return rule, forms.Say("must be two numbers such as 1;5, or two dates such as 2026-01-01;2026-01-31")
	case (op == forms.GreaterThan || op == forms.LessThan) && !forms.Ordered(value):
		return rule, forms.Say("must be a number such as 12 or -3.5, or a date such as 2026-01-31")
	}
	return rule, nil
}

// orderedRange reports whether a value has an order with both bounds of Between, where
// they are given.
func orderedRange(value string) bool {
	from, to, _ := strings.Cut(value, forms.Separator)
	_, ok := forms.CompareOrdered(cmp.Or(from, to), cmp.Or(to, from))
	return ok
}

// withTimes writes the times of a rule as the flat model has them. Days stay: what
// they mean depends on the zone.
func withTimes(r forms.Rule) (rule forms.Rule, message *forms.Message) {
	times := []string{r.Value}
	if r.Operator == forms.InList || r.Operator == forms.Between {
		times = strings.Split(r.Value, forms.Separator)
	}
	for i, text := range times {
		if forms.IsDay(text) || text == "" && r.Operator == forms.Between {
			continue
		}
		millis, ok := parseTime(text)
		if !ok {
			return r, forms.Say("must be a time such as 2026-01-31T12:00:00Z or 2026-01-31, or milliseconds since 1970 " +
				"(write + as %2B in an address)")
		}
		times[i] = millis
	}
	r.Value = strings.Join(times, forms.Separator)
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
	if forms.IsDigits(strings.TrimPrefix(text, "-")) {
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
func (f Filter) Check() *forms.Message {
	size := len(f.Search)
	for _, r := range f.Rules {
		size += len(r.Value)
	}
	switch {
	case len(f.Rules) > MaxRules:
		return TooManyRules
	case size > MaxFilterBytes:
		return forms.SayN("the values of all filters and q together must be at most {0} byte",
			"the values of all filters and q together must be at most {0} bytes", MaxFilterBytes)
	case !forms.Storable(f.Search):
		return forms.Say("q must be valid text without NUL characters")
	default:
		return nil
	}
}

// Matcher applies a filter to submissions of one form. It is made once for a
// list. It is not safe for concurrent use.
type Matcher struct {
	fields []*forms.Field
	rules  []columnRule
	search []byte // folded
	row    row
	folded []byte // reused for each value that is searched
}

// columnRule is a rule about what convert makes of a column's value; nil leaves it as it is.
type columnRule struct {
	forms.Rule
	column  column
	convert func(value string) string
}

func (r *columnRule) holds(value string) bool {
	f := r.column.field
	if r.convert == nil {
		return r.Holds(f, value)
	}
	isListed := r.Operator == forms.InList && r.Holds(f, value) // a list may have times beside days
	return isListed || r.Holds(f, r.convert(value))
}

// NewMatcher makes a Matcher for submissions of the form. Days are those of the zone.
func NewMatcher(f *forms.Form, filter Filter, zone *time.Location) *Matcher {
	m := &Matcher{fields: f.Fields, row: newRow(f), search: appendFolded(nil, filter.Search)}
	fields := f.Index()
	for _, r := range splitRanges(filter.Rules) {
		rule := columnRule{Rule: r, column: newColumn(fields, r.FieldID)}
		switch {
		case IsTimeColumn(r.FieldID) && slices.ContainsFunc(strings.Split(r.Value, forms.Separator), forms.IsDay):
			rule.convert = func(millis string) string { return dayOf(millis, zone) }
		case filter.Numbers && rule.column.field.Validation == forms.Numeric &&
			(r.Operator == forms.Equals || r.Operator == forms.NotEquals):
			rule.Value, rule.convert = shortNumber(r.Value), shortNumber
		}
		m.rules = append(m.rules, rule)
	}
	return m
}

// splitRanges makes two rules of each Between with two bounds: one may be a day and the
// other a time.
func splitRanges(rules []forms.Rule) (split []forms.Rule) {
	for _, r := range rules {
		from, to, _ := strings.Cut(r.Value, forms.Separator)
		if r.Operator == forms.Between && from != "" && to != "" {
			r.Value = from + forms.Separator
			split = append(split, r)
			r.Value = forms.Separator + to
		}
		split = append(split, r)
	}
	return split
}

// Match reports whether the filter selects the submission.
func (m *Matcher) Match(s forms.Submission) (bool, error) {
	m.row.set(s)
	value := ""
	for i := range m.rules {
		r := &m.rules[i]
		if i == 0 || r.FieldID != m.rules[i-1].FieldID { // else it is decoded already
			var err error
			if value, err = m.row.text(&r.column); err != nil {
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
	if !forms.IsDecimal(text) {
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
func IsTimeColumn(id string) bool { return id == forms.ColumnTimestamp || id == forms.ColumnChanged }

// found reports whether some value of the row has the text that is searched.
func (m *Matcher) found() (bool, error) {
	if len(m.search) == 0 {
		return true, nil
	}
	if err := m.row.read(); err != nil {
		return false, err
	}
	for rank, v := range m.row.Fields {
		if found, err := m.contains(v, m.fields[rank]); found || err != nil {
			return found, err
		}
	}
	for _, v := range m.row.Retired {
		if found, err := m.contains(v.Value, &forms.Field{}); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// contains looks into the value of a field, and into the labels of the options in it. No
// search has the NUL between them.
func (m *Matcher) contains(v forms.Value, f *forms.Field) (bool, error) {
	text, err := v.Text()
	m.folded = appendFolded(m.folded[:0], text)
	if label := f.LabelOf(text); label != text {
		m.folded = appendFolded(append(m.folded, 0), label)
	}
	return err == nil && bytes.Contains(m.folded, m.search), err
}
