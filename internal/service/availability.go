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
	// Closes is in the zone of the service, and zero if the form does not close. A
	// form that closes on a day closes when the next day begins.
	Closes time.Time
}

// Availability returns the state of the form now.
func (a *Access) Availability(ctx context.Context) (Availability, error) {
	v := a.window()
	if v.Reason != "" || a.Form.Limit == 0 {
		return v, nil
	}
	full, err := a.service.store.AtLimit(ctx, a.unfilled())
	if full {
		v.Reason = a.fullReason()
	}
	return v, Explain(err)
}

// window is Availability without a look at what is stored.
func (a *Access) window() (v Availability) {
	opens, closes, zone := a.Form.Opens, a.Form.Closes, a.service.zone
	if !closes.IsZero() {
		if v.Closes = closes.End(zone); !a.service.now().Before(v.Closes) {
			v.Reason = "this form has closed: it took submissions until " + a.describe(closes, "the end of ", "")
		}
	}
	if !opens.IsZero() && a.service.now().Before(opens.Start(zone)) {
		v.Reason = "this form is not open yet: it opens " + a.describe(opens, "on ", "at ")
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

// mayWrite tells what keeps everybody from submitting now, whatever is stored. more is
// added to the reason.
func (a *Access) mayWrite(more string) error {
	if reason := a.window().Reason; reason != "" {
		return &forms.Invalid{Errors: []string{reason + more}}
	}
	return nil
}

// MayUpdate tells what keeps the caller from changing submissions of the form now,
// their own included: only editors do while it is not open.
func (a *Access) MayUpdate() error {
	if a.editor {
		return nil
	}
	return a.mayWrite(". Only editors of this page may change submissions now")
}

func (a *Access) fullReason() string {
	return "this form is full: it takes " + forms.Counted(a.Form.Limit, "submission", "submissions")
}

// explain is Explain for errors that name the rules of the form.
func (a *Access) explain(err error) error {
	if errors.Is(err, store.ErrLimit) {
		return &forms.Invalid{Errors: []string{a.fullReason()}}
	}
	return Explain(err)
}
