package forms

import (
	"strconv"
	"strings"
	"time"
)

// A day that a filter compares a time with means the whole day: a time equals it while
// the day lasts, and is greater from its end on.

// isTimeColumn reports whether the metadata with the given id is a time.
func isTimeColumn(id string) bool { return id == ColumnTimestamp || id == ColumnChanged }

// span is a period of time in milliseconds since 1970, both ends included.
type span struct{ from, to float64 }

// timeRule is a Rule about a time that names days.
type timeRule struct {
	operator Operator
	spans    []span
}

// newTimeRule returns ok only if the rule is about a time and names a day.
func newTimeRule(r Rule, zone *time.Location) (rule timeRule, ok bool) {
	if !isTimeColumn(r.FieldID) {
		return timeRule{}, false
	}
	parts := []string{r.Value}
	if r.Operator == InList {
		parts = strings.Split(r.Value, Separator)
	}
	rule.operator = r.Operator
	for _, part := range parts {
		if isDay(part) {
			ok = true
			day := Moment{Day: part}
			rule.spans = append(rule.spans, span{float64(day.Start(zone).UnixMilli()), float64(day.End(zone).UnixMilli() - 1)})
		} else if exact, isNumber := parseNumber(part); isNumber {
			rule.spans = append(rule.spans, span{exact, exact})
		}
	}
	return rule, ok
}

// holds reports whether the rule holds for a time in milliseconds.
func (r timeRule) holds(millis string) bool {
	at, err := strconv.ParseFloat(millis, 64)
	if err != nil {
		return false
	}
	within := false
	for _, s := range r.spans {
		switch {
		case at > s.to:
			if r.operator == GreaterThan {
				return true
			}
		case at < s.from:
			if r.operator == LessThan {
				return true
			}
		default:
			within = true
		}
	}
	switch r.operator {
	case NotEquals:
		return !within
	case Equals, InList, Contains:
		return within
	default:
		return false
	}
}
