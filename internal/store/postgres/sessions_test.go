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
