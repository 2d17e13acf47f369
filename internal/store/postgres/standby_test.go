package postgres

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// waitsForStandby returns the pid of a backend whose commit waits for a standby; 0 if there is none.
func waitsForStandby(t *testing.T, url string) (pid int) {
	t.Helper()
	query(t, url, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT COALESCE(max(pid), 0) FROM pg_stat_activity
			WHERE application_name = 'formulary' AND wait_event = 'SyncRep' AND query NOT LIKE '%nextval%'`).Scan(&pid)
	})
	return pid
}

// requireStandby makes commits wait for a standby that does not exist.
func requireStandby(t *testing.T, url string) {
	t.Helper()
	exec(t, url, `ALTER SYSTEM SET synchronous_standby_names = 'missing'`)
	exec(t, url, `SELECT pg_reload_conf()`)
	testkit.Eventually(t, "commits wait for a standby", func() (wait bool) {
		query(t, url, func(conn *pgx.Conn) error {
			return conn.QueryRow(ctx, `SELECT current_setting('synchronous_standby_names') = 'missing'`).Scan(&wait)
		})
		return wait
	})
}

// requireNoStandby lets the waiting commits finish.
func requireNoStandby(t *testing.T, url string) {
	t.Helper()
	exec(t, url, `ALTER SYSTEM RESET synchronous_standby_names`)
	exec(t, url, `SELECT pg_reload_conf()`)
}

// TestAcknowledgedIsOnTheStandby: a connection is lost while its commit waits for
// a standby. The submission is then committed on the primary, perhaps only
// there. The retry must wait for the standby before it acknowledges the row.
func TestAcknowledgedIsOnTheStandby(t *testing.T) {
	cluster := pgtest.New(t, pgtest.Options{})
	url := cluster.Database(t)
	s := openStore(t, url)
	mustCreate(t, s, sample("before"))
	requireStandby(t, url)

	done := make(chan error, 1)
	go func() {
		_, err := s.Create(ctx, sample("during"))
		done <- err
	}()
	var first int
	testkit.Eventually(t, "the create waits for the standby", func() bool { first = waitsForStandby(t, url); return first != 0 })
	exec(t, url, `SELECT pg_terminate_backend($1)`, first)
	testkit.Eventually(t, "the create waits for the standby again", func() bool {
		select {
		case err := <-done:
			t.Fatalf("the create returned %v before a standby had it", err)
		default:
		}
		second := waitsForStandby(t, url)
		return second != 0 && second != first
	})

	requireNoStandby(t, url)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := len(storetest.Values(t, s)); got != 2 {
		t.Errorf("%d submissions, want 2", got)
	}
}

// TestInDoubtOutlastsAnotherError: the first try is in doubt, and the second
// fails with another error. The outcome is still in doubt, and no row is stored
// twice.
func TestInDoubtOutlastsAnotherError(t *testing.T) {
	for _, count := range []int{1, 2} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			url := pgtest.New(t, pgtest.Options{}).Database(t)
			s := openStore(t, url)
			mustCreate(t, s, sample("before")) // so that nextval does not have to wait for the standby
			exec(t, url, `CREATE SEQUENCE tries`)
			exec(t, url, fmt.Sprintf(`CREATE FUNCTION fail_second_try() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF nextval('tries') = %d THEN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '%s'; END IF;
				RETURN NEW; END $$`, count+1, codeDiskFull))
			exec(t, url, `CREATE TRIGGER fail_second_try BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION fail_second_try()`)
			requireStandby(t, url)
			ops := operations([]store.New{sample("a"), sample("b")}[:count]...)
			done := make(chan struct{})
			go func() {
				s.create(ops)
				close(done)
			}()
			var first int
			testkit.Eventually(t, "the create waits for the standby", func() bool { first = waitsForStandby(t, url); return first != 0 })
			exec(t, url, `SELECT pg_terminate_backend($1)`, first)
			testkit.Eventually(t, "it was tried again", func() bool {
				return queryText(t, url, `SELECT last_value::text FROM tries`) != fmt.Sprint(count)
			})
			requireNoStandby(t, url)
			<-done
			for _, op := range ops {
				if !errors.Is(op.Err, store.ErrUnavailable) || errors.Is(op.Err, store.ErrFull) {
					t.Errorf("outcome %v, want it in doubt", op.Err)
				}
			}
			storetest.Same(t, "stored", len(storetest.Values(t, s)), 1+count)
		})
	}
}
