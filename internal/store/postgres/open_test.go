package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

func mustRefuse(t *testing.T, options Options, because ...string) {
	t.Helper()
	s, err := Open(ctx, options)
	if err == nil {
		t.Fatal(errors.Join(errors.New("open: no error"), s.Close()))
	}
	for _, text := range because {
		testkit.Contains(t, err, err.Error(), text)
	}
}

func queryText(t *testing.T, url, sql string) (text string) {
	t.Helper()
	query(t, url, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, sql).Scan(&text) })
	return text
}

func TestManyCreateTheSchemaAtOnce(t *testing.T) {
	url := newDatabase(t)
	stores := make([]*Store, 3)
	storetest.NoErrors(t, "open", storetest.Parallel(len(stores), func(i int) (err error) {
		stores[i], err = Open(ctx, Options{URL: url})
		return err
	}))
	for i, s := range stores {
		storetest.Same(t, "id", mustCreate(t, s, sample("x")).ID, int64(i+1))
		s.Close()
	}
	storetest.Same(t, "created", queryText(t, url, `SELECT count(*)::text FROM formulary_schema`), "1")
}

func TestOtherSchemaIsRefused(t *testing.T) {
	url := newDatabase(t)
	openStore(t, url).Close()
	exec(t, url, `UPDATE formulary_schema SET version_id = 99`)
	for _, mustExist := range []bool{false, true} {
		mustRefuse(t, Options{URL: url, MustExist: mustExist},
			"it has schema version 99 and this formulary needs version 9: install the newer formulary that has written to it")
	}
	exec(t, url, `UPDATE formulary_schema SET version_id = 7`)
	for _, mustExist := range []bool{false, true} {
		mustRefuse(t, Options{URL: url, MustExist: mustExist}, "it was made before 0.1.0, and only the build that made it can open it")
	}
	exec(t, url, `UPDATE formulary_schema SET version_id = 9`)
	openStore(t, url)
}

// addMigration makes this program one that comes after the release whose database the test has made.
func addMigration(t *testing.T) {
	t.Helper()
	released, names := migrations, schemaNames
	t.Cleanup(func() { migrations, schemaNames = released, names })
	migrations = append(slices.Clip(migrations), `CREATE TABLE later (x bigint); INSERT INTO later VALUES (5)`)
	schemaNames += "\nlater"
}

func TestDamagedSchemaIsRefused(t *testing.T) {
	for _, c := range []struct{ sql, lacks string }{
		{`DROP TABLE events`, "events"},
		{`DROP TABLE sessions`, "sessions"},
		{`DROP SEQUENCE submission_ids`, "submission_ids"},
		{`ALTER TABLE submissions DROP COLUMN body`, "submissions.body"},
		{`DROP INDEX submissions_by_submitter`, "submissions_by_submitter"},
		{`ALTER TABLE settings DROP CONSTRAINT settings_pkey`, "settings_pkey"},
	} {
		url := newDatabase(t)
		openStore(t, url).Close()
		exec(t, url, c.sql)
		because := "it is damaged: its schema lacks " + c.lacks + ": restore a backup"
		mustRefuse(t, Options{URL: url}, because)
		mustRefuse(t, Options{URL: url, MustExist: true}, because)
		t.Run("before a migration", func(t *testing.T) {
			addMigration(t)
			mustRefuse(t, Options{URL: url}, because)
			storetest.Same(t, "version", queryText(t, url, `SELECT max(version_id)::text FROM formulary_schema`), "9")
			storetest.Same(t, "later", queryText(t, url, `SELECT count(*)::text FROM pg_class WHERE relname = 'later'`), "0")
		})
	}
}

// TestSchemaNames: what the check of a schema asks for is what the migrations make.
func TestSchemaNames(t *testing.T) {
	url := newDatabase(t)
	openStore(t, url)
	var found []string
	query(t, url, func(conn *pgx.Conn) (err error) {
		rows, _ := conn.Query(ctx, sqlSchema)
		found, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	storetest.SameSchema(t, schemaNames, found)
}

// A database that an earlier version has made keeps what is in it.
func TestOlderSchemaIsMigrated(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	old := mustCreate(t, s, sample("old"))
	s.Close()
	addMigration(t)
	mustRefuse(t, Options{URL: url, MustExist: true}, "it has schema version 9 and") // which is not to be written to
	for range 2 {
		s = openStore(t, url)
		sub, err := s.Get(ctx, keyOf(old))
		if err != nil || string(sub.Entries) != string(old.Entries) {
			t.Errorf("%+v, %v", sub, err)
		}
		s.Close()
	}
	storetest.Same(t, "version", queryText(t, url, `SELECT max(version_id)::text FROM formulary_schema`), "10")
	storetest.Same(t, "migrated", queryText(t, url, `SELECT x::text FROM later`), "5")
}

func TestAnotherProgramsTableIsLeftAlone(t *testing.T) {
	url := newDatabase(t)
	exec(t, url, `CREATE TABLE submissions (theirs text)`)
	exec(t, url, `INSERT INTO submissions VALUES ('precious')`)
	mustRefuse(t, Options{URL: url}, `"submissions" already exists`)
	storetest.Same(t, "their row", queryText(t, url, `SELECT theirs FROM submissions`), "precious")
}

func TestEncodingIsChecked(t *testing.T) {
	admin := newDatabase(t)
	exec(t, admin, `CREATE DATABASE latin1 TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`)
	u, err := url.Parse(admin)
	must(t, err)
	u.Path = "/latin1"
	mustRefuse(t, Options{URL: u.String()}, "LATIN1", "UTF8")
}

// with adds parameters to a URL.
func with(t *testing.T, address string, params ...string) string {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	q := u.Query()
	for i := 0; i < len(params); i += 2 {
		q.Set(params[i], params[i+1])
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func TestConnectionsAreSetUp(t *testing.T) {
	url := newDatabase(t)
	exec(t, url, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$`)
	defaults := map[string]string{
		"statement_timeout": "3s", "lock_timeout": "3s", "idle_in_transaction_session_timeout": "30s",
		"application_name": "formulary", "synchronous_commit": "on", "plan_cache_mode": "force_generic_plan",
	}
	own := map[string]string{"statement_timeout": "7s", "application_name": "mine", "plan_cache_mode": "auto", "lock_timeout": "3s"}
	for address, want := range map[string]map[string]string{
		url: defaults,
		with(t, url, "statement_timeout", "7000", "application_name", "mine", "plan_cache_mode", "auto"): own,
	} {
		s, err := Open(ctx, Options{URL: address, StatementTimeout: 3 * time.Second})
		must(t, err)
		for name, value := range want {
			var got string
			must(t, s.pool.QueryRow(ctx, `SHOW `+name).Scan(&got))
			storetest.Same(t, name, got, value)
		}
		s.Close()
	}
}

func TestPasswordNeverShows(t *testing.T) {
	cluster := pgtest.New(t, pgtest.Options{TCP: true})
	right, err := url.Parse(cluster.Database(t))
	must(t, err)
	wrong, nowhere := *right, *right
	wrong.User = url.UserPassword("formulary", "s3cret")
	nowhere.User, nowhere.Host = wrong.User, "127.0.0.1:1"
	for _, address := range []string{
		wrong.String(),
		nowhere.String(),
		"postgres://amy:s3cret@host:port/db",
		"postgres://amy:s3cret@host/db?sslmode=nonsense",
		"postgres://amy:s3cret@host/db?connect_timeout=soon&password=s3cret",
		"postgres://amy:s3cret@[::1/db",
		"postgres://amy:s3cret%zz@host/db",
		"postgres://amy:s3cret/x@host/db",
		"postgres://amy:s3cret@host/db?default_query_exec_mode=simple_protocol",
		"postgres://amy@host/db?sslmode=x&password=s3cret",
		"postgres://amy@host/db?sslmode=x&password=s3cret;%",
	} {
		s, err := Open(ctx, Options{URL: address, ConnectWait: time.Nanosecond})
		if err == nil {
			t.Fatal(address, s.Close())
		}
		if strings.Contains(fmt.Sprintf("%+v %v %q", err, err, err), "s3cret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

// signal is a log writer that sends each line to a channel.
type signal chan string

func (s signal) Write(p []byte) (int, error) {
	s <- string(p)
	return len(p), nil
}

var _ io.Writer = signal(nil)

func TestOpenWaitsForTheDatabase(t *testing.T) {
	cluster := pgtest.New(t, pgtest.Options{})
	url := cluster.Database(t)
	must(t, cluster.Stop())
	mustRefuse(t, Options{URL: url, ConnectWait: time.Nanosecond}, "connect")

	log := make(signal, 10)
	opened := make(chan error, 1)
	go func() {
		s, err := Open(ctx, Options{URL: url, ConnectWait: time.Minute, Log: slog.New(slog.NewTextHandler(log, nil))})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	testkit.Contains(t, "logged", <-log, "can't be reached yet")
	must(t, cluster.Resume())
	testkit.ErrorIs(t, "open", <-opened, nil)
	storetest.Same(t, "logged the migration", strings.Contains(<-log, "migrating the database"), true)

	gone, cancel := context.WithCancel(ctx)
	cancel()
	testkit.ErrorIs(t, "open with a cancelled context", testkit.ErrorOf(Open(gone, Options{URL: url})), context.Canceled)
}

// TestDemoted: writes and pings fail while the server is read-only, and succeed after.
// Connections to it are given up: new ones find the new primary.
func TestDemoted(t *testing.T) {
	cluster := pgtest.New(t, pgtest.Options{})
	url := cluster.Database(t)
	s := openStore(t, url)
	mustCreate(t, s, sample("before"))
	writable := with(t, url, "default_transaction_read_only", "off")
	readOnly := func(value string) {
		exec(t, writable, `ALTER SYSTEM SET default_transaction_read_only = `+value)
		exec(t, writable, `SELECT pg_reload_conf()`)
		testkit.Eventually(t, "the setting is in force", func() bool { return queryText(t, url, `SHOW default_transaction_read_only`) == value })
	}
	const sessions = ` FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
	before := queryText(t, url, `SELECT string_agg(pid::text, ',')`+sessions)
	readOnly("on")
	testkit.Eventually(t, "writes fail", func() bool {
		_, err := s.Create(ctx, sample("meanwhile"))
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("create: %v, want %v", err, store.ErrUnavailable)
		}
		return err != nil
	})
	testkit.ErrorIs(t, "ping", s.Ping(ctx), store.ErrUnavailable)
	testkit.Eventually(t, "no connection of before is left", func() bool {
		return queryText(t, url, `SELECT count(*)::text`+sessions+` AND pid IN (`+before+`)`) == "0"
	})
	readOnly("off")
	testkit.Eventually(t, "writes succeed", func() bool { _, err := s.Create(ctx, sample("after")); return err == nil })
	testkit.ErrorIs(t, "ping", s.Ping(ctx), nil)
}

func TestCloseReleasesEverything(t *testing.T) {
	url := newDatabase(t)
	openStore(t, url).Close() // start the goroutines that exist once per process
	goroutines := runtime.NumGoroutine()
	for range 3 {
		s := openStore(t, url)
		mustCreate(t, s, sample("x"))
		storetest.Values(t, s)
		must(t, errors.Join(s.Ping(ctx), s.Close()))
	}
	testkit.Eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines })
	const others = `SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
	testkit.Eventually(t, "no connection is left", func() bool { return queryText(t, url, others) == "0" })
}

// TestMustExist: with MustExist, Open creates no tables.
func TestMustExist(t *testing.T) {
	url := newDatabase(t)
	s, err := Open(ctx, Options{URL: url, MustExist: true})
	if err == nil || !strings.Contains(err.Error(), "there is no store") {
		t.Fatalf("open: %v, %v", s, err)
	}
	storetest.Same(t, "tables", queryText(t, url, `SELECT count(*)::text FROM pg_tables WHERE schemaname = 'public'`), "0")
	openStore(t, url)
	s, err = Open(ctx, Options{URL: url, MustExist: true})
	must(t, err)
	_ = s.Close()
}

func TestReadOnly(t *testing.T) {
	url := newDatabase(t)
	_, err := Open(ctx, Options{URL: url, MustExist: true, ReadOnly: true})
	if err == nil || !strings.Contains(err.Error(), "there is no store") {
		t.Errorf("without a store: %v", err)
	}
	mustCreate(t, openStore(t, url), sample("x"))
	s, err := Open(ctx, Options{URL: url, MustExist: true, ReadOnly: true})
	must(t, err)
	if found, err := s.CountForms(ctx, 0, 10); err != nil || len(found) != 1 || len(storetest.Values(t, s)) != 1 {
		t.Errorf("got %v, %v", found, err)
	}
	if _, err := s.Create(ctx, sample("y")); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("create: %v", err)
	}
	must(t, s.Close())
}
