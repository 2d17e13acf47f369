package web

import (
	"slices"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
)

// changeView is when and by whom a submission was changed last.
type changeView struct {
	When moment
	By   string
}

// moment is a time as it is shown.
type moment struct {
	At  time.Time
	Day bool // only its day is shown, because the form is anonymous
}

// newChange returns nil for a submission that was never changed.
func newChange(f *forms.Form, sub forms.Submission, zone *time.Location) *changeView {
	if !sub.IsChanged() {
		return nil
	}
	return &changeView{shownTime(f, sub.Changed, zone), sub.Changer}
}

// shownTime is a time as pages about a form show it. If the form is anonymous, that is
// the day in a zone, as its beginning in UTC: the minute, beside those of other
// submissions, could identify the sender.
func shownTime(f *forms.Form, t time.Time, zone *time.Location) moment {
	if !f.Anonymous {
		return moment{At: t}
	}
	return moment{forms.UTCDay(t.In(zone)), true}
}

// refuseTimes refuses filters and orders that reveal more than the day of an anonymous
// submission.
func refuseTimes(opts query.List, invalid *forms.Invalid) {
	if opts.Sort != nil && (opts.Sort.ID == forms.ColumnID || query.IsTimeColumn(opts.Sort.ID)) {
		invalid.AddError(forms.Say("this form is anonymous: its submissions can't be sorted by time or id"))
	}
	for _, r := range opts.Filter.Rules {
		if r.FieldID == forms.ColumnID {
			invalid.AddError(forms.Say("this form is anonymous: its submissions can't be filtered by id"))
		}
		noDay := func(v string) bool { return v != "" && !forms.IsDay(v) }
		if query.IsTimeColumn(r.FieldID) && slices.ContainsFunc(strings.Split(r.Value, forms.Separator), noDay) {
			invalid.AddError(forms.Say("this form is anonymous: write a day, such as 2026-01-31, to filter by time"))
		}
	}
}
