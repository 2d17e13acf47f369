package forms

import (
	"time"
	"unicode/utf8"
)

// Writer says who sends answers, and when.
type Writer struct {
	Editor bool      // of the page: may set fields that are ByEditors
	Now    time.Time // in the zone in which days begin
}

// MsgByEditors is the message for an answer to a field that its sender may not set.
var MsgByEditors = Say("is set by editors of this page only")

var msgRequiredOfEditors = Say("is required, and only editors of this page can set it")

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

// tooLong returns what is wrong with the length of a value, or nil.
func (f *Field) tooLong(value string) *Message {
	if f.MaxLength == 0 || len(value) <= f.MaxLength || utf8.RuneCountInString(value) <= f.MaxLength {
		return nil
	}
	return SayN("must have at most {0} character", "must have at most {0} characters", f.MaxLength)
}

// outOfBounds returns how the value of a field violates its bounds, or nil. It looks at
// the bounds that counts selects; nil selects all.
func (c *checked) outOfBounds(rank int, counts func(*Bound) bool) *Message {
	field := c.fields[rank]
	if field.Min == nil && field.Max == nil {
		return nil
	}
	value, ok := parseOrdered(c.values[rank])
	if !ok {
		return nil
	}
	compare := func(b *Bound) (order int, bound boundValue) {
		if b == nil || counts != nil && !counts(b) {
			return 0, bound
		}
		bound = c.boundValue(b)
		order, alike := value.compare(bound.ordered)
		if !alike || bound.text == "" {
			return 0, bound
		}
		return order, bound
	}
	if order, bound := compare(field.Min); order < 0 {
		return bound.tooLow()
	}
	if order, bound := compare(field.Max); order > 0 {
		return bound.tooHigh()
	}
	return nil
}

// boundValue is what a bound comes to in one submission.
type boundValue struct {
	ordered
	text  string // "" if the bound does not count
	field *Field // that it refers to; nil if it does not
	today bool
}

func (b boundValue) tooLow() *Message {
	switch {
	case b.today:
		return Say("must not be before today ({0})", Plain(b.text))
	case b.isDay():
		return Say("must not be before {0}", b.name())
	default:
		return Say("must be at least {0}", b.name())
	}
}

func (b boundValue) tooHigh() *Message {
	switch {
	case b.today:
		return Say("must not be after today ({0})", Plain(b.text))
	case b.isDay():
		return Say("must not be after {0}", b.name())
	default:
		return Say("must be at most {0}", b.name())
	}
}

// name is the bound as an argument of a message.
func (b boundValue) name() any {
	if b.field == nil {
		return Plain(b.text)
	}
	return Say("{0} ({1})", Clip(b.field.Label), Plain(Clip(b.text)))
}

// boundValue resolves a bound. One that refers to a field counts only while that field has
// a value; a hidden field has none. A value can be as long as a request body, and a
// thousand fields can refer to it: it is parsed once.
func (c *checked) boundValue(b *Bound) boundValue {
	v := boundValue{text: b.Value}
	rank := -1
	switch {
	case b.FieldID != "":
		if rank = c.Rank(b.FieldID); rank < 0 || !c.shown[rank] {
			return boundValue{}
		}
		if v, known := c.bounds[rank]; known {
			return v
		}
		v.text, v.field = c.values[rank], c.fields[rank]
	case v.text == Today:
		v.text, v.today = c.writer.Now.Format(time.DateOnly), true
	}
	var ok bool
	if v.ordered, ok = parseOrdered(v.text); !ok {
		v = boundValue{}
	}
	if rank >= 0 {
		if c.bounds == nil {
			c.bounds = map[int]boundValue{}
		}
		c.bounds[rank] = v
	}
	return v
}
