package forms

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// Writer says who sends answers, and when.
type Writer struct {
	Editor bool      // of the page: may set fields that are ByEditors
	Now    time.Time // in the zone in which days begin
}

// MsgByEditors is the message for an answer to a field that its sender may not set.
const MsgByEditors = "is set by editors of this page only"

const msgRequiredOfEditors = "is required, and only editors of this page can set it"

// Undecided returns the rule that holds for submissions that wait for the editors: their first
// status is empty, or as it was at the beginning. ok is false if editors set no status.
func (f *Form) Undecided() (rule Rule, ok bool) {
	for _, field := range f.Fields {
		if field.Type == Status && field.ByEditors {
			if field.Default == "" {
				return Rule{FieldID: field.ID, Operator: Empty}, true
			}
			return Rule{FieldID: field.ID, Operator: InList, Value: field.Default + Separator}, true
		}
	}
	return Rule{}, false
}

// Defaults are the values that a submission begins with, by rank. Its day is that of
// now, in now's zone.
func (f *Form) Defaults(now time.Time) []string {
	values := make([]string, len(f.Fields))
	for rank, field := range f.Fields {
		values[rank] = field.Default
		if field.Default == Today && field.Validation == DateOnly {
			values[rank] = now.Format(time.DateOnly)
		}
	}
	return values
}

// tooLong returns what is wrong with the length of a value, or "".
func (f *Field) tooLong(value string) string {
	if f.MaxLength == 0 || len(value) <= f.MaxLength || utf8.RuneCountInString(value) <= f.MaxLength {
		return ""
	}
	return "must have at most " + Counted(f.MaxLength, "character", "characters")
}

// outOfBounds returns how the value of a field violates its bounds, or "". It looks at
// the bounds that counts selects; nil selects all.
func (c *checked) outOfBounds(rank int, counts func(*Bound) bool) string {
	field := c.fields[rank]
	if field.Min == nil && field.Max == nil {
		return ""
	}
	value, ok := parseOrdered(c.values[rank])
	if !ok {
		return ""
	}
	atLeast, atMost := "must be at least ", "must be at most "
	if value.isDay() {
		atLeast, atMost = "must not be before ", "must not be after "
	}
	compare := func(b *Bound) (order int, name string) {
		if b == nil || counts != nil && !counts(b) {
			return 0, ""
		}
		bound := c.boundValue(b)
		order, alike := value.compare(bound.ordered)
		if !alike || bound.name == "" {
			return 0, ""
		}
		return order, bound.name
	}
	if order, name := compare(field.Min); order < 0 {
		return atLeast + name
	}
	if order, name := compare(field.Max); order > 0 {
		return atMost + name
	}
	return ""
}

// boundValue is what a bound comes to in one submission.
type boundValue struct {
	ordered
	name string // "" if the bound does not count
}

// boundValue resolves a bound. One that refers to a field counts only while that field has
// a value; a hidden field has none. A value can be as long as a request body, and a
// thousand fields can refer to it: it is parsed once.
func (c *checked) boundValue(b *Bound) boundValue {
	text, name, rank := b.Value, b.Value, -1
	switch {
	case b.FieldID != "":
		if rank = c.Rank(b.FieldID); rank < 0 || !c.shown[rank] {
			return boundValue{}
		}
		if v, known := c.bounds[rank]; known {
			return v
		}
		text = c.values[rank]
		name = fmt.Sprintf("%s (%s)", Clip(c.fields[rank].Label), Clip(text))
	case text == Today:
		text = c.writer.Now.Format(time.DateOnly)
		name = fmt.Sprintf("today (%s)", text)
	}
	v := boundValue{}
	if value, ok := parseOrdered(text); ok {
		v = boundValue{value, name}
	}
	if rank >= 0 {
		if c.bounds == nil {
			c.bounds = map[int]boundValue{}
		}
		c.bounds[rank] = v
	}
	return v
}
