package forms

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Operator compares a field's value with a rule's.
type Operator string

// The operators a page author may write.
const (
	Equals      Operator = "equals"
	NotEquals   Operator = "not-equals"
	InList      Operator = "one-of"
	Contains    Operator = "contains"
	Empty       Operator = "empty"
	NotEmpty    Operator = "not-empty"
	GreaterThan Operator = "greater-than"
	LessThan    Operator = "less-than"
)

// Between is an operator of filters only. Its value is two bounds with a Separator between
// them, both included. One of them may be empty.
const Between Operator = "between"

// Operators lists the operators of conditions in the order the documentation names them.
var Operators = []Operator{Equals, NotEquals, InList, Contains, Empty, NotEmpty, GreaterThan, LessThan}

// Names returns the words that an author may write as texts.
func Names[T ~string](words []T) []string {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
	}
	return names
}

// Match is how the rules of a condition combine.
type Match string

// A condition holds when all, or any, of its rules do.
const (
	MatchAll Match = "all"
	MatchAny Match = "any"
)

// Condition decides whether a field or section shows. A nil *Condition means
// that it always shows.
type Condition struct {
	Match Match  `json:"match"`
	Rules []Rule `json:"rules"` // never empty
}

// Rule compares one field's value. Value holds the list of InList joined with
// Separator, and is empty for Empty and NotEmpty.
type Rule struct {
	FieldID  string   `json:"fieldId"`
	Operator Operator `json:"operator"`
	Value    string   `json:"value"`
}

// Holds reports whether the rule holds for the value of field f.
func (r Rule) Holds(f *Field, value string) bool {
	switch r.Operator {
	case Equals:
		return f.equal(value, r.Value)
	case NotEquals:
		return !f.equal(value, r.Value)
	case InList:
		one, _, several := strings.Cut(value, Separator)
		return hasPart(r.Value, one) && (!several || f.equal(value, one))
	case Contains:
		if f.MultiValue() {
			return hasPart(value, r.Value)
		}
		return strings.Contains(value, r.Value)
	case Empty:
		return f.IsBlank(value)
	case NotEmpty:
		return !f.IsBlank(value)
	case GreaterThan, LessThan:
		c, ok := CompareOrdered(value, r.Value)
		return ok && (r.Operator == GreaterThan && c > 0 || r.Operator == LessThan && c < 0)
	case Between:
		from, to, _ := strings.Cut(r.Value, Separator)
		low, fromOK := CompareOrdered(value, from)
		high, toOK := CompareOrdered(value, to)
		return (from == "" || fromOK && low >= 0) && (to == "" || toOK && high <= 0)
	default:
		return false
	}
}

// Scans reports whether the time that the rule takes grows with the length of the
// value of field f.
func (r Rule) Scans(f *Field) bool {
	return f.MultiValue() || r.Operator != Equals && r.Operator != NotEquals && r.Operator != InList
}

// equal compares two answers. Several values are a set: their order follows that of the
// options on the page, which may change.
func (f *Field) equal(answer, other string) bool {
	return answer == other || f.MultiValue() && slices.Equal(asSet(answer), asSet(other))
}

func asSet(answer string) []string {
	values := strings.Split(answer, Separator)
	slices.Sort(values)
	return slices.Compact(values)
}

// hasPart reports whether part is one of the values that are joined.
func hasPart(joined, part string) bool {
	for p := range strings.SplitSeq(joined, Separator) {
		if p == part {
			return true
		}
	}
	return false
}

// ParseNumber parses a decimal as validation allows it. One that is too large
// for a float64 is infinite.
func ParseNumber(value string) (number float64, ok bool) {
	if !IsDecimal(value) {
		return 0, false
	}
	number, _ = strconv.ParseFloat(value, 64) // the only error is that it is infinite
	if number == 0 {
		return 0, true // not -0
	}
	return number, true
}

// ordered is a value that has an order: a number, or a day.
type ordered struct {
	number float64
	day    string // as 2006-01-02, which sorts as text; "" for a number
}

func parseOrdered(text string) (o ordered, ok bool) {
	if number, ok := ParseNumber(text); ok {
		return ordered{number: number}, true
	}
	return ordered{day: text}, IsDay(text)
}

func (o ordered) isDay() bool { return o.day != "" }

// compare compares two numbers, or two days. Between a number and a day there is no
// order, and ok is false.
func (o ordered) compare(p ordered) (c int, ok bool) {
	return cmp.Or(cmp.Compare(o.number, p.number), cmp.Compare(o.day, p.day)), o.isDay() == p.isDay()
}

// CompareOrdered compares two texts. ok is false unless both are numbers, or days.
func CompareOrdered(a, b string) (c int, ok bool) {
	x, okX := parseOrdered(a)
	y, okY := parseOrdered(b)
	if !okX || !okY {
		return 0, false
	}
	return x.compare(y)
}

// Ordered reports whether greater-than and less-than can compare a value.
func Ordered(value string) bool { return IsDecimal(value) || IsDay(value) }
