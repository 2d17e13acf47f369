package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// FormState says whether a form takes new submissions.
type FormState int

// The states of a form.
const (
	FormOpen FormState = iota
	FormNotYetOpen
	FormClosed
	FormFull // it is open, and has as many submissions as it takes
)

// Availability is the state of a form at one time, and when that changes.
type Availability struct {
	State FormState
	// Opens and Closes are in the zone of the service, and zero if the form names
	// none. A form that closes on a day closes when the next day begins.
	Opens, Closes time.Time
	// Reason tells a caller why the form takes no submission; "" while it does.
	Reason string
}

// Availability returns the state of the form now.
func (a *Access) Availability(ctx context.Context) (Availability, error) {
	v := a.window()
	if v.State != FormOpen || a.Form.Limit == 0 {
		return v, nil
	}
	full, err := a.service.store.AtLimit(ctx, a.unfilled())
	if full {
		v.State, v.Reason = FormFull, a.fullReason()
	}
	return v, Explain(err)
}

// window is Availability without a look at what is stored.
func (a *Access) window() (v Availability) {
	opens, closes := a.Form.Opens, a.Form.Closes
	if opens.IsZero() && closes.IsZero() {
		return v
	}
	now, zone := a.service.now(), a.service.zone
	if !opens.IsZero() {
		v.Opens = opens.Start(zone)
	}
	if !closes.IsZero() {
		v.Closes = closes.End(zone)
	}
	switch {
	case !opens.IsZero() && now.Before(v.Opens):
		v.State, v.Reason = FormNotYetOpen, "this form is not open yet: it opens "+a.describe(opens, "on ", "at ")
	case !closes.IsZero() && !now.Before(v.Closes):
		v.State, v.Reason = FormClosed, "this form has closed: it took submissions until "+a.describe(closes, "the end of ", "")
	}
	return v
}

// describe writes a moment of the form with its zone.
func (a *Access) describe(m forms.Moment, beforeDay, beforeTime string) string {
	zone := a.service.zone
	if m.Day != "" {
		return fmt.Sprintf("%s%s (%s)", beforeDay, m.Day, zone)
	}
	return fmt.Sprintf("%s%s (%s)", beforeTime, m.Time.In(zone).Format("2006-01-02 15:04:05"), zone)
}

// mayCreate tells what keeps everybody from submitting now, whatever is stored.
func (a *Access) mayCreate() error {
	if reason := a.window().Reason; reason != "" {
		return &forms.Invalid{Errors: []string{reason}}
	}
	return nil
}

// MayUpdate tells what keeps the caller from changing submissions of the form now,
// their own included: only editors do while it is not open.
func (a *Access) MayUpdate() error {
	if a.editor {
		return nil
	}
	if reason := a.window().Reason; reason != "" {
		return &forms.Invalid{Errors: []string{reason + ". Only editors of this page may change submissions now"}}
	}
	return nil
}

func (a *Access) fullReason() string {
	if a.Form.Limit == 1 {
		return "this form is full: it takes 1 submission"
	}
	return fmt.Sprintf("this form is full: it takes %d submissions", a.Form.Limit)
}

// explain is Explain for errors that name the rules of the form.
func (a *Access) explain(err error) error {
	if errors.Is(err, store.ErrLimit) {
		return &forms.Invalid{Errors: []string{a.fullReason()}}
	}
	return Explain(err)
}
