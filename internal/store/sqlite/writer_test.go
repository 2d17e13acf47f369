package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// countCommits counts the writer's commits from here on.
func countCommits(t *testing.T, s *Store) *int {
	t.Helper()
	commits := new(int)
	onWriter(t, s, func(conn *connection) error {
		conn.CommitHook(func() bool { *commits++; return true })
		return nil
	})
	*commits = 0 // onWriter made one itself
	return commits
}

// commitsOfOneBatch: one by oneBatch, to keep the writer busy, and one for all operations.
const commitsOfOneBatch = 2

func TestQueuedWritesShareOneCommit(t *testing.T) {
	s := openStore(t, t.TempDir())
	target := mustCreate(t, s, withSubmitterKey(sample("first"), "taken"))
	key := keyOf(target)
	refusal := errors.New("refused")

	var ops []func() error
	var want []error
	for i := range 100 {
		op, err := creating(s, sample(fmt.Sprint(i))), error(nil)
		switch i {
		case 10, 20:
			op, err = creating(s, withSubmitterKey(sample("second"), "taken")), store.ErrAlreadySubmitted
		case 50, 51, 52: // the first of them is the one
			op = creating(s, keyed(sample(fmt.Sprint(i)), "request"))
			if i > 50 {
				err = store.ErrKeyUsed
			}
		case 30:
			op, err = func() error { return s.Delete(ctx, key, func(forms.Submission) error { return refusal }) }, refusal
		case 40:
			op, err = func() error { return s.Delete(ctx, store.Key{PageID: 1, FormID: "form", ID: 999}, nil) }, store.ErrNotFound
		}
		ops, want = append(ops, op), append(want, err)
	}
	commits := countCommits(t, s)
	for i, err := range oneBatch(t, s, ops...) {
		testkit.ErrorIs(t, i, err, want[i])
	}
	storetest.Same(t, "commits", *commits, commitsOfOneBatch)

	// The failed operation used up no ids.
	stored := map[int64]string{1: "first"}
	for i := range ops {
		if want[i] == nil {
			stored[int64(len(stored)+1)] = fmt.Sprint(i)
		}
	}
	storetest.Same(t, "stored", storetest.Values(t, s), stored)
}

// Large submissions must not pile up in one transaction, and so in the WAL.
func TestLargeWritesAreSplitIntoTransactions(t *testing.T) {
	s := openStore(t, t.TempDir())
	commits := countCommits(t, s)
	const each = 3
	large := strings.Repeat("x", engine.MaxBatchBytes/each)
	ops := make([]func() error, 4*each)
	for i := range ops {
		ops[i] = creating(s, sample(large))
	}
	for i, err := range oneBatch(t, s, ops...) {
		if err != nil {
			t.Errorf("create %d: %v", i, err)
		}
	}
	storetest.Same(t, "commits", *commits, 1+len(ops)/each)
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 4*each)
}

// TestWhileBusy: when the writer is stuck, Ping and a queued write return when their context ends, and the
// write is not stored later.
func TestWhileBusy(t *testing.T) {
	s := openStore(t, t.TempDir())
	busy, release, freed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { freed <- s.writer.do(ctx, func(*tx) error { close(busy); <-release; return nil }) }()
	free := sync.OnceFunc(func() { close(release) })
	defer free() // or a failed test could not close the store
	<-busy
	impatient, cancel := context.WithCancel(ctx)
	pinged, left := make(chan error), make(chan error, 1)
	go func() { pinged <- s.Ping(impatient) }()
	go func() { _, err := s.Create(impatient, sample("too late")); left <- err }()
	waitQueued(t, s, 2)
	cancel()
	testkit.Eventually(t, "the create returns", func() bool { return len(left) == 1 })
	testkit.ErrorIs(t, "create", <-left, context.Canceled)
	testkit.ErrorIs(t, "ping", <-pinged, context.Canceled)
	free()
	if err := <-freed; err != nil {
		t.Error(err)
	}
	testkit.ErrorIs(t, "ping afterwards", s.Ping(ctx), nil)
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 0)
}

// Close returns the ids that are reserved and not used.
func TestCloseLeavesNoGapOfIDs(t *testing.T) {
	dir := t.TempDir()
	for want := range int64(3) {
		s := openStore(t, dir)
		sub := mustCreate(t, s, sample("x"))
		storetest.Same(t, "id", sub.ID, want+1)
		must(t, s.Close())
	}
}

// A kill costs the ids that were reserved, no more, and none is given again.
func TestIDsAfterAKill(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	for kills := range int64(3) {
		last := mustCreate(t, s, sample("before"))
		s = openStore(t, leftover(t, dir).write(t))
		dir = filepath.Dir(s.writer.files[0].name)
		if id := mustCreate(t, s, sample("after")).ID; id <= last.ID || id > last.ID+1+reserveIDs {
			t.Errorf("id %d after %d and kill %d", id, last.ID, kills)
		}
	}
}

// TestLateCallerDoesNotHoldUpClose: a caller that arrives between the two steps of
// a close must not hold commitMu while it waits for the queue.
func TestLateCallerDoesNotHoldUpClose(t *testing.T) {
	s := openStore(t, t.TempDir())
	mustCreate(t, s, sample("so that it is quiet"))
	w := s.writer
	w.commitMu.Lock()
	w.closed = true
	w.commitMu.Unlock()
	w.lastSingle.Store(true)
	done := make(chan error, 1)
	go func() { done <- w.do(ctx, func(*tx) error { return nil }) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testkit.WaitLimit):
		t.Fatal("still waiting")
	}
}

// TestDirectCommitWaitsForTheQueue: no caller commits directly while others are
// queued. The writer here has no connection: a direct commit would panic.
func TestDirectCommitWaitsForTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writer{queue: engine.NewQueue[write](2)}
		w.lastSingle.Store(true)
		go func() { _ = w.queue.Do(ctx, nil) }()
		synctest.Wait()
		go func() { _ = w.do(ctx, func(*tx) error { return nil }) }()
		synctest.Wait()
		storetest.Same(t, "in the queue", w.queue.Waiting(), 2)
		for _, op := range engine.Take(w.queue.Next(nil)) {
			op.Done()
		}
	})
}
