package forms

import "strings"

// Visible reports, by rank, which fields show when the form is filled in with
// values, also by rank. There must be a value for each field: "" for one
// without an answer. A hidden field counts as empty for the conditions that
// look at it, whatever its value is: otherwise an answer that the page does not
// show could keep a later field open.
func (f *Form) Visible(values []string) []bool { return f.Index().visible(values) }

// visible is Form.Visible.
func (x Index) visible(values []string) []bool {
	v := x.visibility(values)
	for rank := range x.fields {
		v.shows(rank)
	}
	return v.shown
}

// visibility evaluates the conditions of a form for one set of values. Values
// may be as long as a request body, and there may be many rules about them. So
// each condition is evaluated once, however many fields of a section share it,
// and the facts about a long value are computed once.
type visibility struct {
	Index
	values []string
	shown  []bool        // by rank
	known  []bool        // by rank: whether shown is final
	facts  map[int]facts // by rank: of the long values looked at so far
}

func (x Index) visibility(values []string) visibility {
	n := len(x.fields)
	both := make([]bool, 2*n)
	return visibility{Index: x, values: values, shown: both[:n], known: both[n:]}
}

func (v *visibility) shows(rank int) bool {
	if v.known[rank] {
		return v.shown[rank]
	}
	c := v.fields[rank].Condition
	first, end := rank, rank+1 // the fields that share it: those of a section follow one another
	for first > 0 && v.fields[first-1].Condition == c {
		first--
	}
	for end < len(v.fields) && v.fields[end].Condition == c {
		end++
	}
	for i := first; i < end; i++ {
		v.known[i] = true // hidden so far, which ends the walk, should a cycle ever get past the parser
	}
	holds := c == nil || v.evaluate(c)
	for i := first; i < end; i++ {
		v.shown[i] = holds
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
	rank := v.Rank(r.FieldID)
	if rank < 0 {
		return false
	}
	value := ""
	if v.shows(rank) {
		value = v.values[rank]
	}
	if len(value) < longValue {
		return r.Holds(&v.fields[rank], value)
	}
	return v.longHolds(r, rank)
}

// longValue is the number of bytes from which on the facts about a value are
// kept.
const longValue = 1 << 10

// facts are the results that rules need about a value, computed once.
type facts struct {
	blank bool
	order order
	parts map[string]bool // of a multi-value field: whether it has the values that rules look for
}

// longHolds is Rule.Holds for the long value of a field that shows.
func (v *visibility) longHolds(r Rule, rank int) bool {
	field := &v.fields[rank]
	switch {
	case r.Operator == Empty:
		return v.factsOf(rank).blank
	case r.Operator == NotEmpty:
		return !v.factsOf(rank).blank
	case r.Operator == GreaterThan, r.Operator == LessThan:
		return v.factsOf(rank).order.meets(r)
	case r.Operator == Contains && field.MultiValue():
		return v.factsOf(rank).parts[r.Value]
	default:
		return r.Holds(field, v.values[rank])
	}
}

func (v *visibility) factsOf(rank int) facts {
	known, ok := v.facts[rank]
	if !ok {
		field, value := &v.fields[rank], v.values[rank]
		known = facts{blank: field.isBlank(value), order: orderOf(value)}
		if field.MultiValue() {
			known.parts = v.askedFor(field.ID)
			for part := range strings.SplitSeq(value, Separator) {
				if _, asked := known.parts[part]; asked {
					known.parts[part] = true
				}
			}
		}
		if v.facts == nil {
			v.facts = map[int]facts{}
		}
		v.facts[rank] = known
	}
	return known
}

// askedFor has a key for each value that some rule wants a field to contain.
// Only those are kept of a list: it may have half a million values.
func (v *visibility) askedFor(fieldID string) map[string]bool {
	asked := map[string]bool{}
	var last *Condition
	for i := range v.fields {
		c := v.fields[i].Condition
		if c == nil || c == last { // the fields of a section follow one another
			continue
		}
		last = c
		for _, r := range c.Rules {
			if r.Operator == Contains && r.FieldID == fieldID {
				asked[r.Value] = false
			}
		}
	}
	return asked
}
