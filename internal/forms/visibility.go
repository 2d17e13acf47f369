package forms

// Visible reports, by rank, which fields show when the form is filled in with
// values, also by rank. There must be a value for each field: "" for one
// without an answer. A hidden field counts as empty for the conditions that
// look at it, whatever its value is: otherwise an answer that the page does not
// show could keep a later field open.
func (f *Form) Visible(values []string) []bool { return f.Index().visible(values) }

// visible is Form.Visible.
func (x Index) visible(values []string) []bool {
	v := visibility{Index: x, values: values}
	shown := make([]bool, len(x.fields))
	for rank := range shown {
		shown[rank] = v.shows(rank)
	}
	return shown
}

// visibility evaluates the conditions of a form for one set of values. Each
// condition is evaluated once, however many fields of a section share it: values
// may be as long as a request body.
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
	v.holds[c] = false // ends the walk if the parser ever missed a cycle
	v.holds[c] = v.evaluate(c)
	return v.holds[c]
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
	return r.Holds(&v.fields[rank], value)
}
