package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
)

const (
	home = "192.0.2.1:4711"
	away = "198.51.100.7:1"
)

var ownerKey = bytes.Repeat([]byte("k"), keySize)

// fixture is the sessions of a real store and real users, with a clock that
// tests move.
type fixture struct {
	*Sessions
	t     *testing.T
	store store.Engine
	dir   *auth.Directory
	clock *testsite.Clock
	file  string
	logs  *bytes.Buffer
}

// newFixture has amy and bob as users.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		t: t, store: enginetest.Default().Open(t), file: filepath.Join(t.TempDir(), "users"), logs: new(bytes.Buffer),
		clock: testsite.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
	}
	testkit.WriteFile(t, f.file, line(t, "amy", "secret")+line(t, "bob", "geheim"))
	f.dir, f.Sessions = f.replica()
	return f
}

// replica is another server on the same store, which remembers nothing.
func (f *fixture) replica() (*auth.Directory, *Sessions) {
	f.t.Helper()
	dir, err := auth.Open(auth.Options{UsersFile: f.file, Now: f.clock.Now})
	testkit.Must(f.t, err)
	return dir, New(Options{Store: f.store, Users: dir, OwnerKey: ownerKey, Now: f.clock.Now, Logger: slog.New(slog.NewTextHandler(f.logs, nil))})
}

// line is one of a users file, with the cheapest hash.
func line(t *testing.T, user, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	testkit.Must(t, err)
	return user + ":" + string(hash) + "\n"
}

// setUsers replaces the users file.
func (f *fixture) setUsers(lines ...string) {
	f.t.Helper()
	testkit.WriteFile(f.t, f.file+".new", strings.Join(lines, ""))
	testkit.Must(f.t, os.Rename(f.file+".new", f.file))
	f.dir.Reload(f.t.Context())
}

func (f *fixture) signIn(user, password string) (id string) {
	f.t.Helper()
	id, who, err := f.SignIn(f.t.Context(), user, password, home)
	if err != nil || who.Name != user {
		f.t.Fatalf("sign in as %s: %q, %v", user, who.Name, err)
	}
	return id
}

func (f *fixture) wantOpen(id, user string) {
	f.t.Helper()
	if who, err := f.Open(f.t.Context(), id); err != nil || who.Name != user {
		f.t.Errorf("open: %q, %v; want %s", who.Name, err, user)
	}
}

func (f *fixture) wantNone(id string) {
	f.t.Helper()
	if who, err := f.Open(f.t.Context(), id); !errors.Is(err, ErrNone) || who.Name != "" {
		f.t.Errorf("open: %q, %v; want %v", who.Name, err, ErrNone)
	}
}

// stored is the row of a session.
func (f *fixture) stored(id string) store.Session {
	f.t.Helper()
	secret, ok := parseID(id)
	if !ok {
		f.t.Fatalf("%q is no id", id)
	}
	s, err := f.store.Session(f.t.Context(), secret.hash())
	testkit.Must(f.t, err)
	return s
}

func (f *fixture) wantRemoved(id string) {
	f.t.Helper()
	secret, _ := parseID(id)
	testkit.ErrorIs(f.t, "stored", testkit.ErrorOf(f.store.Session(f.t.Context(), secret.hash())), store.ErrNoSession)
}

// Each sign-in makes a session with an id of its own, and ends no other one.
func TestSignIn(t *testing.T) {
	f := newFixture(t)
	bobs := f.signIn("bob", "geheim")
	given := map[string]bool{bobs: true}
	for range 10 {
		id := f.signIn("amy", "secret")
		if given[id] {
			t.Fatal("an id was given twice")
		}
		given[id] = true
		f.wantOpen(id, "amy")
		f.wantOpen(bobs, "bob")
	}
}

// TestRefusedSignIn: what the API refuses, a sign-in refuses with the same
// error, and stores nothing.
func TestRefusedSignIn(t *testing.T) {
	f := newFixture(t)
	for _, c := range []credential{
		{"amy", "wrong"},
		{"amy", ""},
		{"nobody", "secret"},
		{"", ""},
		{strings.Repeat("a", 1<<20), "x"},
		{"amy", strings.Repeat("x", 1<<20)},
	} {
		id, who, err := f.SignIn(t.Context(), c.user, c.password, home)
		if !errors.Is(err, auth.ErrBadCredentials) || id != "" || who.Name != "" {
			t.Errorf("%.10q: %q, %q, %v", c, id, who.Name, err)
		}
	}
	f.clock.Advance(10 * Lifetime)
	if removed, err := f.store.DeleteExpiredSessions(t.Context(), f.clock.Now(), 10); err != nil || removed != 0 {
		t.Errorf("%d sessions were stored: %v", removed, err)
	}
}

// TestThrottledSignIn: sign-ins and the API share one throttle.
func TestThrottledSignIn(t *testing.T) {
	f := newFixture(t)
	var throttled *auth.ThrottledError
	for range 1000 {
		if _, err := f.dir.Authenticate(t.Context(), "amy", "wrong", away); errors.As(err, &throttled) {
			break
		}
	}
	if _, _, err := f.SignIn(t.Context(), "amy", "secret", away); !errors.As(err, &throttled) {
		t.Errorf("sign in: %v, want a ThrottledError", err)
	}
}

// TestBusyOpenEndsNothing: a server that can't verify a password now answers so,
// and the session opens later.
func TestBusyOpenEndsNothing(t *testing.T) {
	f := newFixture(t)
	id := f.signIn("amy", "secret")
	for _, want := range []error{&auth.ThrottledError{RetryAfter: time.Second, Busy: true}, context.Canceled, context.DeadlineExceeded} {
		f.opts.Users = reverifier(func(context.Context, string, string) (auth.Identity, error) { return auth.Identity{}, want })
		if who, err := f.Open(t.Context(), id); !errors.Is(err, want) || who.Name != "" {
			t.Errorf("open: %q, %v; want %v", who.Name, err, want)
		}
	}
	f.opts.Users = f.dir
	f.wantOpen(id, "amy")
}

func TestExpiry(t *testing.T) {
	f := newFixture(t)
	id := f.signIn("amy", "secret")
	f.clock.Advance(Lifetime - time.Millisecond)
	f.wantOpen(id, "amy") // which renews it
	f.clock.Advance(Lifetime)
	f.wantNone(id)
	f.wantNone(id)
}

func TestRenewal(t *testing.T) {
	f := newFixture(t)
	id := f.signIn("amy", "secret")
	first := f.stored(id).Expires
	f.clock.Advance(renewAfter - time.Millisecond)
	f.wantOpen(id, "amy")
	if got := f.stored(id).Expires; !got.Equal(first) {
		t.Errorf("renewed within a minute, to %v", got)
	}
	f.clock.Advance(time.Millisecond)
	f.wantOpen(id, "amy")
	if got, want := f.stored(id).Expires, f.clock.Now().Add(Lifetime); !got.Equal(want) {
		t.Errorf("expires at %v, want %v", got, want)
	}
	for range 10 { // used every 8 hours
		f.clock.Advance(8 * time.Hour)
		f.wantOpen(id, "amy")
	}
}

func TestSignOut(t *testing.T) {
	f := newFixture(t)
	id, other := f.signIn("amy", "secret"), f.signIn("amy", "secret")
	_, replica := f.replica()
	testkit.ErrorIs(t, "another server", testkit.ErrorOf(replica.Open(t.Context(), id)), nil)
	for range 2 {
		testkit.Must(t, f.SignOut(t.Context(), id))
		f.wantNone(id)
		testkit.ErrorIs(t, "another server", testkit.ErrorOf(replica.Open(t.Context(), id)), ErrNone)
	}
	f.wantOpen(other, "amy")
}

// TestSignedOutWhileOpening: the session ends after it was read. It must not
// come back by its renewal.
func TestSignedOutWhileOpening(t *testing.T) {
	f := newFixture(t)
	id := f.signIn("amy", "secret")
	f.clock.Advance(time.Hour)
	f.opts.Users = reverifier(func(ctx context.Context, user, password string) (auth.Identity, error) {
		if err := f.SignOut(ctx, id); err != nil {
			t.Error(err)
		}
		return f.dir.Reverify(ctx, user, password)
	})
	f.wantNone(id)
	f.wantRemoved(id)
}

// reverifier is an Authenticator that only reverifies.
type reverifier func(ctx context.Context, user, password string) (auth.Identity, error)

func (fn reverifier) Reverify(ctx context.Context, user, password string) (auth.Identity, error) {
	return fn(ctx, user, password)
}

func (reverifier) Authenticate(context.Context, string, string, string) (auth.Identity, error) {
	return auth.Identity{}, auth.ErrBadCredentials
}

// TestForeignIDs: an id that no server has made opens nothing, and never becomes
// the id of a session. Nor does another text for an id that was made.
func TestForeignIDs(t *testing.T) {
	f := newFixture(t)
	made := strings.Repeat("A", 43)
	f.wantNone(made)
	id := f.signIn("amy", "secret")
	f.wantNone(made)
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	unusedBit := id[:42] + string(digits[strings.IndexByte(digits, id[42])|1])
	for _, text := range []string{
		"", "x", id + "=", id + "\n", "\n" + id[1:], " " + id, id[:42], id + "A", unusedBit, strings.ToUpper(id), strings.Repeat("A", 1<<20),
	} {
		f.wantNone(text)
		testkit.ErrorIs(t, "sign out", f.SignOut(t.Context(), text), nil)
	}
	f.wantOpen(id, "amy")
}

// A session whose password is not right any more ends for good, although nobody may
// have looked when the name had no password.
func TestUsersChange(t *testing.T) {
	for name, files := range map[string][][2]string{
		"changed password":              {{"amy", "changed"}},
		"removed":                       {{"bob", "geheim"}},
		"removed, and somebody else's":  {{"bob", "geheim"}, {"amy", "another"}},
		"changed twice without a visit": {{"amy", "changed"}, {"amy", "again"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			amy, bob := f.signIn("amy", "secret"), f.signIn("bob", "geheim")
			f.wantOpen(amy, "amy")
			bobs := line(t, "bob", "geheim")
			for _, user := range files {
				f.setUsers(line(t, user[0], user[1]), bobs)
			}
			f.wantNone(amy)
			f.wantRemoved(amy)
			f.setUsers(line(t, "amy", "secret"), bobs)
			f.wantNone(amy)
			f.wantOpen(bob, "bob")
			f.wantOpen(f.signIn("amy", "secret"), "amy")
		})
	}
}

func TestUnavailable(t *testing.T) {
	f := newFixture(t)
	id := f.signIn("amy", "secret")
	testkit.Must(t, f.store.Close())
	_, openErr := f.Open(t.Context(), id)
	_, _, signInErr := f.SignIn(t.Context(), "amy", "secret", home)
	for what, err := range map[string]error{"open": openErr, "sign in": signInErr, "sign out": f.SignOut(t.Context(), id)} {
		testkit.ErrorIs(t, what, err, store.ErrUnavailable)
	}
}

// failingRenewals is a store whose disk is full.
type failingRenewals struct{ store.Sessions }

func (failingRenewals) RenewSession(context.Context, [32]byte, time.Time) error {
	return fmt.Errorf("%w: test", store.ErrFull)
}

func TestFullDiskSignsNobodyOut(t *testing.T) {
	f := newFixture(t)
	id := f.signIn("amy", "secret")
	f.clock.Advance(time.Hour)
	f.opts.Store = failingRenewals{f.store}
	for range 3 {
		f.wantOpen(id, "amy")
	}
	if logs := f.logs.String(); strings.Count(logs, "\n") != 1 || !strings.Contains(logs, "can't renew a session") {
		t.Errorf("logs: %s", logs)
	}
}
