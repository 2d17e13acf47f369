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
	known  map[*Condition]bool // those evaluated so far, and whether they hold
}

func (v *visibility) shows(rank int) bool {
	c := v.fields[rank].Condition
	if c == nil {
		return true
	}
	holds, known := v.known[c]
	if known {
		return holds
	}
	if v.known == nil {
		v.known = map[*Condition]bool{}
	}
	v.known[c] = false // ends the recursion if conditions form a cycle, which the parser refuses
	v.known[c] = v.holds(c, func(rank int) string {
		if !v.shows(rank) {
			return ""
		}
		return v.values[rank]
	})
	return v.known[c]
}

// holds reports whether a condition holds for the values of fields.
func (x Index) holds(c *Condition, value func(rank int) string) bool {
	matchAny := c.Match == MatchAny
	for _, r := range c.Rules {
		rank := x.Rank(r.FieldID)
		holds := rank >= 0 && r.Holds(x.fields[rank], value(rank)) // the parser refuses unknown fields
		if holds == matchAny {                                     // decides alone
			return matchAny
		}
	}
	return !matchAny
}

// IsLocked reports whether only editors may change a submission. Stored values count,
// whether their fields show or not. They are read only if the form has such rules.
func (f *Form) IsLocked(read func() (values map[string]string, err error)) (bool, error) {
	if f.LockIf == nil {
		return false, nil
	}
	values, err := read()
	return f.Index().holds(f.LockIf, func(rank int) string { return values[f.Fields[rank].ID] }), err
}
