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
	w.form.Opens, w.form.Closes = w.moment(m, "opens"), w.moment(m, "closes")
	if w.form.Opens.IsZero() || w.form.Closes.IsZero() {
		return
	}
	if neverOpen(w.form.Opens, w.form.Closes) {
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
	}
	return forms.Moment{Time: t.UTC()}
}

// neverOpen reports whether the form is closed in every zone: which one the server
// has is not known here. A day begins up to 14 hours before it does in UTC, and ends
// up to 12 hours after it.
func neverOpen(opens, closes forms.Moment) bool {
	if opens.Day != "" && closes.Day != "" {
		return opens.Day > closes.Day
	}
	from := momentOr(opens, -14*time.Hour)
	to := momentOr(closes, (24+12)*time.Hour)
	return !from.Before(to)
}

// momentOr returns a point in time, or that of a day that begins so much later
// than in UTC.
func momentOr(m forms.Moment, later time.Duration) time.Time {
	if m.Day == "" {
		return m.Time
	}
	day, _ := time.Parse(time.DateOnly, m.Day) // it is a day
	return day.Add(later)
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
