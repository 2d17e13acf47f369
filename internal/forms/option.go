package forms

import (
	"cmp"
	"strings"
)

// Colors are those that an option of a status can have. The first one is the default.
var Colors = []string{"grey", "blue", "green", "yellow", "red"}

// maxLabelBytes is how long an answer in labels may be. A label may be much longer than its
// value, and an answer may repeat it.
const maxLabelBytes = 16 << 10

// LabelOf returns what people read for an answer: labels in place of the values that
// have one, joined as these are. A very long answer stays as it is.
func (f *Field) LabelOf(answer string) string {
	if f.Labels == nil || len(answer) > maxLabelBytes {
		return answer
	}
	values, size := strings.Split(answer, Separator), 0
	for i, value := range values {
		values[i] = cmp.Or(f.Labels[value], value)
		if size += len(values[i]); size > maxLabelBytes {
			return answer
		}
	}
	return strings.Join(values, Separator)
}

// ColorOf returns the colour of a status.
func (f *Field) ColorOf(value string) string { return cmp.Or(f.Colors[value], Colors[0]) }

// WithLabels returns a message about an answer for people: it names options by their labels.
func (f *Field) WithLabels(message *Message) *Message {
	if message.String() != f.mustBe(f.Options).String() {
		return message
	}
	labels := make([]string, len(f.Options))
	for i, value := range f.Options {
		labels[i] = f.LabelOf(value)
	}
	return f.mustBe(labels)
}
