package store

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/formulary/formulary/internal/forms"
)

// Engine is a whole storage engine: one that can be served, copied and shared
// by several servers.
type Engine interface {
	Store
	Archive
	Settings
	Outlines
	Files
	Sessions
	Events
}

// Archive copies a store with everything in it. Every engine implements it.
type Archive interface {
	// Dump yields every submission in the order of page, form and id, forms by
	// the bytes of their ids. Then it yields every event, in the order of their ids. It is one snapshot, and
	// keeps a connection until the loop ends: it is for copies, not for requests. The
	// Record's Entries are valid until the body ends, which must not close the
	// store. An error comes last. Errors: ErrUnavailable.
	Dump(ctx context.Context) iter.Seq2[Dumped, error]

	// Load stores submissions as they are, ids included: all of them, or, when
	// it returns an error, none. The ids of entries must be those of their submission.
	// Create gives higher ids from then on. Errors: ErrExists, ErrKeyUsed, ErrAlreadySubmitted, ErrFull, ErrUnavailable.
	Load(ctx context.Context, records []Record) error

	// LoadEvents stores events in their order, under new ids: all of them, or none.
	// Errors: ErrFull, ErrUnavailable.
	LoadEvents(ctx context.Context, events []Event) error

	// LoadKeeps replaces all keeps by those of another store: all of them, or none.
	// Errors: ErrFull, ErrUnavailable.
	LoadKeeps(ctx context.Context, keeps []Keep) error

	// Clear removes all submissions, their definitions, history, files and events, and keeps. It is for a copy that begins
	// again, while nothing else uses the store. Ids that were assigned are not
	// assigned again. Errors: ErrFull, ErrUnavailable.
	Clear(ctx context.Context) error

	// Count is the number of submissions.
	Count(ctx context.Context) (int64, error)

	// LastID is the last submission id that was assigned, or a higher one that
	// is never assigned; 0 in a new store.
	LastID(ctx context.Context) (int64, error)

	// Advance makes Create assign higher ids than this one from now on. It
	// changes nothing if they are higher already.
	Advance(ctx context.Context, to int64) error
}

// Settings are a few facts about the store as a whole that all servers on it
// must agree on. Names and values are short texts.
type Settings interface {
	// Claim sets a name unless it is set, and returns the value that it has
	// then: of concurrent claims of one name one succeeds, and all return its
	// value.
	Claim(ctx context.Context, name, value string) (current string, err error)

	// Setting is the value of a name; "" where it is not set.
	Setting(ctx context.Context, name string) (string, error)

	// Release unsets a name, which need not be set.
	Release(ctx context.Context, name string) error
}

// Names of settings.
const (
	// SettingStoreID is a random name that every store has from the beginning.
	SettingStoreID = "store-id"
	// SettingUnfinishedCopy is set while the store is being copied into. A store
	// that has it holds a part of another one, and must not be used.
	SettingUnfinishedCopy = "unfinished-copy"
	// SettingAnonymousKey is a fingerprint of the key that anonymous submitters
	// are recognised by. The key itself is not stored.
	SettingAnonymousKey = "anonymous-key"
)

// Dumped is a submission of a dump, or an event.
type Dumped struct {
	Record Record
	Event  *Event // nil for a submission
}

// Record is a submission with everything that a store keeps about it.
type Record struct {
	forms.Submission
	SubmitterKey, Key, Body string // see New
	Definition              forms.Definition
	History                 []Step

	// Open reads the content of one of Files in the snapshot of Dump, until
	// the body of the loop ends. Dump sets it where there are Files; Load does not use it.
	Open func(f forms.StoredFile) io.ReadCloser
}

// CheckIDs refuses ids that no store assigns.
func (r Record) CheckIDs() error {
	if r.ID < 1 || r.ID > forms.MaxSubmissionID {
		return fmt.Errorf("submission %d: ids are 1 to %d", r.ID, int64(forms.MaxSubmissionID))
	}
	if err := r.Entries.CheckIDs(r.ID); err != nil {
		return fmt.Errorf("submission %d: %w", r.ID, err)
	}
	return nil
}
