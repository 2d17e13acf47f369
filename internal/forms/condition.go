package forms

import (
	"cmp"
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

// Operators lists every operator in the order the documentation names them.
var Operators = []Operator{Equals, NotEquals, InList, Contains, Empty, NotEmpty, GreaterThan, LessThan}

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
	Match Match
	Rules []Rule // never empty
}

// Rule compares one field's value. Value holds the list of InList joined with
// Separator, and is empty for Empty and NotEmpty.
type Rule struct {
	FieldID  string
	Operator Operator
	Value    string
}

// Holds reports whether the rule holds for the value of field f.
func (r Rule) Holds(f *Field, value string) bool {
	switch r.Operator {
	case Equals:
		return value == r.Value
	case NotEquals:
		return value != r.Value
	case InList:
		return hasPart(r.Value, value)
	case Contains:
		if f.MultiValue() {
			return hasPart(value, r.Value)
		}
		return strings.Contains(value, r.Value)
	case Empty:
		return f.isBlank(value)
	case NotEmpty:
		return !f.isBlank(value)
	case GreaterThan, LessThan:
		c, ok := orderOf(value).compare(orderOf(r.Value))
		return ok && (r.Operator == GreaterThan && c > 0 || r.Operator == LessThan && c < 0)
	default:
		return false
	}
}

// Scans reports whether the time that the rule takes grows with the length of the
// value.
func (r Rule) Scans() bool {
	return r.Operator != Equals && r.Operator != NotEquals && r.Operator != InList
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

// order is a value as greater-than and less-than compare it: a number or a day.
// Any other value is unordered.
type order struct {
	kind   orderKind
	number float64
	day    string
}

type orderKind byte

const (
	unordered orderKind = iota
	numberOrder
	dayOrder
)

func orderOf(value string) order {
	if number, ok := parseNumber(value); ok {
		return order{kind: numberOrder, number: number}
	}
	if isDay(value) {
		return order{kind: dayOrder, day: value}
	}
	return order{}
}

// parseNumber parses a decimal as validation allows it. One that is too large
// for a float64 is infinite.
func parseNumber(value string) (number float64, ok bool) {
	if !isDecimal(value) {
		return 0, false
	}
	number, _ = strconv.ParseFloat(value, 64) // the only error is that it is infinite
	if number == 0 {
		return 0, true // not -0
	}
	return number, true
}

// compare returns ok as false where there is no order between the two.
func (o order) compare(other order) (c int, ok bool) {
	if o.kind != other.kind || o.kind == unordered {
		return 0, false
	}
	return cmp.Or(cmp.Compare(o.number, other.number), cmp.Compare(o.day, other.day)), true // yyyy-MM-dd sorts as text
}

// Ordered reports whether greater-than and less-than can compare a value.
func Ordered(value string) bool { return orderOf(value).kind != unordered }
