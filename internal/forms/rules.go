package forms

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Writer says who sends answers, and when.
type Writer struct {
	Editor bool      // of the page: may set fields that are ByEditors
	Now    time.Time // in the zone in which days begin
}

// today is the current day, as 2006-01-02.
func (w Writer) today() string { return w.Now.Format(time.DateOnly) }

// MsgByEditors is the message for an answer to a field that its sender may not set.
const MsgByEditors = "is set by editors of this page only"

const msgRequiredOfEditors = "is required, and only editors of this page can set it"

// Defaults are the values that a submission begins with, by rank. Its day is that of
// now, in now's zone.
func (f *Form) Defaults(now time.Time) []string {
	values := make([]string, len(f.Fields))
	for rank := range f.Fields {
		field := &f.Fields[rank]
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
func (d *draft) outOfBounds(rank int, shown []bool, counts func(*Bound) bool) string {
	field := &d.fields[rank]
	if field.Min == nil && field.Max == nil {
		return ""
	}
	for _, b := range []struct {
		*Bound
		wrong       int // what comparing a value with the bound must not give
		number, day string
	}{
		{field.Min, -1, "must be at least ", "must not be before "},
		{field.Max, 1, "must be at most ", "must not be after "},
	} {
		if b.Bound == nil || d.values[rank] == "" || counts != nil && !counts(b.Bound) {
			continue
		}
		limit := d.limit(b.Bound, shown)
		for part := range strings.SplitSeq(d.values[rank], Separator) {
			value, ok := parseOrdered(part)
			c, alike := value.compare(limit.value)
			switch {
			case !ok || !limit.set || !alike || c != b.wrong:
			case value.isDay():
				return b.day + limit.name
			default:
				return b.number + limit.name
			}
		}
	}
	return ""
}

// limit is what a bound comes to in one submission.
type limit struct {
	set   bool
	value ordered
	name  string
}

// limit resolves a bound. One that refers to a field counts only while that field has
// a value; a hidden field has none. A value can be as long as a request body, and a
// thousand fields can refer to it: it is parsed once.
func (d *draft) limit(b *Bound, shown []bool) limit {
	text, name, rank := b.Value, b.Value, -1
	switch {
	case b.FieldID != "":
		if rank = d.Rank(b.FieldID); rank < 0 || !shown[rank] {
			return limit{}
		}
		if l, known := d.limits[rank]; known {
			return l
		}
		text = d.values[rank]
		name = fmt.Sprintf("%s (%s)", Clip(d.fields[rank].Label), Clip(text))
	case text == Today:
		text = d.writer.today()
		name = fmt.Sprintf("today (%s)", text)
	}
	value, ok := parseOrdered(text)
	l := limit{ok, value, name}
	if rank >= 0 {
		if d.limits == nil {
			d.limits = map[int]limit{}
		}
		d.limits[rank] = l
	}
	return l
}
