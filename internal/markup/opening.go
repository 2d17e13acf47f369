package markup

import (
	"strconv"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

const momentHint = "write a day such as 2026-03-31, or a time with its zone such as 2026-03-31T18:00:00+02:00"

// opening reads when the form takes submissions, and how many.
func (w *builder) opening(m *yamlMap) {
	if v := w.text(m, "limit"); v.written && !v.invalid {
		w.form.Limit = w.wholeNumber(v, "limit", MaxLimit)
	}
	f := w.form
	f.Opens, f.Closes = w.moment(m, "opens"), w.moment(m, "closes")
	if f.Opens.IsZero() || f.Closes.IsZero() {
		return
	}
	// When a day begins depends on the server's zone, so days count as they are written.
	const day = len(time.DateOnly)
	never := m.values["opens"].Value[:day] > m.values["closes"].Value[:day]
	if f.Opens.Day == "" && f.Closes.Day == "" {
		never = !f.Opens.Time.Before(f.Closes.Time)
	}
	if never {
		w.errorf(m.values["opens"].Column, "exchange opens and closes, or correct the year", "the form opens after it closes: nobody could submit it")
	}
}

func (w *builder) moment(m *yamlMap, key string) forms.Moment {
	v := w.text(m, key)
	switch {
	case !v.written, v.invalid:
		return forms.Moment{}
	case isDay(v.text):
		return forms.Moment{Day: v.text}
	}
	var t time.Time
	if t.UnmarshalText([]byte(strings.ToUpper(v.text))) != nil || t.UTC().Year() < 1 || t.IsZero() {
		w.errorf(v.at, momentHint, "%s %s is neither a day nor a time", key, quote(v.text))
		return forms.Moment{}
	}
	return forms.Moment{Time: t.UTC()}
}

// wholeNumber reads a number from 1 to limit. What is wrong is reported, and gives 0.
func (w *builder) wholeNumber(v value, key string, limit int) int {
	n, err := strconv.Atoi(v.text)
	if err != nil || n < 1 || n > limit || v.text[0] == '+' || v.text[0] == '0' {
		w.errorf(v.at, "leave "+key+" out if there is none", "%s must be a whole number from 1 to %d, not %s", key, limit, quote(v.text))
		return 0
	}
	return n
}
