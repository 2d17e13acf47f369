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

// TestBlockedWritesEnd: a write that waits for a lock ends with the timeout.
func TestBlockedWritesEnd(t *testing.T) {
	url := newDatabase(t)
	sub := mustCreate(t, openStore(t, url), sample("x"))
	s, err := Open(ctx, Options{URL: url, StatementTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	release := holdInserts(t, url)
	_, createErr := s.Create(ctx, sample("y"))
	_, updateErr := s.Update(ctx, keyOf(sub), set("field", "y"))
	for what, err := range map[string]error{"create": createErr, "update": updateErr, "delete": s.Delete(ctx, keyOf(sub), nil)} {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", what, err, store.ErrUnavailable)
		}
	}
	release()
	testkit.Eventually(t, "creates succeed", func() bool { _, err := s.Create(ctx, sample("z")); return err == nil })
	storetest.Same(t, "stored", storetest.Values(t, s)[sub.ID], "x")
}

// TestBlockedReadsEnd: a read that waits for a lock ends with the statement's timeout.
func TestBlockedReadsEnd(t *testing.T) {
	url := newDatabase(t)
	sub := mustCreate(t, openStore(t, url), sample("x"))
	s, err := Open(ctx, Options{URL: url, StatementTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	release := lockTable(t, url, "ACCESS EXCLUSIVE")
	if _, err := s.Get(ctx, keyOf(sub)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("get: %v, want %v", err, store.ErrUnavailable)
	}
	release()
	testkit.Eventually(t, "reads succeed", func() bool { _, err := s.Get(ctx, keyOf(sub)); return err == nil })
}

// TestReadThatWaitsForAConnection: it ends with the caller's context, and the
// store is not reported as unavailable for that.
func TestReadThatWaitsForAConnection(t *testing.T) {
	s, err := Open(ctx, Options{URL: newDatabase(t), MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sub := mustCreate(t, s, sample("x"))
	conn, err := s.acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	impatient, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := s.Get(impatient, keyOf(sub)); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("get: %v, want %v", err, context.DeadlineExceeded)
	}
}
