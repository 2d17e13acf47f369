package store

import (
	"context"
	"io"

	"github.com/formulary/formulary/internal/forms"
)

// Engine is a whole storage engine: one that can be served, copied and shared
// by several servers.
type Engine interface {
	Store
	Archive
	Settings
	Files
	Sessions
}

// Archive copies a store with everything in it. Every engine implements it.
type Archive interface {
	// Dump visits every submission after a key (the zero Key for all), in
	// the order of page, form and id, forms by the bytes of their ids. It is
	// one snapshot, however long it takes, and keeps a connection until it
	// ends: it is for copies, not for requests. The Record's Entries are valid until
	// visit returns, which must not close the store. Errors: visit's, ErrUnavailable.
	Dump(ctx context.Context, after Key, visit func(Record) error) error

	// Load stores submissions as they are, ids included: all of them, or, when
	// it returns an error, none. Ids that Create gives from then on are higher
	// than those. Errors: ErrExists, ErrKeyUsed, ErrOnce, ErrFull, ErrUnavailable.
	Load(ctx context.Context, records []Record) error

	// Last is the key that Dump would visit last; ErrNotFound in an empty store.
	Last(ctx context.Context) (Key, error)

	// Count is the number of submissions.
	Count(ctx context.Context) (int64, error)

	// Sequences are the last ids assigned, or higher ones that are never assigned.
	Sequences(ctx context.Context) (Sequences, error)

	// Advance makes Create and Update assign higher ids than these from now
	// on. Sequences that are higher already stay as they are.
	Advance(ctx context.Context, to Sequences) error
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
	// SettingCopyOf is the id of the store that this one is being copied
	// from. While it is set, the copy is not complete.
	SettingCopyOf = "copy-of"
	// SettingOnceKey is a fingerprint of the key that anonymous submitters
	// are recognised by. The key itself is not stored.
	SettingOnceKey = "once-key"
	// SettingDigest is in backups only: a digest of everything else in them.
	SettingDigest = "digest"
)

// Record is a submission with everything that a store keeps about it.
type Record struct {
	forms.Submission
	Once, Key, Body string // see New

	// Open reads the content of one of Files in the snapshot of Dump, until
	// visit returns. Dump sets it where there are Files; Load does not use it.
	Open func(f forms.StoredFile) io.ReadCloser
}

// Sequences is a submission id and an entry id.
type Sequences struct{ Submission, Entry int64 }
