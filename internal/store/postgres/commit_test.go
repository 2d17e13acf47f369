package postgres

import (
	"errors"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// TestCommitInDoubt: a connection is lost while it commits. The write is neither
// acknowledged nor tried again.
func TestCommitInDoubt(t *testing.T) {
	url := pgtest.New(t, pgtest.Options{Settings: pgtest.HoldableCommits}).Database(t)
	s := openStore(t, url)
	old := mustCreate(t, s, sample("before"))
	gone := mustCreate(t, s, sample("gone"))
	key := keyed(sample("with a key"), "key")
	for what, write := range map[string]func() error{
		"create":              creating(s, sample("plain")),
		"with a limit":        creating(s, withSubmitterKey(sample("limited"), "limit")),
		"with a key":          creating(s, key),
		"with files":          creating(s, withFile(sample("file"), mustStage(t, s, 10))),
		"with files, limited": creating(s, withFile(keyed(withSubmitterKey(sample("limited file"), "limit 2"), "key 2"), mustStage(t, s, 10))),
		"update": func() error {
			_, err := s.Update(ctx, keyOf(old), set("field", "after"))
			return err
		},
		"delete": func() error { return s.Delete(ctx, keyOf(gone), nil) },
	} {
		hold := pgtest.HoldCommits(t, url)
		done := make(chan error, 1)
		go func() { done <- write() }()
		var pid int
		testkit.Eventually(t, what+" is being committed", func() bool { pid = hold.Waiting(); return pid != 0 })
		exec(t, url, `SELECT pg_terminate_backend($1)`, pid)
		if err := <-done; !errors.Is(err, store.ErrInDoubt) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", what, err, store.ErrInDoubt)
		}
		hold.Release()
	}
	count := map[string]int{}
	for _, value := range storetest.Values(t, s) {
		count[value]++
	}
	storetest.Same(t, "stored", count, map[string]int{"after": 1, "plain": 1, "limited": 1, "with a key": 1, "file": 1, "limited file": 1})
	contentsLeft(t, url, "2 0")
	testkit.ErrorIs(t, "the same key again", testkit.ErrorOf(s.Create(ctx, key)), store.ErrKeyUsed)
}
