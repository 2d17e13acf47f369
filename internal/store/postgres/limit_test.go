package postgres

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// TestLockedFormHoldsUpNoOther: another server has the lock of a form, and hangs. Many wait for it, and nobody else.
func TestLockedFormHoldsUpNoOther(t *testing.T) {
	for conns, waits := range map[int]int{4: 1, DefaultMaxConns: perForm} {
		t.Run(fmt.Sprint(conns), func(t *testing.T) { testLockedForm(t, conns, waits) })
	}
}

func testLockedForm(t *testing.T, conns, waits int) {
	url := newDatabase(t)
	s, err := Open(ctx, Options{URL: url, MaxConns: conns})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	limited, elsewhere := sample("x"), sample("y")
	limited.PageID, limited.FormID, limited.Limit = 12, "x", 100
	elsewhere.PageID, elsewhere.FormID, elsewhere.Limit = 1, "2x", 100
	hung, err := pgx.Connect(ctx, url)
	must(t, err)
	must(t, testkit.ErrorOf(hung.Exec(ctx, `BEGIN`)))
	must(t, testkit.ErrorOf(hung.Exec(ctx, sqlLockForm, limited.PageID, limited.FormID)))
	held := make(chan error, 20)
	for range cap(held) {
		go func() { held <- creating(s, limited)() }()
	}
	waiting(t, url, waits)
	for range 10 {
		mustCreate(t, s, sample("plain"))
		mustCreate(t, s, elsewhere)
		mustCreate(t, s, withFile(elsewhere, mustStage(t, s, 10)))
	}
	select {
	case err := <-held:
		t.Errorf("a create to the locked form has ended: %v", err)
	default:
	}
	must(t, hung.Close(ctx))
	for range cap(held) {
		must(t, <-held)
	}
}

// TestLimitUnderAnotherIsolation: each create counts what was committed before it got the lock of the form, whatever
// the default of the database is.
func TestLimitUnderAnotherIsolation(t *testing.T) {
	url := newDatabase(t)
	exec(t, url, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = ''repeatable read''',
		current_database()); END $$`)
	servers := []*Store{openStore(t, url), openStore(t, url), openStore(t, url)}
	n := sample("x")
	n.Limit = 5
	for i, err := range storetest.Parallel(60, func(i int) error { return creating(servers[i%len(servers)], n)() }) {
		if err != nil && !errors.Is(err, store.ErrLimit) {
			t.Errorf("create %d: %v", i, err)
		}
	}
	storetest.Same(t, "stored", len(storetest.Values(t, servers[0])), n.Limit)
}
