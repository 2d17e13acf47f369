package pgtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// HoldableCommits are settings for a cluster whose commits can be held: a
// synchronous commit waits for a standby that does not exist.
var HoldableCommits = []string{"synchronous_standby_names = 'missing'", "synchronous_commit = local"}

// Hold makes transactions that change submissions wait in their commit: they
// are on the disk, and the client has no answer.
type Hold struct {
	t    testing.TB
	conn *pgx.Conn
}

// HoldCommits holds commits until Release. The database must have the tables of
// a store, and its cluster HoldableCommits.
func HoldCommits(t testing.TB, url string) *Hold {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	h := &Hold{t, conn}
	h.exec(`CREATE OR REPLACE FUNCTION hold_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM set_config('synchronous_commit', 'on', true);
		RETURN COALESCE(NEW, OLD); END $$`)
	h.exec(`CREATE TRIGGER hold_commit BEFORE INSERT OR UPDATE OR DELETE ON submissions FOR EACH ROW EXECUTE FUNCTION hold_commit()`)
	return h
}

func (h *Hold) exec(sql string, args ...any) {
	h.t.Helper()
	if _, err := h.conn.Exec(context.Background(), sql, args...); err != nil {
		h.t.Fatal(err)
	}
}

// Waiting returns the process id of a backend that waits in its commit; 0 if none does.
func (h *Hold) Waiting() (pid int) {
	h.t.Helper()
	err := h.conn.QueryRow(context.Background(), `SELECT COALESCE(max(pid), 0) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event = 'SyncRep'`).Scan(&pid)
	if err != nil {
		h.t.Fatal(err)
	}
	return pid
}

// Release ends the hold: commits that wait succeed.
func (h *Hold) Release() {
	h.t.Helper()
	h.exec(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'`)
	h.exec(`DROP TRIGGER hold_commit ON submissions`)
	if err := h.conn.Close(context.Background()); err != nil {
		h.t.Error(err)
	}
}
