package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store/pgtest"
)

// waitsForStandby is the backend of a create that has been committed here, and waits for a standby.
func waitsForStandby(t *testing.T, url string) (pid int) {
	t.Helper()
	query(t, url, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT COALESCE(max(pid), 0) FROM pg_stat_activity
			WHERE application_name = 'formulary' AND wait_event = 'SyncRep' AND query NOT LIKE '%nextval%'`).Scan(&pid)
	})
	return pid
}

// A connection that is lost while the server waits for a standby leaves a
// submission that is committed here and perhaps nowhere else. It must not be
// acknowledged because it is found: if this server is lost next, so is the
// submission.
func TestAcknowledgedIsOnTheStandby(t *testing.T) {
	cluster := pgtest.New(t, pgtest.Options{})
	url := cluster.Database(t)
	s := openStore(t, url)
	mustCreate(t, s, sample("before"))
	exec(t, url, `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`)
	exec(t, url, `SELECT pg_reload_conf()`)
	until(t, "commits wait for a standby", func() (wait bool) {
		query(t, url, func(conn *pgx.Conn) error {
			return conn.QueryRow(ctx, `SELECT current_setting('synchronous_standby_names') = 'nobody'`).Scan(&wait)
		})
		return wait
	})

	done := make(chan error, 1)
	go func() {
		_, err := s.Create(ctx, sample("during"))
		done <- err
	}()
	var first int
	until(t, "the create waits for the standby", func() bool { first = waitsForStandby(t, url); return first != 0 })
	exec(t, url, `SELECT pg_terminate_backend($1)`, first)
	until(t, "the create waits for the standby again", func() bool {
		select {
		case err := <-done:
			t.Fatalf("it was answered, by %v, and no standby has it", err)
		default:
		}
		second := waitsForStandby(t, url)
		return second != 0 && second != first
	})

	exec(t, url, `ALTER SYSTEM RESET synchronous_standby_names`)
	exec(t, url, `SELECT pg_reload_conf()`)
	// Who waits is let go by the process that tells the others of the setting.
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := len(values(t, s)); got != 2 {
		t.Errorf("%d submissions, want 2", got)
	}
}
