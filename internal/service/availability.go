package service

import (
	"context"
	"errors"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// Availability says whether a form takes new submissions at one time.
type Availability struct {
	Reason *forms.Message // why it takes none, for the caller; nil while it does
	State  *forms.Message // the same for everybody, in a word or two
	// Closes is in the zone of the service, and zero if the form does not close. A
	// form that closes on a day closes when the next day begins.
	Closes time.Time
	// Left is how many submissions an open form with a limit still takes.
	Left int
	// Count is how many submissions the form has, for its editors. It is counted up to MaxCount, or up to the
	// form's limit if that is higher.
	Count    int
	Answered bool // the caller has sent the one submission that the form takes from each person
}

// MaxCount bounds the Count of an Availability.
const MaxCount = 100

// Takes reports whether the form takes a submission of the caller.
func (v *Availability) Takes() bool { return v.Reason == nil && !v.Answered }

// Availability returns the state of the form now.
func (a *Access) Availability(ctx context.Context) (Availability, error) {
	states, err := a.service.Availabilities(ctx, a)
	if err != nil {
		return Availability{}, err
	}
	return states[0], nil
}

// Availabilities returns the states of forms now. It asks the store once.
func (s *Service) Availabilities(ctx context.Context, list ...*Access) ([]Availability, error) {
	states, asked := make([]Availability, len(list)), make([]store.New, len(list))
	for i, a := range list {
		states[i], asked[i] = Window(a.Form, a.Now()), a.unfilled()
		if a.Rights.Blocked {
			states[i].Reason, states[i].State = errBlocked.Detail, nil
		}
		if a.Rights.Edit {
			asked[i].Limit = max(a.Form.Limit, MaxCount)
		}
	}
	tallies, err := s.opts.Store.Tallies(ctx, asked)
	if err != nil {
		return nil, Explain(err)
	}
	for i, a := range list {
		v, tally, limit := &states[i], tallies[i], a.Form.Limit
		v.Count, v.Answered = tally.Count, tally.Submitted
		if v.Reason != nil || limit == 0 {
			continue
		}
		if v.Left = max(limit-tally.Count, 0); v.Left == 0 {
			v.Reason, v.State = a.fullReason(), forms.Say("Full")
		}
	}
	return states, nil
}

// Window is the availability of a form to everybody, without a look at what is stored.
func Window(f *forms.Form, now time.Time) (v Availability) {
	zone := now.Location()
	if !f.Closes.IsZero() {
		v.Closes = f.Closes.End(zone)
	}
	switch {
	case now.Before(f.Opens.Start(zone)):
		v.State = forms.Say("Not open yet")
		v.Reason = forms.Say("this form is not open yet: it opens on {0}", f.Opens.Time.In(zone))
		if f.Opens.Day != "" {
			v.Reason = forms.Say("this form is not open yet: it opens on {0} ({1})", forms.Plain(f.Opens.Day), zone.String())
		}
	case f.IsOver(now, zone) && f.Closes.Day != "":
		v.State = forms.Say("Closed")
		v.Reason = forms.Say("this form has closed: it took submissions until the end of {0} ({1})",
			forms.Plain(f.Closes.Day), zone.String())
	case f.IsOver(now, zone):
		v.State = forms.Say("Closed")
		v.Reason = forms.Say("this form has closed: it took submissions until {0}", v.Closes)
	}
	return v
}

var errBlocked = &Error{
	Kind: Forbidden, Detail: forms.Say("The wiki has blocked your account: you may read, but send and change nothing."),
}

// mayWrite tells what keeps everybody from submitting now, whatever is stored.
func (a *Access) mayWrite(now time.Time) error {
	if a.Rights.Blocked {
		return errBlocked
	}
	if reason := Window(a.Form, now).Reason; reason != nil {
		return forms.InvalidRequest(reason)
	}
	return nil
}

// MayUpdate tells what keeps the caller from changing submissions of the form now,
// their own included: only editors do while it is not open.
func (a *Access) MayUpdate() error {
	if a.Rights.Edit {
		return nil
	}
	err := a.mayWrite(a.Now())
	if closed, ok := errors.AsType[*forms.Invalid](err); ok {
		closed.Errors[0] = forms.Say("{0}. Only editors of this page may change submissions now", closed.Errors[0])
	}
	return err
}

func (a *Access) fullReason() *forms.Message {
	return forms.SayN("this form is full: it takes {0} submission", "this form is full: it takes {0} submissions",
		a.Form.Limit)
}

// explain is Explain for errors that name the rules of the form.
func (a *Access) explain(err error) error {
	if errors.Is(err, store.ErrLimit) {
		return forms.InvalidRequest(a.fullReason())
	}
	return Explain(err)
}
