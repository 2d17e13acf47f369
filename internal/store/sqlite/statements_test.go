package sqlite

import (
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

// TestPlans: every statement finds its rows by an index, in the order in which it
// returns them. So its cost does not depend on the size of the table.
func TestPlans(t *testing.T) {
	s := openStore(t, t.TempDir())
	byRowID, byRange, byUser := "USING INTEGER PRIMARY KEY (rowid=?)", "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "submissions_by_user (form=? AND username=?"
	want := map[string]string{}
	err := s.pool.with(ctx, func(stmts *readStmts) error {
		want[stmts.get.SQL()] = byRowID
		for kind, stmt := range stmts.list {
			want[stmt.SQL()] = byRange
			if kind.ByUser {
				want[stmt.SQL()] = byUser + " AND rowid>? AND rowid<?)"
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "statements of a reader", len(want), 5)
	w := s.writer.stmts
	want[w.byUser.SQL()], want[w.update.SQL()], want[w.del.SQL()] = byUser, byRowID, byRowID
	onWriter(t, s, func(conn *sqlite3.Conn) error {
		for sql, uses := range want {
			plan, err := queryText(conn, "EXPLAIN QUERY PLAN "+sql)
			if err != nil {
				return err
			}
			if !strings.HasPrefix(plan, "SEARCH submissions ") || !strings.Contains(plan, uses) || strings.Contains(plan, "\n") {
				t.Errorf("%s\nplan: %s\nwant one search, %q", sql, plan, uses)
			}
		}
		return nil
	})
}

// TestStatementsAreCompiledOnce: SQLite compiles some statements anew when a
// parameter is bound, which takes longer than to run them.
func TestStatementsAreCompiledOnce(t *testing.T) {
	s := openStore(t, t.TempDir())
	limited := sample("x")
	limited.FormID, limited.SubmitterKey = "limited", "amy"
	amy := "amy"
	for range 5 * s.pool.count { // the connections take turns
		mustCreate(t, s, sample("x"))
		_, _ = s.Create(ctx, limited)
		_, err := s.Submitted(ctx, limited)
		if err == nil {
			_, err = s.Latest(ctx, amy, 1)
		}
		if err == nil {
			err = s.Scan(ctx, store.Query{PageID: 1, FormID: "form", Username: &amy}, func(forms.Submission) error { return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	again := func(stmts []*sqlite3.Stmt) error {
		for _, stmt := range stmts {
			if n := stmt.Status(sqlite3.STMTSTATUS_REPREPARE, false); n > 1 { // once for a schema that was new
				t.Errorf("compiled %d times again: %s", n, stmt.SQL())
			}
		}
		return nil
	}
	for range s.pool.count {
		if err := s.pool.with(ctx, func(stmts *readStmts) error { return again(stmts.stmts) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.writer.do(ctx, func(tx *tx) error { return again(tx.stmts.stmts) }); err != nil {
		t.Fatal(err)
	}
}

// TestSubmittedPlan: two searches, by the limit and by the user.
func TestSubmittedPlan(t *testing.T) {
	s := openStore(t, t.TempDir())
	plan := writerQuery(t, s, "EXPLAIN QUERY PLAN "+sqlSubmitted)
	if !strings.Contains(plan, "submissions_by_submitter (form=? AND submitter_key=?)") || !strings.Contains(plan, "submissions_by_user (form=? AND username=?)") ||
		strings.Contains(plan, "SCAN submissions") {
		t.Errorf("plan: %s", plan)
	}
}

// TestLatestPlan: the index has the order, so nothing is sorted.
func TestLatestPlan(t *testing.T) {
	s := openStore(t, t.TempDir())
	plan := writerQuery(t, s, "EXPLAIN QUERY PLAN "+sqlLatest)
	if !strings.HasPrefix(plan, "SEARCH submissions USING INDEX submissions_latest (username=?)") || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("plan: %s", plan)
	}
}

// TestDumpPlan: a dump reads in the order of the keys, too, and sorts nothing.
func TestDumpPlan(t *testing.T) {
	s := openStore(t, t.TempDir())
	plan := writerQuery(t, s, "EXPLAIN QUERY PLAN "+sqlDump)
	if !strings.Contains(plan, "SEARCH submissions USING INTEGER PRIMARY KEY") || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("plan: %s", plan)
	}
}
