package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// TestBlockedCallsEnd: what waits for a lock ends with the statement's timeout.
func TestBlockedCallsEnd(t *testing.T) {
	url := newDatabase(t)
	sub := mustCreate(t, openStore(t, url), sample("x"))
	s, err := Open(ctx, Options{URL: url, StatementTimeout: 100 * time.Millisecond})
	must(t, err)
	defer s.Close()
	release := lockTable(t, url, "ACCESS EXCLUSIVE")
	_, create := s.Create(ctx, sample("y"))
	_, update := s.Update(ctx, keyOf(sub), set("field", "y"))
	_, get := s.Get(ctx, keyOf(sub))
	for what, err := range map[string]error{"create": create, "update": update, "get": get, "delete": s.Delete(ctx, keyOf(sub), nil)} {
		testkit.ErrorIs(t, what, err, store.ErrUnavailable)
	}
	release()
	testkit.Eventually(t, "creates succeed", func() bool { _, err := s.Create(ctx, sample("z")); return err == nil })
	storetest.Same(t, "stored", storetest.Values(t, s)[sub.ID], "x")
}

// TestReadThatWaitsForAConnection: it ends with the caller's context, and the
// store is not reported as unavailable for that.
func TestReadThatWaitsForAConnection(t *testing.T) {
	s, err := Open(ctx, Options{URL: newDatabase(t), MaxConns: 1})
	must(t, err)
	defer s.Close()
	sub := mustCreate(t, s, sample("x"))
	conn, err := s.acquire(ctx)
	must(t, err)
	defer conn.Release()
	impatient, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := s.Get(impatient, keyOf(sub)); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("get: %v, want %v", err, context.DeadlineExceeded)
	}
}
