package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// holdInserts blocks all inserts until release is called.
func holdInserts(t *testing.T, url string) (release func()) {
	t.Helper()
	return lockTable(t, url, "SHARE")
}

// lockTable takes a lock on the submissions until release is called.
func lockTable(t *testing.T, url, mode string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(ctx, url)
	must(t, err)
	for _, sql := range []string{`BEGIN`, `LOCK TABLE submissions IN ` + mode + ` MODE`} {
		must(t, testkit.ErrorOf(conn.Exec(ctx, sql)))
	}
	return func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

// waiting waits until count backends wait for a lock.
func waiting(t *testing.T, url string, count int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprint(count, " backends wait"), func() bool {
		return queryText(t, url, `SELECT count(*)::text FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) == fmt.Sprint(count)
	})
}

// openSingle opens a store with one worker, so that queued creates are one batch.
func openSingle(t *testing.T, url string) *Store {
	t.Helper()
	s := openStore(t, url)
	s.writer.close()
	s.writer = startWriter(s, 1)
	return s
}

// oneBatch runs all operations in one batch: it keeps the worker busy until all
// of them are queued.
func oneBatch(t *testing.T, s *Store, url string, ops ...func() error) []error {
	t.Helper()
	release := holdInserts(t, url)
	errs := make([]error, len(ops))
	var wg sync.WaitGroup
	wg.Go(func() {
		testkit.ErrorIs(t, "keep the worker busy", testkit.ErrorOf(s.Create(ctx, sample("busy"))), nil)
	})
	waiting(t, url, 1)
	for i, op := range ops {
		wg.Go(func() { errs[i] = op() })
		testkit.Eventually(t, "the operation is queued", func() bool { return s.writer.queue.Waiting() == i+2 })
	}
	release()
	wg.Wait()
	return errs
}

func creating(s *Store, n store.New) func() error {
	return func() error {
		_, err := s.Create(ctx, n)
		return err
	}
}

// transactions counts the transactions that stored the rows.
func transactions(t *testing.T, url string) string {
	t.Helper()
	return queryText(t, url, `SELECT count(DISTINCT xmin::text)::text FROM submissions`)
}

func TestQueuedCreatesShareOneStatement(t *testing.T) {
	url := newDatabase(t)
	s := openSingle(t, url)
	mustCreate(t, s, withSubmitterKey(sample("first"), "taken"))
	var ops []func() error
	var want []error
	for i := range 100 {
		op, err := creating(s, sample(fmt.Sprint(i))), error(nil)
		switch {
		case i == 10:
			op, err = creating(s, withSubmitterKey(sample("second"), "taken")), store.ErrAlreadySubmitted
		case i >= 30 && i < 40: // the first of them is the one
			op = creating(s, withSubmitterKey(sample("mine"), "wanted"))
			if i > 30 {
				err = store.ErrAlreadySubmitted
			}
		}
		ops, want = append(ops, op), append(want, err)
	}
	for i, err := range oneBatch(t, s, url, ops...) {
		testkit.ErrorIs(t, i, err, want[i])
	}
	storetest.Same(t, "transactions", transactions(t, url), "3")
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 1+1+100-1-9)
}

// TestRepeatsInOneBatch: of creates with the same key in one batch the first is
// stored. A key that was used before is found among them.
func TestRepeatsInOneBatch(t *testing.T) {
	url := newDatabase(t)
	s := openSingle(t, url)
	mustCreate(t, s, keyed(sample("first"), "used"))
	var ops []func() error
	for i := range 30 {
		n := sample(fmt.Sprint(i))
		switch i % 3 {
		case 1:
			n = keyed(n, "wanted")
		case 2:
			n = keyed(withSubmitterKey(n, "limited"), "used")
		}
		ops = append(ops, creating(s, n))
	}
	for i, err := range oneBatch(t, s, url, ops...) {
		var want error
		if i%3 == 2 || i%3 == 1 && i > 1 {
			want = store.ErrKeyUsed
		}
		testkit.ErrorIs(t, i, err, want)
	}
	storetest.Same(t, "transactions", transactions(t, url), "3")
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 1+1+10+1)
}

// TestTwoStatementsInFlight: a second statement is sent while the first waits,
// and further creates are queued.
func TestTwoStatementsInFlight(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	release := holdInserts(t, url)
	done := make(chan error, workers+1)
	for i := range workers {
		go func() { done <- creating(s, sample("x"))() }()
		waiting(t, url, i+1)
	}
	go func() { done <- creating(s, sample("x"))() }()
	testkit.Eventually(t, "the next is queued", func() bool { return s.writer.queue.Waiting() == workers+1 })
	release()
	for range workers + 1 {
		testkit.ErrorIs(t, "create", <-done, nil)
	}
}

// TestRefusedRowFailsAlone: a row that the database refuses does not fail the
// other rows of its batch, with sqlInsertPlain and with sqlCreate.
func TestRefusedRowFailsAlone(t *testing.T) {
	noise := make([]byte, 9000) // an index holds no more than a third of a page
	for i := range noise {
		noise[i] = byte('a' + rand.IntN(26))
	}
	bad := map[int]func(*store.New){
		5:  func(n *store.New) { n.FormID = "nul \x00" },
		15: func(n *store.New) { n.Username = "not UTF-8 \xff" },
		35: func(n *store.New) { n.FormID = string(noise) },
	}
	t.Run("without limits", func(t *testing.T) { failAlone(t, bad) })
	bad[25] = func(n *store.New) { n.SubmitterKey = "\x00" }
	t.Run("with limits", func(t *testing.T) { failAlone(t, bad) })
}

func failAlone(t *testing.T, bad map[int]func(*store.New)) {
	t.Helper()
	url := newDatabase(t)
	s := openSingle(t, url)
	var ops []func() error
	for i := range 50 {
		n := sample(fmt.Sprint(i))
		if change := bad[i]; change != nil {
			change(&n)
		}
		ops = append(ops, creating(s, n))
	}
	for i, err := range oneBatch(t, s, url, ops...) {
		if (err != nil) != (bad[i] != nil) || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrAlreadySubmitted) {
			t.Errorf("operation %d: %v", i, err)
		}
	}
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 1+50-len(bad))
}

func TestLargeCreatesAreSplitIntoStatements(t *testing.T) {
	url := newDatabase(t)
	s := openSingle(t, url)
	const each = 3
	large := strings.Repeat("x", engine.MaxBatchBytes/each)
	var ops []func() error
	for range 4 * each {
		ops = append(ops, creating(s, sample(large)))
	}
	storetest.NoErrors(t, "create", oneBatch(t, s, url, ops...))
	storetest.Same(t, "transactions", transactions(t, url), fmt.Sprint(1+len(ops)/each))
}

func operations(news ...store.New) (ops []*operation) {
	for _, n := range news {
		ops = append(ops, &operation{Value: &creation{new: n}})
	}
	return ops
}

// TestDeadlockIsRetried makes an insert deadlock with another transaction.
func TestDeadlockIsRetried(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	other, err := pgx.Connect(ctx, url)
	must(t, err)
	defer other.Close(ctx)
	take := func(id int, key string) error {
		_, err := other.Exec(ctx, `INSERT INTO submissions VALUES (1, 'form', $1, '', 0, $2, '{}')`, id, key)
		return err
	}
	// The long timeout makes the server abort the store's statement, not this one.
	for _, sql := range []string{`SET deadlock_timeout = '1min'`, `BEGIN`} {
		must(t, testkit.ErrorOf(other.Exec(ctx, sql)))
	}
	must(t, take(-2, "key 2"))
	ops := operations(withSubmitterKey(sample("a"), "key 1"), withSubmitterKey(sample("b"), "key 2"))
	done := make(chan error, 1)
	go func() { done <- s.insert(ctx, ops) }()
	waiting(t, url, 1)
	testkit.ErrorIs(t, "the other transaction failed", take(-1, "key 1"), nil)
	must(t, testkit.ErrorOf(other.Exec(ctx, `ROLLBACK`)))
	if err := <-done; err != nil {
		t.Fatalf("insert: %v", err)
	}
	for _, op := range ops {
		if op.Err != nil {
			t.Errorf("create: %v", op.Err)
		}
	}
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 2)
}

// TestUsedKeysCantBeFound: the refused rows fail, and those that are stored don't.
func TestUsedKeysCantBeFound(t *testing.T) {
	s := openStore(t, newDatabase(t))
	mustCreate(t, s, keyed(sample("first"), "used"))
	ops := operations(keyed(sample("again"), "used"), sample("new"))
	err := s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		ids, _, err := begin(ctx, conn, ops)
		must(t, err)
		b, err := newBatch(ids, ops)
		must(t, err)
		columns := b.columns()
		refused, err := b.insertEach(ctx, conn, columns)
		if err = errors.Join(err, conn.Close(ctx)); err != nil {
			return err
		}
		findUsedKeys(ctx, conn, refused, columns)
		return nil
	})
	must(t, err)
	if !errors.Is(ops[0].Err, store.ErrUnavailable) || ops[1].Err != nil {
		t.Errorf("outcomes %v and %v", ops[0].Err, ops[1].Err)
	}
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 2)
}

// TestLostWhileTakingIDs: nothing is stored yet, so the create is retried.
func TestLostWhileTakingIDs(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	holder, err := pgx.Connect(ctx, url)
	must(t, err)
	for _, sql := range []string{`BEGIN`, `ALTER SEQUENCE submission_ids INCREMENT BY 1`} { // which locks it
		must(t, testkit.ErrorOf(holder.Exec(ctx, sql)))
	}
	done := make(chan error, 1)
	go func() { done <- creating(s, sample("x"))() }()
	waiting(t, url, 1)
	exec(t, url, terminateOthers)
	if err := errors.Join(holder.Close(ctx), <-done); err != nil {
		t.Error(err)
	}
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 1)
}

// TestRowsAreInTheOrderOfTheirKeys: rows are sorted by key, which prevents
// deadlocks. Ids are assigned before that, in the order of arrival.
func TestRowsAreInTheOrderOfTheirKeys(t *testing.T) {
	elsewhere := withSubmitterKey(sample("x"), "a")
	elsewhere.FormID = "another"
	ops := operations(withSubmitterKey(sample("x"), "c"), sample("x"), withSubmitterKey(sample("x"), "a"), elsewhere, withSubmitterKey(sample("x"), "b"), withSubmitterKey(sample("x"), "a"))
	var b batch
	err := openStore(t, newDatabase(t)).do(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		ids, _, err := begin(ctx, conn, ops)
		must(t, err)
		b, err = newBatch(ids, ops)
		return err
	})
	must(t, err)
	var keys []string
	var ids []int64
	for _, op := range b {
		keys, ids = append(keys, op.Value.new.SubmitterKey), append(ids, op.Value.stored.ID)
	}
	storetest.Same(t, "keys", keys, []string{"a", "", "a", "a", "b", "c"})
	storetest.Same(t, "ids", ids, []int64{4, 2, 3, 6, 5, 1})
}

// TestSequenceBehindTheTable: a create under an id that is taken fails, and
// does not overwrite the stored row.
func TestSequenceBehindTheTable(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	sub := mustCreate(t, s, sample("x"))
	exec(t, url, `SELECT setval('submission_ids', 1, false)`)
	_, err := s.Create(ctx, sample("y"))
	if err == nil || !strings.Contains(err.Error(), "submission_ids is behind the table") {
		t.Errorf("create under an id that is taken: %v", err)
	}
	storetest.Same(t, "stored", storetest.Values(t, s), map[int64]string{sub.ID: "x"})
	if next := mustCreate(t, s, sample("z")); next.ID <= sub.ID {
		t.Errorf("id %d after %d", next.ID, sub.ID)
	}
}

// TestPanicInABatch: a panic fails the batch. The worker goes on.
func TestPanicInABatch(t *testing.T) {
	url := newDatabase(t)
	s := openSingle(t, url)
	fault := func() error { return s.writer.queue.Do(ctx, nil) } // runs into the nil
	for range 2 {
		for i, err := range oneBatch(t, s, url, creating(s, sample("x")), fault, creating(s, sample("y"))) {
			if err == nil || !strings.Contains(err.Error(), "panic: ") || !strings.Contains(err.Error(), "writer.go") {
				t.Errorf("operation %d: %v, want the panic with its stack", i, err)
			}
		}
	}
	mustCreate(t, s, sample("next"))
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 3) // with the two that kept the worker busy
}

func TestConnections(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	release := holdInserts(t, url)
	done := make(chan error, 1)
	go func() { done <- creating(s, sample("x"))() }()
	waiting(t, url, 1)
	storetest.Same(t, "used while one waits", s.UsedConnections(), 1.0)
	storetest.Same(t, "limit", s.MaxConnections(), float64(DefaultMaxConns))
	release()
	must(t, <-done)
	testkit.Eventually(t, "the connection is released", func() bool { return s.UsedConnections() == 0 })
}
