// Package session keeps people signed in.
//
// A session has an id, 256 random bits, which only the browser keeps. The store
// has a hash of the id, and the user's name and password encrypted under a key
// that is derived from the id. So a copy of the database opens no session. Each
// time a session is opened, name and password are verified again: a user who was
// removed, or whose password was changed, is signed out.
package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/store"
)

const (
	// Lifetime is how long a session lasts after it was used last.
	Lifetime = 12 * time.Hour
	// renewAfter keeps a busy session from being written at every request.
	renewAfter = time.Minute
	// sweepInterval is short beside Lifetime, so that few sessions in the store
	// have expired.
	sweepInterval = 10 * time.Minute
	// sweepBatch bounds one statement, so that others do not wait for it.
	sweepBatch = 500
)

// ErrNone means that an id opens no session: it was never given, or the
// session has expired, was ended, or has a password that is not the user's any
// more. It does not say which.
var ErrNone = errors.New("not signed in")

// Authenticator verifies users, as auth.Directory does.
type Authenticator interface {
	Authenticate(ctx context.Context, user, password, addr string) (auth.Identity, error)
	Reverify(ctx context.Context, user, password string) (auth.Identity, error)
}

// Options configure New.
type Options struct {
	Store store.Sessions
	Users Authenticator
	// OwnerKey is a secret that all servers on one store share, and that is not
	// in the store. It keys the hashes that name the owners of sessions, so that
	// a copy of the store does not tell who was signed in when an anonymous
	// submission was sent.
	OwnerKey []byte
	Logger   *slog.Logger     // nil discards
	Now      func() time.Time // nil is time.Now
}

// Sessions creates, opens and ends sessions. Its methods may be called
// concurrently.
type Sessions struct {
	opts       Options // OwnerKey is a key of our own that is derived from it
	sweepEvery time.Duration
	failing    atomic.Bool // the last write that no caller was told of has failed
}

// New returns the sessions of a store.
func New(o Options) *Sessions {
	o.OwnerKey = Derive(o.OwnerKey, "formulary session owner")
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Sessions{opts: o, sweepEvery: sweepInterval}
}

// SignIn creates a session and returns its id, which is always a new one. addr is
// where the attempt comes from: sign-ins and API requests share one throttle.
// The errors are those of auth.Directory.Authenticate, and store.ErrFull and
// store.ErrUnavailable.
//
// A browser that is signed in already should be signed out first: SignIn does
// not end its session.
func (s *Sessions) SignIn(ctx context.Context, user, password, addr string) (id string, who auth.Identity, err error) {
	if len(user) > maxUser || len(password) > maxPassword {
		return "", who, auth.ErrBadCredentials
	}
	if who, err = s.opts.Users.Authenticate(ctx, user, password, addr); err != nil {
		return "", who, err
	}
	var secret secretID
	rand.Read(secret[:]) // never fails: crypto/rand aborts the program instead
	err = s.opts.Store.CreateSession(ctx, store.Session{
		Hash: secret.hash(), Owner: s.owner(who.Name), Expires: s.opts.Now().Add(Lifetime),
		Sealed: secret.seal(credential{user, password}),
	})
	return secret.String(), who, err
}

// Open returns who is signed in with an id, with their current groups, and
// makes the session last for another Lifetime. The errors are ErrNone,
// *auth.ThrottledError, store.ErrUnavailable and that of ctx. After all but ErrNone
// the session can be opened later.
//
// Where the request comes from does not matter. The id can't be guessed, and
// its password was right once, so no throttle holds up a phone that changes
// its network, or an office where somebody mistypes a password.
func (s *Sessions) Open(ctx context.Context, id string) (who auth.Identity, err error) {
	secret, ok := parseID(id)
	if !ok {
		return who, ErrNone
	}
	found, err := s.opts.Store.Session(ctx, secret.hash())
	now := s.opts.Now()
	switch {
	case errors.Is(err, store.ErrNoSession):
		return who, ErrNone
	case err != nil:
		return who, err
	case !now.Before(found.Expires):
		return who, ErrNone // the sweep removes it
	}
	if who, err = s.verify(ctx, secret, found); err != nil {
		return who, err
	}
	if err := s.renew(ctx, found, now); err != nil {
		return auth.Identity{}, err
	}
	return who, nil
}

// verify ends a session whose credential is not right any more, for good: it must
// not open again when the old password comes back.
func (s *Sessions) verify(ctx context.Context, secret secretID, found store.Session) (auth.Identity, error) {
	c, err := secret.open(found.Sealed)
	if err != nil {
		s.opts.Logger.Error("a session is damaged: the user has to sign in again", "error", err)
	} else {
		who, err := s.opts.Users.Reverify(ctx, c.user, c.password)
		if !errors.Is(err, auth.ErrBadCredentials) {
			return who, err
		}
	}
	s.report(ctx, "remove a session that has ended", s.opts.Store.DeleteSession(ctx, found.Hash))
	return auth.Identity{}, ErrNone
}

// renew lets a session last longer. It fails only if the session was ended in the
// meantime: people can go on reading when the disk is full.
func (s *Sessions) renew(ctx context.Context, found store.Session, now time.Time) error {
	expires := now.Add(Lifetime)
	if expires.Sub(found.Expires) < renewAfter {
		return nil
	}
	err := s.opts.Store.RenewSession(ctx, found.Hash, expires)
	if errors.Is(err, store.ErrNoSession) {
		return ErrNone
	}
	s.report(ctx, "renew a session", err)
	return nil
}

// SignOut ends a session on all servers. An id that opens none is no error.
// Errors: store.ErrFull, store.ErrUnavailable.
func (s *Sessions) SignOut(ctx context.Context, id string) error {
	secret, ok := parseID(id)
	if !ok {
		return nil
	}
	return s.opts.Store.DeleteSession(ctx, secret.hash())
}

// Count returns how many sessions a user has. Errors: store.ErrUnavailable.
func (s *Sessions) Count(ctx context.Context, user string) (int, error) {
	return s.opts.Store.CountSessions(ctx, s.owner(user))
}

// SignOutUser ends all sessions of a user. Errors: store.ErrFull, store.ErrUnavailable.
func (s *Sessions) SignOutUser(ctx context.Context, user string) error {
	return s.opts.Store.DeleteSessions(ctx, s.owner(user))
}

// report logs the error of a write that the caller is not told of. It logs the
// first of several in a row, because a full disk fails every request. A write
// that the browser has cancelled is no error.
func (s *Sessions) report(ctx context.Context, what string, err error) {
	switch {
	case err == nil:
		s.failing.Store(false)
	case ctx.Err() == nil && !s.failing.Swap(true):
		s.opts.Logger.Warn("can't "+what, "error", err)
	}
}

// Run removes expired sessions until ctx ends. Several servers may do so at
// the same time.
func (s *Sessions) Run(ctx context.Context) {
	tick := time.NewTicker(s.sweepEvery)
	defer tick.Stop()
	for {
		s.report(ctx, "remove expired sessions", s.sweep(ctx))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Sessions) sweep(ctx context.Context) error {
	for {
		removed, err := s.opts.Store.DeleteExpiredSessions(ctx, s.opts.Now(), sweepBatch)
		if err != nil || removed < sweepBatch {
			return err
		}
	}
}
