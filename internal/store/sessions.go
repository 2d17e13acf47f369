package store

import (
	"context"
	"errors"
	"time"
)

// ErrNoSession means that no such session is stored.
var ErrNoSession = errors.New("no such session")

// MaxSessions is how many sessions an owner can have: enough for a name that a
// team shares.
const MaxSessions = 100

// Sessions stores sessions of signed-in users, beside Store. It knows neither the id of a
// session nor a credential: a thief of the database can neither use a session nor tell its
// user.
//
// Sessions are in no backup and in no copy. A restored backup would bring back
// sessions that were ended since, and old backups must not contain credentials,
// encrypted or not. Users sign in again instead.
//
// What Store says about concurrent use, durability and contexts holds here, too.
type Sessions interface {
	// CreateSession stores a session, whose Hash must be new. Where the owner
	// has MaxSessions already, the ones that expire first are removed for it.
	// Several calls for one owner at the same moment may leave a few more, until the next call.
	// Errors: ErrFull, ErrUnavailable.
	CreateSession(ctx context.Context, s Session) error

	// Session returns a session, also one that has expired and was not removed
	// yet. Errors: ErrNoSession, ErrUnavailable.
	Session(ctx context.Context, hash [32]byte) (Session, error)

	// RenewSession makes a session expire later. An earlier time than the
	// stored one changes nothing. A session that was deleted stays deleted.
	// Errors: ErrNoSession, ErrFull, ErrUnavailable.
	RenewSession(ctx context.Context, hash [32]byte, expires time.Time) error

	// DeleteSession removes a session for good, on every server. It does
	// nothing where there is none. Errors: ErrFull, ErrUnavailable.
	DeleteSession(ctx context.Context, hash [32]byte) error

	// CountSessions returns how many sessions an owner has. Errors: ErrUnavailable.
	CountSessions(ctx context.Context, owner [32]byte) (int, error)

	// DeleteSessions removes all sessions of an owner for good, on every server.
	// Errors: ErrFull, ErrUnavailable.
	DeleteSessions(ctx context.Context, owner [32]byte) error

	// DeleteExpiredSessions removes sessions that expire at a time or before,
	// at most so many of them, the oldest first. It returns how many it removed.
	// Errors: ErrFull, ErrUnavailable.
	DeleteExpiredSessions(ctx context.Context, until time.Time, limit int) (removed int, err error)
}

// Session is one person signed in with one browser.
type Session struct {
	Hash    [32]byte  // of the id, which is not stored
	Owner   [32]byte  // the same in all sessions of one person
	Expires time.Time // to the millisecond
	Sealed  []byte    // the credential, encrypted with a key from the id; a few KB at most
}
