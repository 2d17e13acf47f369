package forms

// Visible reports which fields show for the given values. Both slices are indexed
// like f.Fields; a field without an answer has the value "". A hidden field counts as empty for the conditions that
// look at it, whatever its value is: otherwise an answer that the page does not
// show could keep a later field open.
func (f *Form) Visible(values []string) []bool { return f.Index().visible(values) }

// visible is Form.Visible for a caller that has the Index.
func (x Index) visible(values []string) []bool {
	v := visibility{Index: x, values: values}
	shown := make([]bool, len(x.fields))
	for rank := range shown {
		shown[rank] = v.shows(rank)
	}
	return shown
}

// visibility evaluates the conditions of a form for one set of values. Each
// condition is evaluated once, even if all fields of a section share it: comparing
// long values takes time.
type visibility struct {
	Index
	values []string
	holds  map[*Condition]bool // of those evaluated so far
}

func (v *visibility) shows(rank int) bool {
	c := v.fields[rank].Condition
	if c == nil {
		return true
	}
	holds, known := v.holds[c]
	if known {
		return holds
	}
	if v.holds == nil {
		v.holds = map[*Condition]bool{}
	}
	v.holds[c] = false // ends the recursion if conditions form a cycle, which the parser refuses
	v.holds[c] = v.evaluate(c)
	return v.holds[c]
}

func (v *visibility) evaluate(c *Condition) bool {
	matchAny := c.Match == MatchAny
	for _, r := range c.Rules {
		rank, value, holds := v.Rank(r.FieldID), "", false
		if rank >= 0 { // the parser refuses unknown fields
			if v.shows(rank) {
				value = v.values[rank]
			}
			holds = r.Holds(v.fields[rank], value)
		}
		if holds == matchAny { // decides alone
			return matchAny
		}
	}
	return !matchAny
}
