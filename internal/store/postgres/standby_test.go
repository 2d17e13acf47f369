package postgres

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/store/storetest"
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

// requireStandby has commits wait for a standby that will never be there.
func requireStandby(t *testing.T, url string) {
	t.Helper()
	exec(t, url, `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`)
	exec(t, url, `SELECT pg_reload_conf()`)
	until(t, "commits wait for a standby", func() (wait bool) {
		query(t, url, func(conn *pgx.Conn) error {
			return conn.QueryRow(ctx, `SELECT current_setting('synchronous_standby_names') = 'nobody'`).Scan(&wait)
		})
		return wait
	})
}

// requireNoStandby lets go who waits for it.
func requireNoStandby(t *testing.T, url string) {
	t.Helper()
	exec(t, url, `ALTER SYSTEM RESET synchronous_standby_names`)
	exec(t, url, `SELECT pg_reload_conf()`)
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
	requireStandby(t, url)

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

	requireNoStandby(t, url)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := len(storetest.Values(t, s)); got != 2 {
		t.Errorf("%d submissions, want 2", got)
	}
}

// What was stored by a try whose connection was lost is neither stored again,
// nor said not to be, because the next try fails in another way.
func TestDoubtOutlastsAnotherError(t *testing.T) {
	for _, count := range []int{1, 2} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			url := pgtest.New(t, pgtest.Options{}).Database(t)
			s := openStore(t, url)
			mustCreate(t, s, sample("before")) // so that ids are there to be taken, without a wait for the standby
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
			until(t, "the create waits for the standby", func() bool { first = waitsForStandby(t, url); return first != 0 })
			exec(t, url, `SELECT pg_terminate_backend($1)`, first)
			until(t, "it was tried again", func() bool {
				return queryText(t, url, `SELECT last_value::text FROM tries`) != fmt.Sprint(count)
			})
			requireNoStandby(t, url)
			<-done
			for _, op := range ops {
				if !errors.Is(op.Err, store.ErrUnavailable) || errors.Is(op.Err, store.ErrFull) {
					t.Errorf("told %v, want that it is not known", op.Err)
				}
			}
			storetest.Same(t, "stored", len(storetest.Values(t, s)), 1+count)
		})
	}
}
