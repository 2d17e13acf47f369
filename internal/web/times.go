package web

import (
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// changeView is when and by whom a submission was changed last.
type changeView struct {
	At time.Time // its day, if the form is anonymous
	By string
}

// newChange returns nil for a submission that was never changed.
func newChange(f *forms.Form, sub forms.Submission, zone *time.Location) *changeView {
	if sub.Changed.IsZero() || sub.Changed.Equal(sub.Created) {
		return nil
	}
	change := &changeView{At: sub.Changed, By: sub.Changer}
	if f.Anonymous {
		change.At = dayIn(sub.Changed, zone)
	}
	return change
}

// dayIn is the day of a time in a zone, as its beginning in UTC. It is all that pages
// tell of the times of an anonymous form: the minute, beside those of other
// submissions, may tell who has sent it.
func dayIn(t time.Time, zone *time.Location) time.Time {
	year, month, day := t.In(zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}
