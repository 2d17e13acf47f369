package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/panics"
	"github.com/formulary/formulary/internal/store"
)

// NewRecord returns a new submission as it is stored under an id.
func NewRecord(id int64, n *store.New) (store.Record, error) {
	entries, err := forms.NumberEntries(id, n.Entries)
	if err != nil {
		return store.Record{}, err
	}
	created := n.Created.Truncate(time.Millisecond).UTC()
	return store.Record{
		SubmitterKey: n.SubmitterKey, Key: n.Key, Body: n.Body, Definition: n.Definition,
		Submission: forms.Submission{
			ID: id, PageID: n.PageID, FormID: n.FormID,
			Username: n.Username, Created: created, Changer: n.Username, Changed: created,
			Entries: forms.EncodeEntries(make([]byte, 0, 96*len(entries)+2), entries),
			Files:   slices.Clone(n.Files),
		},
	}, nil
}

// Merge returns a submission as it is stored after an update, and what merge has returned. A panic of merge is an
// error: the caller may hold a connection and a transaction.
func Merge(before forms.Submission, merge store.Merge) (
	after forms.Submission, change store.Change, err error,
) {
	after = before
	err = panics.ToError(func() (err error) {
		if change, err = merge(before); err != nil {
			return err
		}
		entries, err := forms.NumberEntries(before.ID, change.Entries)
		if err != nil {
			return err
		}
		after.Entries = forms.EncodeEntries(make([]byte, 0, len(before.Entries)+256), entries)
		after.Files = slices.Clone(change.Files)
		if !change.Changed.IsZero() {
			after.Changed, after.Changer = change.Changed.Truncate(time.Millisecond).UTC(), change.Changer
		}
		// A dump reads the history of changed submissions only.
		if change.Step != nil && change.Step.Before != nil && !after.IsChanged() {
			after.Changed = after.Created.Add(time.Millisecond)
		}
		return nil
	})
	return after, change, err
}

// Wrap adds to an error what was being done. It returns nil if there is none.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
