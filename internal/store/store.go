// Package store is the storage contract. Every engine keeps it in full; the
// suite in storetest holds them to it.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/formulary/formulary/internal/forms"
)

// Errors of an engine. Engines wrap these; any other error is an internal one.
var (
	// ErrSchemaVersion: another version of the program has made the store. The versions follow.
	ErrSchemaVersion = errors.New("it has schema version")
	// ErrNotFound: no such submission under that page and form.
	ErrNotFound = errors.New("submission not found")
	// ErrAlreadySubmitted: the submitter already has a submission, and may have one only.
	ErrAlreadySubmitted = errors.New("already submitted")
	// ErrLimit: the form has as many submissions as it takes.
	ErrLimit = errors.New("the form is full")
	// ErrKeyUsed: a submission of the form was stored with the same Key.
	ErrKeyUsed = errors.New("already stored with this key")
	// ErrNoFile: a file that was to become part of a submission is not staged:
	// it was dropped, or removed because it was left alone for too long, or it
	// belongs to a submission already.
	ErrNoFile = errors.New("no such staged file")
	// ErrFull: there is no room to write. Reads go on, and writes succeed
	// again once there is room.
	ErrFull = errors.New("storage is full")
	// ErrExists: a submission with that id is stored already.
	ErrExists = errors.New("submission exists already")
	// ErrUnavailable: the engine can't do it now; nothing was changed, or it
	// is not known whether it was. It may be tried again.
	ErrUnavailable = errors.New("storage is unavailable")
	// ErrUnsettled: a list ends before submissions that are not settled, see Query.
	ErrUnsettled = errors.New("what follows may be incomplete")
	// ErrInDoubt is an ErrUnavailable of a write: the connection to the
	// database was lost during the commit, so that it may be stored or not.
	// Create with the same Key tells.
	ErrInDoubt = fmt.Errorf("%w: the connection to the database was lost during the commit", ErrUnavailable)
)

// Store keeps submissions. All methods are safe for concurrent use.
//
// A write is durable when its method returns nil, and has changed nothing when
// it returns one of the errors above other than ErrUnavailable. Writes may
// share a transaction, but one that fails never makes another fail.
// Arguments are not modified.
//
// A context that has ended makes a method return its error, which may be
// wrapped; a write that is under way by then is carried through all the same.
//
// Submission ids are one sequence over the whole store, from 1 to
// forms.MaxSubmissionID, ascending. An id is never given twice, not even after a
// delete or a restart. forms.NumberEntries makes the ids of entries.
type Store interface {
	Keeps

	// Create stores a new submission and returns it with all ids assigned.
	// The files that it names must be staged, and belong to it from then on.
	// Errors: ErrKeyUsed, ErrAlreadySubmitted, ErrLimit, ErrNoFile, ErrFull, ErrUnavailable;
	// when several apply, the first of them.
	Create(ctx context.Context, n New) (forms.Submission, error)

	// Get returns one submission. Errors: ErrNotFound, ErrUnavailable.
	Get(ctx context.Context, key Key) (forms.Submission, error)

	// ByKey returns the submission of a form that was stored with a key, and
	// the Body that it was stored with. It may say ErrNotFound right after
	// Create has said ErrKeyUsed, when the submission was deleted in between.
	// Errors: ErrNotFound, ErrUnavailable.
	ByKey(ctx context.Context, pageID int64, formID, key string) (sub forms.Submission, body string, err error)

	// Tallies returns a Tally for each new submission, in the same order. It stores nothing, and looks only at
	// PageID, FormID, Username, SubmitterKey and Limit. Errors: ErrUnavailable.
	Tallies(ctx context.Context, list []New) ([]Tally, error)

	// CountNamed returns how many of the oldest MaxLimit submissions of a form have a user
	// name, and how many these submissions are. It reads nothing else of them.
	// Errors: ErrUnavailable.
	CountNamed(ctx context.Context, pageID int64, formID string) (named, all int, err error)

	// CountForms returns how many submissions each form of a page has, counted up to
	// limit, or with page 0, each form of all pages. Forms without any are left out, and
	// the others are in the order of Dump.
	// Errors: ErrUnavailable.
	CountForms(ctx context.Context, pageID int64, limit int) ([]FormCount, error)

	// Latest returns a user's latest submissions to all forms: the MaxLatest with
	// the highest ids, the highest first. There are none of a user named "". They
	// come without Entries, Files, Changed and Changer.
	// Errors: ErrUnavailable.
	Latest(ctx context.Context, username string) ([]forms.Submission, error)

	// Update replaces the entries and files of a submission, and who changed it and
	// when, by what merge returns for it; no other call changes the submission in
	// between. Entries that merge returns with id 0 get new ids, which may be those of
	// entries that it leaves out. Files that the submission did not have before must be
	// staged. The contents of files that merge leaves out are removed. merge must not
	// call the store, and may be called more than once; while it runs, other submissions
	// can be written. An error of merge is returned as it is and nothing is stored.
	// Errors: merge's, ErrNotFound, ErrNoFile, ErrFull, ErrUnavailable.
	Update(ctx context.Context, key Key, merge Merge) (forms.Submission, error)

	// Delete removes a submission for good, with its files and its history. check, when not
	// nil, is called with the submission as it is when it goes; an error of
	// check is returned as it is and nothing is deleted. check must be quick
	// and must not call the store, and may be called more than once. The events
	// are stored with the delete.
	// Errors: check's, ErrNotFound, ErrFull, ErrUnavailable.
	Delete(ctx context.Context, key Key, check func(forms.Submission) error, events ...Event) error

	// Definition returns the definition that the create of a submission was checked against, see New.
	// Errors: ErrNotFound, also if it is not known, ErrUnavailable.
	Definition(ctx context.Context, key Key) (forms.Definition, error)

	// FormDefinitions returns the definitions of a form: the MaxDefinitions that were used last.
	// Errors: ErrUnavailable.
	FormDefinitions(ctx context.Context, pageID int64, formID string) ([]forms.Definition, error)

	// SweepDefinitions removes the definitions of forms without submissions, of each a day or more after a create has
	// last used it. Errors: ErrFull, ErrUnavailable.
	SweepDefinitions(ctx context.Context) error

	// History returns the steps of a submission, the oldest first; none of one that does
	// not exist. Of the newest, MaxSteps and MaxHistoryBytes are kept, and always the last.
	// Errors: ErrUnavailable.
	History(ctx context.Context, submissionID int64) ([]Step, error)

	// RemoveName replaces a user's name by "" where it tells who changed a submission: in Changer,
	// and in the Username of steps. Errors: ErrFull, ErrUnavailable.
	RemoveName(ctx context.Context, key Key, username string) error

	// Scan yields every submission that the query selects, in the query's order. An error comes last, without
	// a submission. No lock, transaction or connection is held while the body of the loop runs, and memory does
	// not grow with the number of submissions. A scan is not one snapshot: it may show or miss changes that are
	// made during the loop. But it yields a submission that was there before and stays exactly once. The submission's
	// Entries are valid until the body ends. It comes without its Files, Changed and Changer unless the query asks
	// for them.
	// Errors: ErrUnsettled, ErrUnavailable.
	Scan(ctx context.Context, q Query) Submissions

	// Ping reports whether the engine can be reached. It may wait for an engine that is stuck, longer than ctx lasts.
	Ping(ctx context.Context) error

	// Close waits for what is under way, and releases everything. It may be
	// called again; every other method returns ErrUnavailable from then on.
	Close() error
}

// Files keeps the contents of files, beside Store.
//
// A content is stored in chunks, each in a short transaction of its own, so
// that an upload does not hold up other writers.
type Files interface {
	// StageFile stores what r delivers under a new id. The content belongs to
	// no submission until Create or Update names its id, and can't be opened
	// before. When it is not named, it is removed at the next start, or an hour
	// after ctx has ended. When StageFile fails, nothing stays; while the engine
	// can't be reached or has no room, until a write succeeds again, or for an hour.
	// Of StoredFile it returns ID, Size and SHA256; an id is never given
	// twice. Errors: r's as they are, ErrFull, ErrUnavailable.
	StageFile(ctx context.Context, r io.Reader) (forms.StoredFile, error)

	// DropFile has a staged content removed soon that will not be named. It does
	// nothing for any other id.
	DropFile(id int64)

	// OpenFile opens the content of a file that a submission has. It is read
	// chunk by chunk with ctx, and no connection is held between two reads. When
	// the submission loses the file meanwhile, it can be read to its end all the
	// same, and is removed when it is closed; but where another process shares
	// the store, a read may return ErrNotFound. A read of a chunk that is not what
	// was stored fails.
	// Errors: ErrNotFound, ErrUnavailable.
	OpenFile(ctx context.Context, key Key, fileID int64) (io.ReadSeekCloser, error)

	// Purge removes contents that no submission has any more at once, and not a moment later. Afterwards
	// nothing that was deleted is in files of the engine, unless they are those of a database server.
	// Errors: ErrFull, ErrUnavailable.
	Purge(ctx context.Context) error
}

// Submissions are read when they are ranged over, each time.
type Submissions = iter.Seq2[forms.Submission, error]

// Key addresses one submission. A submission is found only under its own page and form.
type Key struct {
	PageID int64
	FormID string
	ID     int64
}

// FormCount is how many submissions a form has.
type FormCount struct {
	PageID int64
	FormID string
	Count  int
}

// Tally is what a form has stored when a new submission comes.
type Tally struct {
	Submitted bool // Create returns ErrAlreadySubmitted
	Count     int  // submissions of the form, counted up to the new one's Limit
}

// Refusal returns the error of Create, if it is ErrAlreadySubmitted or ErrLimit. n is the new submission.
func (t Tally) Refusal(n New) error {
	switch {
	case t.Submitted:
		return ErrAlreadySubmitted
	case n.Limit > 0 && t.Count >= n.Limit:
		return ErrLimit
	}
	return nil
}

// MaxLatest bounds the answer of Latest. Its statements have this number, too.
const MaxLatest = 200

// MaxDefinitions bounds the answer of FormDefinitions. Its statement has this number, too.
const MaxDefinitions = 100

// MaxLimit is the highest Limit of New. It bounds how many rows are counted.
const MaxLimit = 10_000

// Bounds of a history. The statements of engines have these numbers, too.
const (
	MaxSteps        = 1000
	MaxHistoryBytes = 1 << 20 // of values, as JSON
)

// MaxIDs is how many IDs a Query may have.
const MaxIDs = 1000

// New is a submission to be stored.
type New struct {
	PageID   int64
	FormID   string
	Username string // "" on an anonymous form
	Created  time.Time
	Entries  []forms.Entry // without ids

	// SubmitterKey, when not "", limits the submitter to one submission: Create
	// fails with ErrAlreadySubmitted when the form has one with the same key, or,
	// where Username is not "", any by that user, such as one from before the
	// limit was set. A delete frees it. A user's SubmitterKey for a form never changes.
	SubmitterKey string

	// Limit, when not 0, makes Create fail with ErrLimit if the form has so many
	// submissions, from before the limit was set included. It is at most MaxLimit.
	Limit int

	// Files are all files of the submission, with their contents staged.
	Files []forms.StoredFile

	// Key, when not "", makes Create fail with ErrKeyUsed if a submission of
	// the form was stored with the same Key. A delete frees it. An equal Key
	// comes with an equal SubmitterKey.
	Key  string
	Body string // stored with Key, and returned by ByKey

	Events []Event // stored with the submission

	// Definition, unless it is zero, is the form that the entries were checked against. Each definition of a form is
	// stored once, see SweepDefinitions.
	Definition forms.Definition
}

// Change is what Update makes of a submission.
type Change struct {
	Entries []forms.Entry
	Files   []forms.StoredFile // all that the submission has afterwards
	Changed time.Time          // zero leaves Changed and Changer as they are, unless the first Step comes with it
	Changer string
	Events  []Event // stored with the change

	// Step is added to the history, unless it is nil. One without values replaces all
	// earlier steps if any of those has values; otherwise it is not stored.
	Step *Step
}

// Step is one change in the history of a submission.
type Step struct {
	At       time.Time // to the millisecond
	Username string    // "" on an anonymous form
	// Before are the values of the changed fields before the change, by field id; nil if
	// they were removed.
	Before map[string]string
}

// Merge makes the change of an update from the submission as it is.
type Merge = func(forms.Submission) (Change, error)

// Query selects submissions of one form, in the order of their ids.
type Query struct {
	PageID     int64
	FormID     string
	Username   *string // only this user's, none if it is ""; nil for all
	Descending bool    // by id, from the highest
	After      int64   // only ids beyond this one in the query's order; 0 for all
	Limit      int     // at most so many; 0 for all
	Changes    bool    // Files, Changed and Changer are wanted: else they are not set, which is faster

	// Settled is for a list that goes on later, after the last id that it was given. It ends, with ErrUnsettled, before
	// the first submission that is not settled: one with a lower id may still be stored. It is not for Descending or IDs.
	Settled bool

	// IDs, if not nil, selects these submissions only, in this order, whatever
	// Descending and After are. It has at most MaxIDs ids, and none of them twice.
	IDs []int64
}
