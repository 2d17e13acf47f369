package sqlite

import (
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// TestPlans: every statement finds its rows by an index, in the order in which it
// returns them. So its cost does not depend on the size of the tables.
func TestPlans(t *testing.T) {
	s := openStore(t, t.TempDir())
	const byRowID, byUser = "submissions USING INTEGER PRIMARY KEY", "submissions_by_user (username=? AND form=?"
	const byHash = "PRIMARY KEY (hash=?)"
	want := map[string]string{
		sqlGet: byRowID + " (rowid=?)", sqlUpdate: byRowID + " (rowid=?)", sqlDelete: byRowID + " (rowid=?)",
		sqlSubmitted:   "submissions_by_submitter (form=? AND submitter_key=?)",
		sqlByKey:       "submissions_key (form=? AND key=?)",
		sqlCount:       byRowID + " (rowid>? AND rowid<?)",
		sqlCountNamed:  "(page_id=? AND form_id=?)\nSEARCH " + byRowID + " (rowid>? AND rowid<?)",
		engine.SQLKeep: "(page_id=? AND form_id=?)", engine.SQLAllKeeps: "SCAN keeps",
		engine.SQLSession: byHash, engine.SQLRenewSession: byHash, engine.SQLDeleteSession: byHash,
		engine.SQLRemoveChanger: byRowID + " (rowid=?)", engine.SQLRemoveName: "history_by_submission (submission=?)",
		engine.SQLCountSessions: "sessions_by_owner (owner=?)",
		engine.SQLTrimSessions:  "sessions_by_owner (owner=?)", engine.SQLDeleteExpired: "sessions_by_expiry (expires<?)",
	}
	amy := "amy"
	for i := range 8 {
		q := store.Query{Descending: i&1 != 0, Changes: i&2 != 0}
		want[listSQL(q)] = byRowID + " (rowid>? AND rowid<?)"
		if i&4 != 0 {
			q.Username = &amy
			want[listSQL(q)] = byUser + " AND rowid>? AND rowid<?)"
		}
		q.IDs = []int64{1}
		want[listSQL(q)] = "SCAN json_each VIRTUAL TABLE INDEX 1:\nSEARCH " + byRowID + " (rowid=?)"
	}
	for sql, uses := range want {
		plan := writerQuery(t, s, "EXPLAIN QUERY PLAN "+dialect.Replace(sql))
		if !strings.Contains(plan, uses) || strings.Contains(plan, "SCAN submissions") || strings.Contains(plan, "SCAN sessions") ||
			strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\nplan: %s\nwant %q, and nothing that reads more than it returns", sql, plan, uses)
		}
	}
	testkit.Contains(t, sqlSubmitted, writerQuery(t, s, "EXPLAIN QUERY PLAN "+sqlSubmitted), byUser)
	plan := writerQuery(t, s, "EXPLAIN QUERY PLAN "+sqlLatest) // which sorts what it returns
	if strings.Count(plan, "COVERING INDEX submissions_by_user (username=?") != 4 || strings.Contains(plan, "SCAN submissions") {
		t.Errorf("%s\nplan: %s", sqlLatest, plan)
	}
	plan = writerQuery(t, s, "EXPLAIN QUERY PLAN "+sqlCountForms) // which looks at all forms
	if !strings.Contains(plan, byRowID+" (rowid>? AND rowid<?)") || strings.Contains(plan, "SCAN submissions") {
		t.Errorf("%s\nplan: %s", sqlCountForms, plan)
	}
	plan = writerQuery(t, s, "EXPLAIN QUERY PLAN "+sqlDump) // which scans the forms
	if !strings.Contains(plan, "SEARCH "+byRowID) || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("%s\nplan: %s", sqlDump, plan)
	}
}

// TestEventPlans: the cost of looking for queues grows with the number of those that are
// due, and that of a queue with what is read of it.
func TestEventPlans(t *testing.T) {
	s := openStore(t, t.TempDir())
	const byQueue, byEvent = "PRIMARY KEY (hook=? AND recipient=? AND form=?)", "events_waiting (hook=? AND recipient=? AND form=? AND rowid=?)"
	const waiting = "events_waiting (hook=? AND recipient=? AND form=?)"
	for sql, uses := range map[string][]string{
		engine.SQLDueQueues: {"SEARCH event_queues USING COVERING INDEX event_queues_due (hook=? AND due<?)", "SEARCH forms USING INTEGER PRIMARY KEY"},
		engine.SQLWaiting:   {waiting}, engine.SQLDelivered: {byEvent}, engine.SQLGiveUp: {byEvent},
		engine.SQLRemoveFailed: {"events_failed (failed<?)"},
		engine.SQLLease:        {byQueue}, engine.SQLDelayQueue: {byQueue}, engine.SQLEndLease: {byQueue}, engine.SQLReserve: {byQueue},
		engine.SQLRemoveQueue: {byQueue, waiting},
		engine.SQLHistory:     {"history_by_submission"}, engine.SQLDeleteHistory: {"history_by_submission"},
		engine.SQLTrimHistory: {"history_by_submission"}, engine.SQLMarkRemoved: {"history_by_submission"},
		engine.SQLRemoveSteps: {"history_by_submission"},
		sqlDefinition:         {"SEARCH s USING INTEGER PRIMARY KEY", "(page_id=? AND form_id=? AND hash=?)"},
		`DELETE FROM definitions WHERE ` + sqlUnused: {"(page_id=? AND form_id=?)", "SEARCH submissions USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
	} {
		plan := writerQuery(t, s, "EXPLAIN QUERY PLAN "+dialect.Replace(sql))
		for _, use := range uses {
			testkit.Contains(t, sql, plan, use)
		}
	}
}

// TestStatementsAreCompiledOnce: SQLite compiles some statements anew when a
// parameter is bound, which takes longer than to run them.
func TestStatementsAreCompiledOnce(t *testing.T) {
	s := openStore(t, t.TempDir())
	limited := sample("x")
	limited.FormID, limited.SubmitterKey, limited.Limit = "limited", "amy", 2
	amy := "amy"
	for range 5 * cap(s.pool.slots) { // the connections take turns
		mustCreate(t, s, sample("x"))
		_, _ = s.Create(ctx, limited)
		_, err := s.Tallies(ctx, []store.New{limited, limited})
		must(t, err)
		_, err = s.Latest(ctx, amy)
		if err == nil {
			err = testkit.Each(s.Scan(ctx, store.Query{PageID: 1, FormID: "form", Username: &amy}), func(forms.Submission) error { return nil })
		}
		must(t, err)
	}
	again := func(conn *connection) error {
		for _, stmt := range conn.stmts {
			if n := stmt.Status(sqlite3.STMTSTATUS_REPREPARE, false); n > 1 { // once for a schema that was new
				t.Errorf("compiled %d times again: %s", n, stmt.SQL())
			}
		}
		return nil
	}
	for range cap(s.pool.slots) {
		must(t, s.pool.with(ctx, func(conn *connection) error { return again(conn) }))
	}
	must(t, s.writer.do(ctx, func(tx *tx) error { return again(tx.conn) }))
}

// A statement can't be used again while its rows are read: they would begin anew.
func TestNestedQueryIsRefused(t *testing.T) {
	s := openStore(t, t.TempDir())
	rows := 0
	err := s.pool.with(ctx, func(conn *connection) error {
		const sql = `SELECT value FROM json_each(?)`
		return conn.query(sql, func(stmt *sqlite3.Stmt) error {
			for ; stmt.Step(); rows++ {
				wantError(t, conn.query(sql, func(*sqlite3.Stmt) error { return nil }, "[1]"), "is being read")
			}
			return nil
		}, "[1, 2, 3]")
	})
	if err != nil || rows != 3 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// TestCountsAreBounded: the writer remembers the counts of so many forms with a limit, and makes others again.
func TestCountsAreBounded(t *testing.T) {
	s := openStore(t, t.TempDir())
	n := sample("x")
	n.Limit = 2
	mustCreate(t, s, n)
	must(t, s.writer.do(ctx, func(tx *tx) error {
		clear(tx.counts)
		for form := range int64(maxRemembered) {
			tx.counts[-form] = 0
		}
		return nil
	}))
	mustCreate(t, s, n)
	onWriter(t, s, func(*connection) error {
		storetest.Same(t, "counts that are remembered", len(s.writer.counts), 1)
		return nil
	})
	testkit.ErrorIs(t, "a third with a limit of 2", creating(s, n)(), store.ErrLimit)
}
