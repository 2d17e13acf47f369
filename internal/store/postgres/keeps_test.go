package postgres

import (
	"errors"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// TestAlone: of two servers one is within the call. Its lock is gone with it, also after a panic, and it holds up
// neither the store nor VACUUM.
func TestAlone(t *testing.T) {
	url := newDatabase(t)
	other := openStore(t, url)
	s, err := Open(ctx, Options{URL: url, MaxConns: 2})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	calls := 0
	call := func(store *Store) func() error {
		return func() error { return store.Alone(ctx, func() error { calls++; return nil }) }
	}
	err = s.Alone(ctx, func() error {
		sub := mustCreate(t, s, sample("x"))
		const held = `SELECT count(*)::text || ' ' || count(backend_xmin)::text FROM pg_stat_activity
			WHERE state = 'idle in transaction' AND datname = current_database()`
		testkit.Same(t, "idle transactions, and how many have a snapshot", queryText(t, url, held), "1 0")
		return errors.Join(call(other)(), s.Delete(ctx, keyOf(sub), nil))
	})
	if err != nil || calls != 0 {
		t.Errorf("%d others at the same time, %v", calls, err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = s.Alone(ctx, func() error { panic("within the call") })
	}()
	must(t, errors.Join(call(other)(), call(s)()))
	testkit.Same(t, "calls afterwards", calls, 2)
}

// The statement of docs/operations.md lets keeps wait for a day after a restore.
func TestKeepsAfterRestore(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operations.md")
	must(t, err)
	statement := regexp.MustCompile(`(?m)^UPDATE keeps .*`).FindString(string(text))
	url := newDatabase(t)
	s := openStore(t, url)
	old := store.Keep{PageID: 1, FormID: "form", Period: forms.Period{N: 1, Unit: "day"}, Since: time.UnixMilli(1), Before: forms.Period{N: 2, Unit: "day"}}
	must(t, s.LoadKeeps(ctx, []store.Keep{old}))
	exec(t, url, statement)
	keep, err := s.Keep(ctx, 1, "form")
	if err != nil || keep.Now.Sub(keep.Since) > time.Minute || keep.InForce(keep.Now) != (forms.Period{}) {
		t.Errorf("%+v, %v", keep, err)
	}
}
