package forms

import "strings"

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

// ReadsWholeValue reports whether the operator has to read a value from
// beginning to end, for each rule anew. A value may be as long as a request
// body, so the number of such rules about one field needs a limit.
func (o Operator) ReadsWholeValue() bool {
	return o == Contains || o == GreaterThan || o == LessThan
}

// Match says how the rules of a condition combine.
type Match string

// A condition holds when all, or any, of its rules do.
const (
	MatchAll Match = "all"
	MatchAny Match = "any"
)

// Condition says when a field or section shows. The zero value of a field's
// pointer to it means always.
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
	case GreaterThan:
		c, ok := compareOrdered(value, r.Value)
		return ok && c > 0
	case LessThan:
		c, ok := compareOrdered(value, r.Value)
		return ok && c < 0
	default:
		return false
	}
}

// hasPart reports whether part is one of the values that are joined. It searches
// the text as a whole: to split a long list takes twenty times as long.
func hasPart(joined, part string) bool {
	if len(part) > len(joined) || strings.Contains(part, Separator) {
		return false
	}
	return joined == part ||
		strings.HasPrefix(joined, part+Separator) ||
		strings.HasSuffix(joined, Separator+part) ||
		strings.Contains(joined, Separator+part+Separator)
}

// compareOrdered compares two decimals, or two days. Anything else has no order.
func compareOrdered(a, b string) (order int, ok bool) {
	switch {
	case isDecimal(a) && isDecimal(b):
		return compareDecimals(a, b), true
	case isDay(a) && isDay(b):
		return strings.Compare(a, b), true // yyyy-MM-dd sorts as text
	default:
		return 0, false
	}
}

// Ordered reports whether a value can stand on either side of greater-than and less-than.
func Ordered(value string) bool { return isDecimal(value) || isDay(value) }

// compareDecimals compares by digits instead of by parsed number: a value may
// be as long as a request body, and must neither lose precision nor take
// quadratic time.
func compareDecimals(a, b string) int {
	negA, negB := isNegative(a), isNegative(b)
	if negA != negB {
		if negA {
			return -1
		}
		return 1
	}
	c := compareMagnitudes(strings.TrimPrefix(a, "-"), strings.TrimPrefix(b, "-"))
	if negA {
		return -c
	}
	return c
}

// isNegative is false for -0 in all its spellings.
func isNegative(decimal string) bool {
	return strings.HasPrefix(decimal, "-") && strings.Trim(decimal, "-0.") != ""
}

func compareMagnitudes(a, b string) int {
	wholeA, fracA, _ := strings.Cut(a, ".")
	wholeB, fracB, _ := strings.Cut(b, ".")
	wholeA, wholeB = strings.TrimLeft(wholeA, "0"), strings.TrimLeft(wholeB, "0")
	if len(wholeA) != len(wholeB) {
		return len(wholeA) - len(wholeB)
	}
	if c := strings.Compare(wholeA, wholeB); c != 0 {
		return c
	}
	return strings.Compare(strings.TrimRight(fracA, "0"), strings.TrimRight(fracB, "0"))
}

// visible tells, by rank, which fields show for the given values, also by
// rank. A hidden field counts as empty for the conditions that look at it,
// whatever is stored for it: nobody can see the answer that would keep a later
// field open.
func (r ranks) visible(values []string) []bool {
	v := visibility{ranks: r, values: values, blank: make([]blankness, len(r.fields))}
	shown := make([]bool, len(r.fields))
	for i := range r.fields {
		shown[i] = v.shows(i)
	}
	return shown
}

// visibility evaluates the conditions of a form for one set of values. Values
// may be as long as a request body, and rules about them many. So each
// condition is evaluated once, however many fields of a section share it, and
// whether a value is blank is found out once.
type visibility struct {
	ranks
	values []string
	holds  map[*Condition]bool // of the conditions evaluated so far
	blank  []blankness         // by rank
}

type blankness byte

const (
	blankUnknown blankness = iota
	blankYes
	blankNo
)

func (v *visibility) shows(rank int) bool {
	c := v.fields[rank].Condition
	if c == nil {
		return true
	}
	holds, known := v.holds[c]
	if !known {
		if v.holds == nil {
			v.holds = map[*Condition]bool{}
		}
		v.holds[c] = false // ends the walk, should a cycle ever get past the parser
		holds = v.evaluate(c)
		v.holds[c] = holds
	}
	return holds
}

func (v *visibility) evaluate(c *Condition) bool {
	for _, r := range c.Rules {
		if v.ruleHolds(r) == (c.Match == MatchAny) {
			return c.Match == MatchAny
		}
	}
	return c.Match != MatchAny
}

func (v *visibility) ruleHolds(r Rule) bool {
	rank := v.of(r.FieldID)
	switch {
	case rank < 0:
		return false
	case !v.shows(rank):
		return r.Holds(&v.fields[rank], "")
	case r.Operator == Empty:
		return v.isBlank(rank)
	case r.Operator == NotEmpty:
		return !v.isBlank(rank)
	default:
		return r.Holds(&v.fields[rank], v.values[rank])
	}
}

// isBlank reports whether the value of a field is blank.
func (v *visibility) isBlank(rank int) bool {
	if v.blank[rank] == blankUnknown {
		v.blank[rank] = blankNo
		if v.fields[rank].isBlank(v.values[rank]) {
			v.blank[rank] = blankYes
		}
	}
	return v.blank[rank] == blankYes
}
