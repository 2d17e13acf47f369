package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

func aSession() store.Session {
	return store.Session{Hash: [32]byte{1}, Owner: [32]byte{2}, Expires: time.UnixMilli(3).UTC(), Sealed: []byte("sealed")}
}

// TestReplicasShareSessions: whoever signed in with one server is signed in with
// all, and signing out with one ends it on all.
func TestReplicasShareSessions(t *testing.T) {
	r, session := replicas(t), aSession()
	if err := r[0].CreateSession(ctx, session); err != nil {
		t.Fatal(err)
	}
	found, err := r[1].Session(ctx, session.Hash)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "session", found, session)
	if err := r[1].DeleteSession(ctx, session.Hash); err != nil {
		t.Fatal(err)
	}
	if _, err := r[0].Session(ctx, session.Hash); !errors.Is(err, store.ErrNoSession) {
		t.Errorf("session: %v, want %v", err, store.ErrNoSession)
	}
}

// TestMigrateFromBeforeSessions: a store of schema 4 is kept, and takes sessions.
func TestMigrateFromBeforeSessions(t *testing.T) {
	url := database(t)
	before := openStore(t, url)
	mustCreate(t, before, sample("kept"))
	before.Close()
	exec(t, url, `DROP TABLE sessions`)
	exec(t, url, `DELETE FROM `+versionTable+` WHERE version_id = 5`)
	mustRefuse(t, Options{URL: url, MustExist: true}, "schema version 4")
	s, session := openStore(t, url), aSession()
	storetest.Same(t, "submissions", len(storetest.Values(t, s)), 1)
	if err := s.CreateSession(ctx, session); err != nil {
		t.Fatal(err)
	}
}
