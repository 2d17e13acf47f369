package forms

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Writer says who sends answers, and when.
type Writer struct {
	Editor bool   // of the page: may set fields that are ByEditors
	Today  string // as 2006-01-02
}

// MsgByEditors is the message for an answer to a field that its sender may not set.
const MsgByEditors = "is set by editors of this page only"

const msgRequiredOfEditors = "is required, and only editors of this page can set it"

// DefaultValue returns what a create on the given day stores for the field if it does
// not name it, or "".
func (f *Field) DefaultValue(today string) string {
	if f.Default == Today && f.Validation == DateOnly {
		return today
	}
	return f.Default
}

// tooLong returns what is wrong with the length of a value, or "".
func (f *Field) tooLong(value string) string {
	if f.MaxLength == 0 || len(value) <= f.MaxLength || utf8.RuneCountInString(value) <= f.MaxLength {
		return ""
	}
	return "must have at most " + counted(f.MaxLength, "character", "characters")
}

// takeLocked takes an answer to a field that the writer may not set. The value that
// is there already is no write. For a field that turns out to be hidden, no other
// value is a fault either.
func (d *draft) takeLocked(rank int, a *Answer) {
	if len(a.Files) > 0 || a.Misfit != "" || a.text() != d.values[rank] {
		d.addMisfit(rank, MsgByEditors)
	}
}

// outOfBounds returns how the value of a field violates its bounds, or "". It looks at
// the bounds that counts selects.
func (d *draft) outOfBounds(rank int, shown []bool, counts func(*Bound) bool) string {
	field, value := &d.fields[rank], d.values[rank]
	if field.Min == nil && field.Max == nil || value == "" {
		return ""
	}
	var least, most limit
	if counts(field.Min) {
		least = d.limit(field.Min, shown)
	}
	if counts(field.Max) {
		most = d.limit(field.Max, shown)
	}
	if !field.MultiValue() {
		return outside(value, least, most)
	}
	for part := range strings.SplitSeq(value, Separator) {
		if msg := outside(part, least, most); msg != "" {
			return msg
		}
	}
	return ""
}

// outside returns which limit a value exceeds, or "".
func outside(value string, least, most limit) string {
	parsed, ok := parseOrdered(value)
	if !ok {
		return ""
	}
	if c, ok := parsed.compare(least.value); ok && least.set && c < 0 {
		return least.message("must be at least %s", "must not be before %s")
	}
	if c, ok := parsed.compare(most.value); ok && most.set && c > 0 {
		return most.message("must be at most %s", "must not be after %s")
	}
	return ""
}

// everyBound selects all bounds for outOfBounds.
func everyBound(*Bound) bool { return true }

// limit is what a bound comes to in one submission.
type limit struct {
	set   bool
	value ordered
	name  string
}

func (l limit) message(number, day string) string {
	if l.value.isDay() {
		return fmt.Sprintf(day, l.name)
	}
	return fmt.Sprintf(number, l.name)
}

// limit resolves a bound. One that refers to a field counts only while that field has
// a value; a hidden field has none.
func (d *draft) limit(b *Bound, shown []bool) limit {
	switch {
	case b == nil:
		return limit{}
	case b.FieldID != "":
		return d.limitOf(d.Rank(b.FieldID), shown)
	case b.Value == Today:
		value, ok := parseOrdered(d.writer.Today)
		return limit{ok, value, fmt.Sprintf("today (%s)", d.writer.Today)}
	default:
		value, ok := parseOrdered(b.Value)
		return limit{ok, value, b.Value}
	}
}

// limitOf resolves a bound that refers to a field. A value can be as long as a request
// body, and a thousand fields can refer to it: it is parsed once.
func (d *draft) limitOf(rank int, shown []bool) limit {
	if rank < 0 || !shown[rank] {
		return limit{}
	}
	if l, known := d.limits[rank]; known {
		return l
	}
	field, text := &d.fields[rank], d.values[rank]
	value, ok := parseOrdered(text)
	l := limit{ok, value, fmt.Sprintf("%s (%s)", Clip(cmp.Or(field.Label, field.ID)), Clip(text))}
	if d.limits == nil {
		d.limits = map[int]limit{}
	}
	d.limits[rank] = l
	return l
}
