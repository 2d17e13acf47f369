package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
)

// prefilled are the defaults, with what the address of the form says instead: ?ID=VALUE,
// several for several values. A value that the field does not take, or not from the
// caller, is ignored.
func prefilled(access *service.Access, query url.Values) []string {
	f, values := access.Form, access.Form.Defaults(access.Today())
	for rank := range f.Fields {
		field := &f.Fields[rank]
		given, named := query[field.ID]
		if !named || field.Type == forms.File || !access.MaySet(field) {
			continue
		}
		value := given[0]
		if field.MultiValue() {
			value = strings.Join(given, forms.Separator)
		}
		value = tidyValue(field, value)
		if field.CheckAnswer(forms.Answer{FieldID: field.ID, Value: value}) == "" {
			values[rank] = value
		}
	}
	return values
}

// newAnswers are the answers of a new submission. Browsers send a question without an
// answer as an empty text, and nothing where no box is ticked. Such answers are left
// out, unless they replace a default.
func (r received) newAnswers(f *forms.Form) []forms.Answer {
	fields := f.Index()
	hasDefault := func(id string) bool {
		rank := fields.Rank(id)
		return rank >= 0 && f.Fields[rank].Default != ""
	}
	answers := slices.DeleteFunc(slices.Clone(r.answers), func(a forms.Answer) bool {
		return a.Value == "" && !a.IsList && a.Malformed == "" && a.Misfit == "" && !hasDefault(a.FieldID)
	})
	sent := answersByID(answers)
	for id := range setOf(r.extra[shownControl]) {
		if sent[id] == nil && hasDefault(id) {
			answers = append(answers, forms.Answer{FieldID: id})
		}
	}
	return answers
}

// addDefaults fills in the questions that were hidden when the form was sent.
func (r received) addDefaults(with *filling, f *forms.Form, today string) {
	answered := r.answered()
	for rank := range f.Fields {
		if field := &f.Fields[rank]; !answered[field.ID] {
			with.values[rank] = field.DefaultValue(today)
		}
	}
}

// locked reports whether the caller sees a field on submissions only.
func (with *filling) locked(f *forms.Field) bool { return with.access != nil && !with.access.MaySet(f) }

// setBounds says which answers a question takes. A browser's calendar leaves out other
// days.
func (b *questionBuilder) setBounds(q *question) {
	if q.MaxLength > 0 {
		q.Bounds = "At most " + strconv.Itoa(q.MaxLength) + " characters."
	}
	least, firstDay := b.bound(q.Min)
	most, lastDay := b.bound(q.Max)
	words := [3]string{"From %1 to %2.", "At least %1.", "At most %2."}
	if q.Validation == forms.DateOnly {
		words[1], words[2] = "Not before %1.", "Not after %2."
		q.MinDay, q.MaxDay = firstDay, lastDay
	}
	say := strings.NewReplacer("%1", least, "%2", most)
	switch {
	case least != "" && most != "":
		q.Bounds = say.Replace(words[0])
	case least != "":
		q.Bounds = say.Replace(words[1])
	case most != "":
		q.Bounds = say.Replace(words[2])
	}
}

// bound is a bound in words, and its value if that does not depend on answers.
func (b *questionBuilder) bound(bound *forms.Bound) (words, value string) {
	switch {
	case bound == nil:
		return "", ""
	case bound.Value == forms.Today:
		return b.with.today, b.with.today
	case bound.FieldID == "":
		return bound.Value, bound.Value
	}
	if rank := b.fields.Rank(bound.FieldID); rank >= 0 {
		words = "“" + labelOf(&b.form.Fields[rank]) + "”"
	}
	return words, ""
}
