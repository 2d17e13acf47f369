package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// Availability says whether a form takes new submissions at one time.
type Availability struct {
	Reason string // why it takes none, for the caller; "" while it does
	State  string // the same for everybody, in a word or two
	// Lead and At are the Reason in two parts if it ends with a point in time: pages
	// show that in the zone of their reader. At is zero otherwise.
	Lead string
	At   time.Time
	// Closes is in the zone of the service, and zero if the form does not close. A
	// form that closes on a day closes when the next day begins.
	Closes time.Time
	// Left is how many submissions an open form with a limit still takes.
	Left int
}

// Availability returns the state of the form now.
func (a *Access) Availability(ctx context.Context) (Availability, error) {
	v := a.window(a.Now())
	if v.Reason != "" || a.Form.Limit == 0 {
		return v, nil
	}
	count, err := a.service.opts.Store.CountForm(ctx, a.Form.PageID, a.Form.ID)
	if v.Left = max(a.Form.Limit-count, 0); v.Left == 0 && err == nil {
		v.Reason, v.State = a.fullReason(), "Full"
	}
	return v, Explain(err)
}

// window is Availability without a look at what is stored.
func (a *Access) window(now time.Time) (v Availability) {
	f, zone := a.Form, now.Location()
	if !f.Closes.IsZero() {
		v.Closes = f.Closes.End(zone)
	}
	switch {
	case a.Rights.Blocked:
		v.Reason = errBlocked.Detail
	case f.IsEarly(now, zone):
		v.State = "Not open yet"
		v.refuse("this form is not open yet: it opens on", f.Opens, "", zone)
	case f.IsOver(now, zone):
		v.State = "Closed"
		v.refuse("this form has closed: it took submissions until", f.Closes, "the end of ", zone)
	}
	return v
}

// refuse sets why the form takes no submissions: something that a moment ends with.
func (v *Availability) refuse(lead string, m forms.Moment, beforeDay string, zone *time.Location) {
	if m.Day != "" {
		v.Reason = fmt.Sprintf("%s %s%s (%s)", lead, beforeDay, m.Day, zone)
		return
	}
	v.Lead, v.At = lead, m.Time.In(zone)
	v.Reason = fmt.Sprintf("%s %s (%s)", lead, v.At.Format("2006-01-02 15:04:05"), zone)
}

var errBlocked = &Error{
	Kind: Forbidden, Detail: "The wiki has blocked your account: you may read, but send and change nothing.",
}

// mayWrite tells what keeps everybody from submitting now, whatever is stored. more is
// added to the reason.
func (a *Access) mayWrite(now time.Time, more string) error {
	if a.Rights.Blocked {
		return errBlocked
	}
	if reason := a.window(now).Reason; reason != "" {
		return forms.InvalidRequest(reason + more)
	}
	return nil
}

// MayUpdate tells what keeps the caller from changing submissions of the form now,
// their own included: only editors do while it is not open.
func (a *Access) MayUpdate() error {
	if a.Rights.Edit {
		return nil
	}
	return a.mayWrite(a.Now(), ". Only editors of this page may change submissions now")
}

func (a *Access) fullReason() string {
	return "this form is full: it takes " + forms.Counted(a.Form.Limit, "submission", "submissions")
}

// explain is Explain for errors that name the rules of the form.
func (a *Access) explain(err error) error {
	if errors.Is(err, store.ErrLimit) {
		return forms.InvalidRequest(a.fullReason())
	}
	return Explain(err)
}
