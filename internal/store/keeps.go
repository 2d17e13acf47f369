package store

import (
	"context"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// Keeps stores how long forms keep their submissions, also while a form is not on its page. All times are by the clock
// of the engine, which all servers on it share.
type Keeps interface {
	// SetKeep stores how long a form keeps its submissions, as its page says now. It writes nothing
	// if that is stored. Errors: ErrFull, ErrUnavailable.
	SetKeep(ctx context.Context, pageID int64, formID string, keep forms.Period) error

	// Keep returns that of a form. Its Period is zero if the form keeps its submissions for ever.
	// Errors: ErrUnavailable.
	Keep(ctx context.Context, pageID int64, formID string) (Keep, error)

	// Keeps returns those of all forms that do not keep their submissions for ever, by page and form.
	// Errors: ErrUnavailable.
	Keeps(ctx context.Context) ([]Keep, error)

	// Alone calls do, and returns its error. It returns nil at once if a server on the same store is
	// within such a call. do may take long. Errors: do's, ErrUnavailable.
	Alone(ctx context.Context, do func() error) error
}

// Grace is how long after it was set a new or shorter period deletes nothing that the one before would keep.
const Grace = 24 * time.Hour

// Keep is how long a form keeps its submissions.
type Keep struct {
	PageID int64
	FormID string
	Period forms.Period // as the page says
	Since  time.Time    // when it was set, to the millisecond
	Before forms.Period // that was in force then
	Now    time.Time    // when this was read
}

// InForce returns the period that counts now: until Grace has passed, the longer of both. Periods are counted in the
// time zone of now.
func (k Keep) InForce(now time.Time) forms.Period {
	if now.Before(k.Since.Add(Grace)) {
		return k.Period.Longer(k.Before, now)
	}
	return k.Period
}
