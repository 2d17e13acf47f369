package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// TestLockedFormHoldsUpNoOther: another server has the lock of a form, and hangs. Many wait for it, and nobody else.
func TestLockedFormHoldsUpNoOther(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	limited, elsewhere := sample("x"), sample("y")
	limited.Limit, elsewhere.Limit, elsewhere.FormID = 100, 100, "elsewhere"
	hung, err := pgx.Connect(ctx, url)
	must(t, err)
	must(t, testkit.ErrorOf(hung.Exec(ctx, `BEGIN`)))
	must(t, testkit.ErrorOf(hung.Exec(ctx, sqlLockForm, limited.PageID, limited.FormID)))
	held := make(chan error, 20)
	for range cap(held) {
		go func() { held <- creating(s, limited)() }()
	}
	waiting(t, url, perForm)
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
