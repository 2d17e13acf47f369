package store

import "context"

// MaxOutlines is how many outlines are stored. Those that were set last stay.
const MaxOutlines = 100

// Outlines stores what a list of pages shows of the pages of a live wiki, so that it is known after a restart. They can
// all be found out again: copies of a store leave them out.
type Outlines interface {
	// SetOutline stores the outline of a page, a text, in place of an earlier one; "" removes that.
	// Errors: ErrFull, ErrUnavailable.
	SetOutline(ctx context.Context, pageID int64, outline string) error

	// Outlines returns all, the one that was set last first. Errors: ErrUnavailable.
	Outlines(ctx context.Context) ([]string, error)
}
