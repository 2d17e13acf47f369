package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/store"
)

var sessionTests = []test{
	{"a session is kept as it is", testSession},
	{"an unknown session", testNoSession},
	{"a hash is given once", testSessionHash},
	{"renewed is later, never earlier", testRenewSession},
	{"deleted is gone, and can't be renewed", testDeleteSession},
	{"all of an owner are counted and deleted", testDeleteSessions},
	{"an owner has a limited number of sessions", testMaxSessions},
	{"concurrent sign-ins of one owner", testConcurrentSessions},
	{"expired sessions are removed, the oldest first", testExpiredSessions},
	{"sessions survive a restart", testSessionsKept},
}

// session is one of an owner that expires so many minutes after created.
func session(name, owner string, minutes int) store.Session {
	return store.Session{
		Hash: sha256.Sum256([]byte(name)), Owner: sha256.Sum256([]byte(owner)),
		Expires: created.Add(time.Duration(minutes) * time.Minute), Sealed: []byte("\x00\xff sealed " + name),
	}
}

func (b *bench) signIn(t *testing.T, s store.Session) store.Session {
	t.Helper()
	if err := b.CreateSession(ctx, s); err != nil {
		t.Fatalf("create session: %v", err)
	}
	return s
}

func (b *bench) checkSession(t *testing.T, want store.Session) {
	t.Helper()
	found, err := b.Session(ctx, want.Hash)
	if err != nil {
		t.Fatalf("session %q: %v", want.Sealed, err)
	}
	Same(t, "session", found, want)
}

func (b *bench) checkNoSession(t *testing.T, s store.Session) {
	t.Helper()
	if found, err := b.Session(ctx, s.Hash); !errors.Is(err, store.ErrNoSession) {
		t.Errorf("session %q: %+v, %v; want %v", s.Sealed, found, err, store.ErrNoSession)
	}
}

func testSession(t *testing.T, b *bench) {
	amys, bobs := b.signIn(t, session("a", "amy", 1)), b.signIn(t, session("b", "bob", 2))
	large := session("large", "amy", 3)
	large.Sealed = make([]byte, 10_000)
	b.signIn(t, large)
	for _, s := range []store.Session{amys, bobs, large} {
		b.checkSession(t, s)
	}
}

func testNoSession(t *testing.T, b *bench) {
	kept, unknown := b.signIn(t, session("a", "amy", 1)), session("b", "amy", 1)
	b.checkNoSession(t, unknown)
	if err := b.RenewSession(ctx, unknown.Hash, unknown.Expires); !errors.Is(err, store.ErrNoSession) {
		t.Errorf("renew: %v, want %v", err, store.ErrNoSession)
	}
	if err := b.DeleteSession(ctx, unknown.Hash); err != nil {
		t.Errorf("delete: %v", err)
	}
	b.checkNoSession(t, unknown)
	b.checkSession(t, kept)
}

// testSessionHash: nobody can put another session in the place of one, and the
// attempt removes none of the owner's others.
func testSessionHash(t *testing.T, b *bench) {
	var stored []store.Session
	for i := range store.MaxSessions {
		stored = append(stored, b.signIn(t, session(fmt.Sprint(i), "amy", i)))
	}
	other := session(fmt.Sprint(store.MaxSessions-1), "amy", 1000)
	other.Sealed = []byte("another")
	if err := b.CreateSession(ctx, other); err == nil {
		t.Error("a second session with the same hash was stored")
	}
	for _, s := range stored {
		b.checkSession(t, s)
	}
}

func testRenewSession(t *testing.T, b *bench) {
	s, other := b.signIn(t, session("a", "amy", 10)), b.signIn(t, session("b", "amy", 10))
	for _, step := range []struct{ minutes, want int }{{20, 20}, {15, 20}, {20, 20}, {30, 30}} {
		if err := b.RenewSession(ctx, s.Hash, session("", "", step.minutes).Expires); err != nil {
			t.Fatalf("renew: %v", err)
		}
		s.Expires = session("", "", step.want).Expires
		b.checkSession(t, s)
	}
	b.checkSession(t, other)
}

func testDeleteSessions(t *testing.T, b *bench) {
	first, second, bobs := b.signIn(t, session("a", "amy", 1)), b.signIn(t, session("b", "amy", 2)), b.signIn(t, session("c", "bob", 1))
	for _, want := range []int{2, 0} {
		if n, err := b.CountSessions(ctx, first.Owner); n != want || err != nil {
			t.Errorf("%d sessions, %v; want %d", n, err, want)
		}
		if err := b.DeleteSessions(ctx, first.Owner); err != nil {
			t.Fatalf("delete: %v", err)
		}
	}
	b.checkNoSession(t, first)
	b.checkNoSession(t, second)
	b.checkSession(t, bobs)
}

func testDeleteSession(t *testing.T, b *bench) {
	s, other := b.signIn(t, session("a", "amy", 1)), b.signIn(t, session("b", "amy", 1))
	for range 2 {
		if err := b.DeleteSession(ctx, s.Hash); err != nil {
			t.Fatalf("delete: %v", err)
		}
		if err := b.RenewSession(ctx, s.Hash, s.Expires.Add(time.Hour)); !errors.Is(err, store.ErrNoSession) {
			t.Errorf("renew: %v, want %v", err, store.ErrNoSession)
		}
		b.checkNoSession(t, s)
	}
	b.checkSession(t, other)
}

// testMaxSessions: the session that expires first goes, which need not be the
// one that was created first, and never the new one.
func testMaxSessions(t *testing.T, b *bench) {
	bobs := b.signIn(t, session("bob", "bob", 0))
	first := b.signIn(t, session("first", "amy", 5))
	var others []store.Session
	for i := range store.MaxSessions - 1 {
		others = append(others, b.signIn(t, session(fmt.Sprint(i), "amy", 10+i)))
	}
	if err := b.RenewSession(ctx, first.Hash, first.Expires.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	first.Expires = first.Expires.Add(time.Hour)
	b.checkSession(t, others[0])
	late := b.signIn(t, session("new", "amy", 1))
	b.checkNoSession(t, others[0])
	for _, s := range append(others[1:], first, late, bobs) {
		b.checkSession(t, s)
	}
}

func testConcurrentSessions(t *testing.T, b *bench) {
	const clients = store.MaxSessions + 30
	bobs := b.signIn(t, session("bob", "bob", 0))
	NoErrors(t, "create session", Parallel(clients, func(i int) error {
		return b.CreateSession(ctx, session(fmt.Sprint(i), "amy", i))
	}))
	late := b.signIn(t, session("new", "amy", 1000))
	count := 0
	for i := range clients {
		_, err := b.Session(ctx, session(fmt.Sprint(i), "amy", i).Hash)
		if err == nil {
			count++
		} else if !errors.Is(err, store.ErrNoSession) {
			t.Fatal(err)
		}
	}
	Same(t, "others of the owner", count, store.MaxSessions-1)
	b.checkSession(t, late)
	b.checkSession(t, bobs)
}

func testExpiredSessions(t *testing.T, b *bench) {
	var stored []store.Session
	for i := range 5 {
		stored = append(stored, b.signIn(t, session(fmt.Sprint(i), fmt.Sprint("user", i%2), i)))
	}
	remove := func(until time.Time, limit, want int) {
		t.Helper()
		removed, err := b.DeleteExpiredSessions(ctx, until, limit)
		if err != nil {
			t.Fatal(err)
		}
		Same(t, "removed", removed, want)
	}
	remove(stored[0].Expires.Add(-time.Millisecond), 10, 0)
	remove(stored[2].Expires, 1, 1)
	b.checkNoSession(t, stored[0])
	b.checkSession(t, stored[1])
	remove(stored[2].Expires, 10, 2)
	remove(stored[2].Expires, 10, 0)
	b.checkNoSession(t, stored[1])
	b.checkNoSession(t, stored[2])
	b.checkSession(t, stored[3])
	b.checkSession(t, stored[4])
}

func testSessionsKept(t *testing.T, b *bench) {
	kept, renewed, ended := b.signIn(t, session("a", "amy", 1)), b.signIn(t, session("b", "amy", 2)), b.signIn(t, session("c", "amy", 3))
	renewed.Expires = renewed.Expires.Add(time.Hour)
	if err := errors.Join(b.RenewSession(ctx, renewed.Hash, renewed.Expires), b.DeleteSession(ctx, ended.Hash)); err != nil {
		t.Fatal(err)
	}
	b.reopen(t)
	b.checkSession(t, kept)
	b.checkSession(t, renewed)
	b.checkNoSession(t, ended)
}

// sessionCalls are one of each method.
func (b *bench) sessionCalls(ctx context.Context, s store.Session) map[string]error {
	_, get := b.Session(ctx, s.Hash)
	_, expired := b.DeleteExpiredSessions(ctx, s.Expires, 10)
	return map[string]error{
		"create session": b.CreateSession(ctx, session("late", "amy", 1)), "get session": get,
		"renew session":  b.RenewSession(ctx, s.Hash, s.Expires.Add(time.Hour)),
		"delete session": b.DeleteSession(ctx, s.Hash), "delete expired sessions": expired,
	}
}
