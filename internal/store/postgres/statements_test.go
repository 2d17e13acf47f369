package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/testkit"
)

var amy = "amy"

// explain returns the generic plan of a statement.
func explain(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	must(t, testkit.ErrorOf(conn.Exec(ctx, `SET plan_cache_mode = force_generic_plan`)))
	// EXPLAIN EXECUTE needs the name of a prepared statement.
	prepared, err := conn.Prepare(ctx, "plan", dialect.Replace(sql))
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL,", len(prepared.ParamOIDs)), ",")
	if nulls != "" {
		nulls = "(" + nulls + ")"
	}
	rows, err := conn.Query(ctx, `EXPLAIN (COSTS OFF) EXECUTE plan`+nulls, pgx.QueryExecModeExec)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	must(t, conn.Deallocate(ctx, "plan"))
	return strings.Join(lines, "\n")
}

// TestPlans: every statement finds its rows by an index, in the order in which
// it returns them. So its cost does not depend on the size of the table.
func TestPlans(t *testing.T) {
	for name, form := range map[string]string{
		"many forms": `i % 7, 'form' || i % 11`, "one form": `1, 'form'`, "small forms": `i, 'form'`,
	} {
		t.Run(name, func(t *testing.T) { testPlans(t, form) })
	}
}

// testPlans stores rows whose pages and forms are given as SQL.
func testPlans(t *testing.T, form string) {
	url := newDatabase(t)
	openStore(t, url)
	exec(t, url, `INSERT INTO submissions (page_id, form_id, id, username, created, submitter_key, fields, key)
		SELECT `+form+`, i, CASE WHEN i % 3 = 0 THEN '' ELSE 'user' || i % 50 END, i,
			CASE WHEN i % 2 = 0 THEN 'key' || i END, repeat('x', 300), CASE WHEN i % 2 = 0 THEN 'key' || i END
		FROM generate_series(1, 20000) AS i`)
	exec(t, url, `INSERT INTO settings SELECT 'name' || i, 'value' FROM generate_series(1, 2000) AS i`)
	exec(t, url, `INSERT INTO sessions SELECT sha256(i::text::bytea), sha256((i % 500)::text::bytea), i, repeat('x', 300)::bytea
		FROM generate_series(1, 5000) AS i`)
	exec(t, url, `INSERT INTO events (hook, recipient, page_id, form_id, submission, type, created, message, anonymous, failed)
		SELECT 'hook' || i % 3, '', `+form+`, i, 'submission.created', i, 'message', false, CASE WHEN i % 10 = 0 THEN i END
		FROM generate_series(1, 20000) AS i`)
	exec(t, url, `INSERT INTO event_queues SELECT 'hook' || i % 3, '', i, 'form', CASE WHEN i % 100 = 0 THEN 0 ELSE 1e15 END, false, 1, 'error'
		FROM generate_series(1, 20000) AS i`)
	exec(t, url, `INSERT INTO history (submission, at, username, previous) SELECT i % 5000, i, 'amy', repeat('x', 300)
		FROM generate_series(1, 20000) AS i`)
	exec(t, url, `INSERT INTO definitions SELECT i, 'form', md5(i::text)::uuid, 1, repeat('x', 300) FROM generate_series(1, 5000) AS i`)
	exec(t, url, `INSERT INTO keeps SELECT i, 'form', '1 day', i, '' FROM generate_series(1, 5000) AS i`)
	exec(t, url, `ANALYZE`)
	const byID = "Index Cond: ((page_id = $1) AND (form_id = $2) AND (id = wanted.wanted_id))"
	const byKey, byUser, byName = "Index Scan using submissions_pkey", "submissions_by_user", "settings_pkey"
	want := map[string]string{
		sqlGet: byKey, sqlLock: byKey, sqlUpdate: byKey, sqlDelete: byKey,
		sqlCreate: byUser, engine.SQLDefinition: "definitions_pkey", engine.SQLStoreDefinition: "Conflict Arbiter Indexes: definitions_pkey",
		sqlByKey: "submissions_key", sqlKeysUsed: "submissions_key", sqlRefusal: "submissions_by_submitter",
		engine.SQLSetting: byName, engine.SQLRelease: byName,
		engine.SQLWaiting: "events_waiting", engine.SQLLease: "event_queues_pkey", engine.SQLDelayQueue: "event_queues_pkey",
		engine.SQLEndLease: "event_queues_pkey", engine.SQLRemoveQueue: "event_queues_pkey", engine.SQLRestoreQueue: "events_waiting",
		engine.SQLReserve: "event_queues_pkey",
		engine.SQLKeep:    "keeps_pkey", engine.SQLSetKeep: "Conflict Arbiter Indexes: keeps_pkey",
		engine.SQLSession: "sessions_pkey", engine.SQLRenewSession: "sessions_pkey", engine.SQLDeleteSession: "sessions_pkey",
		listSQL(store.Query{}):                                 byKey,
		listSQL(store.Query{Descending: true}):                 "Index Scan Backward using submissions_pkey",
		listSQL(store.Query{Username: &amy}):                   byUser,
		listSQL(store.Query{Username: &amy, Descending: true}): byUser,
	}
	query(t, url, func(conn *pgx.Conn) error {
		for sql, uses := range want {
			plan := explain(t, conn, sql)
			if !strings.Contains(plan, uses) || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Sort") ||
				strings.Contains(plan, "Bitmap") || strings.Contains(plan, "Hash") || strings.Contains(plan, "Join") {
				t.Errorf("%s\nplan: %s\nwant %q, and nothing that reads more than it returns", sql, plan, uses)
			}
		}
		if plan := explain(t, conn, sqlRefusal); !strings.Contains(plan, byUser) || !strings.Contains(plan, "submissions_pkey") {
			t.Errorf("%s\nplan: %s\nwant an index for each subquery", sqlRefusal, plan)
		}
		testkit.Contains(t, sqlCountNamed, explain(t, conn, sqlCountNamed), "submissions_pkey") // it may sort what it counts
		plan := explain(t, conn, sqlTallies)
		if !strings.Contains(plan, "submissions_pkey") || !strings.Contains(plan, "submissions_by_submitter") || !strings.Contains(plan, byUser) ||
			strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "hashed") {
			t.Errorf("%s\nplan: %s\nwant an index for each subquery", sqlTallies, plan)
		}
		plan = explain(t, conn, sqlCountForms) // it may count by a bitmap
		if strings.Count(plan, "submissions_pkey") != 3 || strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s\nplan: %s\nwant three reads by the key", sqlCountForms, plan)
		}
		plan = explain(t, conn, sqlDefinition)
		if !strings.Contains(plan, "submissions_pkey") || !strings.Contains(plan, "definitions_pkey") {
			t.Errorf("%s\nplan: %s\nwant an index of each table", sqlDefinition, plan)
		}
		plan = explain(t, conn, `DELETE FROM definitions WHERE `+sqlUnused)
		if !strings.Contains(plan, "submissions_pkey") || strings.Contains(plan, "Seq Scan on submissions") {
			t.Errorf("%s\nplan: %s\nwant a submission to be found by the key", sqlUnused, plan)
		}
		plan = explain(t, conn, sqlLatest) // it sorts the latest of each form
		if strings.Count(plan, byUser) != 4 || !strings.Contains(plan, "submissions_pkey") || strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s\nplan: %s\nwant four reads by user", sqlLatest, plan)
		}
		plan = explain(t, conn, engine.SQLDueQueues) // it sorts what is due
		if !strings.Contains(plan, "event_queues_due") || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "events_waiting") {
			t.Errorf("%s\nplan: %s\nwant only queues that are due to be read", engine.SQLDueQueues, plan)
		}
		if _, err := conn.Exec(ctx, `SET cursor_tuple_fraction = 0`); err != nil {
			return err
		}
		rows, err := conn.Query(ctx, `EXPLAIN (COSTS OFF) `+sqlDump, pgx.QueryExecModeExec)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || !strings.Contains(lines[0], byKey) {
			t.Errorf("%s\nplan: %q, %v, want %q", sqlDump, lines, err, byKey)
		}
		// These find several rows, so a bitmap or a sort of those is in order.
		for sql, uses := range map[string]string{
			engine.SQLRemoveChanger: "submissions_pkey", engine.SQLRemoveName: "history_pkey", engine.SQLCountSessions: "sessions_by_owner",
			engine.SQLTrimSessions: "sessions_by_owner", engine.SQLDeleteExpired: "sessions_by_expiry",
			engine.SQLDelivered: "events_waiting", engine.SQLRemoveDelivered: "events_waiting", engine.SQLGiveUp: "events_waiting", engine.SQLRemoveFailed: "events_failed",
			engine.SQLHistory: "history_pkey", engine.SQLDeleteHistory: "history_pkey", engine.SQLTrimHistory: "history_pkey",
			engine.SQLMarkRemoved: "history_pkey", engine.SQLRemoveSteps: "history_pkey",
			listSQL(store.Query{IDs: []int64{1}}):                 byID,
			listSQL(store.Query{IDs: []int64{1}, Username: &amy}): "AND (id = wanted.wanted_id))",
		} {
			if plan := explain(t, conn, sql); !strings.Contains(plan, uses) || strings.Contains(plan, "Seq Scan") {
				t.Errorf("%s\nplan: %s\nwant %q, and no scan of the table", sql, plan, uses)
			}
		}
		return nil
	})
}

// TestPlansAreKept: the statements of requests use a cached generic plan, because
// planning takes longer than execution.
func TestPlansAreKept(t *testing.T) {
	s := openSingle(t, newDatabase(t))
	for range 20 {
		sub := mustCreate(t, s, sample("x"))
		must(t, testkit.ErrorOf(s.Get(ctx, keyOf(sub))))
		for _, user := range []*string{nil, &sub.Username} {
			q := store.Query{PageID: sub.PageID, FormID: sub.FormID, Username: user, Descending: true, Limit: 1}
			must(t, testkit.Each(s.Scan(ctx, q), func(forms.Submission) error { return nil }))
		}
		must(t, testkit.ErrorOf(s.Update(ctx, keyOf(sub), set("field", "y"))))
		must(t, s.Delete(ctx, keyOf(sub), nil))
	}
	for name, sql := range map[string]string{
		"take ids": sqlTakeIDs, "insert": sqlInsertPlain, "get": sqlGet, "lock": sqlLock, "update": sqlUpdate, "delete": sqlDelete,
		"list": listSQL(store.Query{Descending: true}), "list by user": listSQL(store.Query{Username: &amy, Descending: true}),
	} {
		var planned, kept int
		err := s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			const uses = `SELECT custom_plans, generic_plans FROM pg_prepared_statements WHERE statement = $1`
			return conn.QueryRow(ctx, uses, sql).Scan(&planned, &kept)
		})
		if err != nil || planned > 0 || kept < 20 {
			t.Errorf("%s: %d custom plans, %d uses of the generic plan: %v", name, planned, kept, err)
		}
	}
}

// TestRefusedCreatesKeepPlans: a create that is refused does not make the driver
// prepare its statements again.
func TestRefusedCreatesKeepPlans(t *testing.T) {
	s := openSingle(t, newDatabase(t))
	n := sample("x")
	n.Limit = 1
	mustCreate(t, s, n)
	for range 20 {
		if _, err := s.Create(ctx, n); !errors.Is(err, store.ErrLimit) {
			t.Fatalf("create: %v, want %v", err, store.ErrLimit)
		}
	}
	var uses int
	err := s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		const sql = `SELECT custom_plans + generic_plans FROM pg_prepared_statements WHERE statement = $1`
		return conn.QueryRow(ctx, sql, sqlRefusal).Scan(&uses)
	})
	if err != nil || uses < 20 {
		t.Errorf("the statement was used %d times since it was prepared: %v", uses, err)
	}
}
