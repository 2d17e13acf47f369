package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

func mustRefuse(t *testing.T, dir string, because ...string) {
	t.Helper()
	s, err := Open(ctx, dir, Options{})
	if err == nil {
		t.Fatal(errors.Join(errors.New("open: no error"), s.Close()))
	}
	for _, text := range because {
		testkit.Contains(t, err, err.Error(), text)
	}
}

func TestOpenTwice(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustRefuse(t, dir, dir, "in use by another formulary")
	mustCreate(t, s, sample("the first one is none the worse"))
	must(t, s.Close())
	wantFiles(t, dir, FileName)
	storetest.Same(t, "stored", len(storetest.Values(t, openStore(t, dir))), 1)
}

// editFile runs SQL on the database file of dir, as another program would.
func editFile(t *testing.T, dir, sql string) {
	t.Helper()
	conn, err := connect(ctx, fileURI(filepath.Join(dir, FileName), vfsName))
	must(t, err)
	must(t, errors.Join(requestChecksums(conn), conn.Exec(sql), conn.Close()))
}

// addMigration makes this program one that comes after the release whose stores the test has made.
func addMigration(t *testing.T) {
	t.Helper()
	released, names := migrations, schemaNames
	t.Cleanup(func() { migrations, schemaNames = released, names })
	migrations = append(slices.Clip(migrations), `CREATE TABLE later (x INTEGER) STRICT; INSERT INTO later VALUES (5)`)
	schemaNames += "\nlater"
}

func TestDamagedStoreIsRefused(t *testing.T) {
	for _, c := range []struct{ sql, because string }{
		{`DELETE FROM sequence`, "there is none: the database is damaged"},
		{`UPDATE sequence SET last = 9223372036854775807`, "it is 9223372036854775807: the database is damaged"},
		{`UPDATE sequence SET last = -5`, "it is -5: the database is damaged"},
		{`DROP TABLE events`, "it is damaged: its schema lacks events: restore a backup"},
		{`DROP TABLE event_queues`, "lacks event_queues"},
		{`DROP TABLE sessions`, "lacks sessions"},
		{`DROP TABLE file_chunks`, "lacks file_chunks"},
		{`DROP TABLE settings`, "lacks settings"},
		{`ALTER TABLE submissions DROP COLUMN body`, "lacks submissions.body"},
		{`DROP INDEX submissions_by_submitter`, "lacks submissions_by_submitter"},
		{`DROP INDEX submissions_by_user`, "lacks submissions_by_user"},
	} {
		dir := t.TempDir()
		must(t, openStore(t, dir).Close())
		editFile(t, dir, c.sql)
		path := filepath.Join(dir, FileName)
		mustStayUntouched(t, path, func() { mustRefuse(t, dir, c.because) })
		t.Run("before a migration", func(t *testing.T) {
			addMigration(t)
			mustStayUntouched(t, path, func() { mustRefuse(t, dir, c.because) })
		})
	}
}

// TestSchemaNames: what the check of a schema asks for is what the migrations make.
func TestSchemaNames(t *testing.T) {
	var found []string
	onWriter(t, openStore(t, t.TempDir()), func(conn *connection) error {
		text, err := queryText(conn.Conn, sqlSchema)
		found = strings.Fields(text)
		return err
	})
	storetest.SameSchema(t, schemaNames, found)
}

// A store must not accept ids with which it could not be opened again.
func TestIDsOutOfReachAreRefused(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	wantError(t, s.Advance(ctx, maxID+1), "ids end with 1099511627775")
	must(t, s.Advance(ctx, maxID))
	must(t, s.Close())
	s = openStore(t, dir)
	if _, err := s.Create(ctx, sample("x")); err == nil || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("create beyond the last id: %v", err)
	}
}

// SQLite would delete a WAL whose database is missing.
func TestWALWithoutItsDatabaseIsRefused(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, FileName+"-wal")
	testkit.WriteFile(t, log, "what was written last")
	_, err := Open(ctx, dir, Options{})
	wantError(t, err, "the database is missing or empty, and formulary.db-wal says that there was a store")
	testkit.WriteFile(t, filepath.Join(dir, FileName), "")
	_, err = Open(ctx, dir, Options{})
	wantError(t, err, "the database is missing or empty")
	if content, err := os.ReadFile(log); err != nil || string(content) != "what was written last" {
		t.Errorf("the log: %q, %v", content, err)
	}
	must(t, os.Remove(log))
	mustCreate(t, openStore(t, dir), sample("x"))
}

func TestRefusedStaysUntouched(t *testing.T) {
	ours := fmt.Sprintf("PRAGMA application_id = %d; ", applicationID)
	for name, c := range map[string]struct{ sql, because string }{
		"another schema":        {ours + "PRAGMA user_version = 99; CREATE TABLE submissions (x)", "schema version 99"},
		"another schema, WAL":   {"PRAGMA journal_mode = WAL;" + ours + "PRAGMA user_version = 99", "this formulary needs version 9"},
		"before 0.1.0":          {ours + "PRAGMA user_version = 7", "it was made before 0.1.0, and only the build that made it can open it"},
		"another program's id":  {"PRAGMA application_id = 1234; PRAGMA user_version = 1; CREATE TABLE t (x)", "another program"},
		"another's, no version": {"PRAGMA application_id = 1234", "another program"},
		"another's, no id":      {"PRAGMA user_version = 1", "another program"},
		"another's, only table": {"CREATE TABLE t (x); INSERT INTO t VALUES (1)", "another program"},
		"a negative version":    {ours + "PRAGMA user_version = -1", "another program"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, FileName)
			editFile(t, dir, c.sql)
			mustStayUntouched(t, path, func() { mustRefuse(t, dir, path, c.because) })
		})
	}
	t.Run("no database at all", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, FileName)
		must(t, os.WriteFile(path, bytes.Repeat([]byte("Dear diary, "), 1000), 0o600))
		mustStayUntouched(t, path, func() { mustRefuse(t, dir, path, "not a database") })
	})
}

// A store that an earlier version has made keeps what is in it, and so does its backup.
func TestOlderSchemaIsMigrated(t *testing.T) {
	dir, restored := t.TempDir(), t.TempDir()
	s := openStore(t, dir)
	old := mustCreate(t, s, sample("old"))
	must(t, s.Close())
	backup := filepath.Join(t.TempDir(), "backup")
	must(t, Backup(ctx, dir, backup, noProgress))
	addMigration(t)
	_, err := Open(ctx, dir, Options{MustExist: true})
	wantError(t, err, "it has schema version 9 and this formulary needs version 10: start this version's server on it once") // it is not to be written to
	must(t, Restore(ctx, restored, backup, noProgress))
	for _, dir := range []string{dir, dir, restored} {
		s = openStore(t, dir)
		sub, err := s.Get(ctx, keyOf(old))
		if err != nil || string(sub.Entries) != string(old.Entries) {
			t.Errorf("%+v, %v", sub, err)
		}
		storetest.Same(t, "version", writerQuery(t, s, "PRAGMA user_version"), "10")
		storetest.Same(t, "migrated", writerQuery(t, s, "SELECT x FROM later"), "5")
		must(t, s.Close())
	}
}

func mustStayUntouched(t *testing.T, path string, fn func()) {
	t.Helper()
	before, err := os.ReadFile(path)
	must(t, err)
	fn()
	fn() // which must release the lock of the directory, too
	after, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the file was changed")
	}
	testkit.ErrorIs(t, "a WAL was left behind", testkit.ErrorOf(os.Stat(path+"-wal")), os.ErrNotExist)
}

func TestSettings(t *testing.T) {
	s := openStore(t, t.TempDir())
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "busy_timeout": "5000", "temp_store": "2",
		"application_id": fmt.Sprint(applicationID), "user_version": fmt.Sprint(migrations.Version()),
	} {
		storetest.Same(t, "writer's "+pragma, writerQuery(t, s, "PRAGMA "+pragma), want)
	}
	err := s.pool.with(ctx, func(conn *connection) error {
		for pragma, want := range map[string]string{"query_only": "1", "busy_timeout": "5000"} {
			got, err := queryText(conn.Conn, "PRAGMA "+pragma)
			if err != nil {
				return err
			}
			storetest.Same(t, "reader's "+pragma, got, want)
		}
		return nil
	})
	must(t, err)
}

func modes(t *testing.T, dir string) map[string]os.FileMode {
	t.Helper()
	found := map[string]os.FileMode{}
	for _, name := range []string{".", FileName, FileName + "-wal", FileName + "-shm"} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		found[name] = info.Mode().Perm()
	}
	return found
}

func TestFilesArePrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0)) // only the code under test keeps them private
	dir := filepath.Join(t.TempDir(), "a", "b")
	want := map[string]os.FileMode{
		".": 0o700, FileName: 0o600, FileName + "-wal": 0o600, FileName + "-shm": 0o600,
	}
	s := openStore(t, dir)
	mustCreate(t, s, sample("secret"))
	storetest.Same(t, "modes", modes(t, dir), want)
	must(t, s.Close())
	// An operator may let a group in, for backups.
	must(t, os.Chmod(filepath.Join(dir, FileName), 0o640))
	openStore(t, dir)
	want[FileName], want[FileName+"-wal"], want[FileName+"-shm"] = 0o640, 0o640, 0o640
	storetest.Same(t, "modes", modes(t, dir), want)
}

func TestAnyDirectoryName(t *testing.T) {
	for _, name := range []string{"a b", "a?b=c", "a#b", "a%20b", "a&vfs=x", "ä'\"é", "file:x", "-"} {
		dir := filepath.Join(t.TempDir(), name)
		s := openStore(t, dir)
		mustCreate(t, s, sample(name))
		testkit.ErrorIs(t, name, testkit.ErrorOf(os.Stat(filepath.Join(dir, FileName+"-wal"))), nil)
	}
}

func TestOpenRefusesFileAsDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	testkit.WriteFile(t, path, "")
	mustRefuse(t, path, path)
}

func TestCloseReleasesEverything(t *testing.T) {
	dir, foreign := t.TempDir(), t.TempDir()
	editFile(t, foreign, "CREATE TABLE t (x)")
	openFiles := func() int {
		names, err := os.ReadDir("/dev/fd")
		must(t, err)
		return len(names)
	}
	round := func() {
		s, err := Open(ctx, dir, Options{})
		must(t, err)
		mustCreate(t, s, sample("x"))
		storetest.Values(t, s)
		must(t, errors.Join(s.Ping(ctx), s.Close()))
		mustRefuse(t, foreign) // an open that fails must not leak, either
	}
	round() // the first sets up what exists once per process
	files, goroutines := openFiles(), runtime.NumGoroutine()
	for range 5 {
		round()
	}
	storetest.Same(t, "open files", openFiles(), files)
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
}

// TestRowIDs: an id that is too large would be a row id of the next form.
func TestRowIDs(t *testing.T) {
	s := openStore(t, t.TempDir())
	mustCreate(t, s, sample("of the first form"))
	other := sample("of the second")
	other.FormID = "other"
	second := mustCreate(t, s, other)
	for _, id := range []int64{0, -1, maxID + 1 + second.ID, 1<<63 - 1, -1 << 62} {
		key := store.Key{PageID: 1, FormID: "form", ID: id}
		testkit.ErrorIs(t, id, testkit.ErrorOf(s.Get(ctx, key)), store.ErrNotFound)
		testkit.ErrorIs(t, id, s.Delete(ctx, key, nil), store.ErrNotFound)
	}
	for after, want := range map[int64][2]int{0: {1, 1}, 1: {0, 0}, maxID: {0, 1}, maxID + 1: {0, 1}, 1<<63 - 1: {0, 1}} {
		for i, descending := range []bool{false, true} {
			count := 0
			q := store.Query{PageID: 1, FormID: "form", After: after, Descending: descending}
			must(t, testkit.Each(s.Scan(ctx, q), func(forms.Submission) error { count++; return nil }))
			storetest.Same(t, fmt.Sprintf("listed after %d, descending %v", after, descending), count, want[i])
		}
	}
}

// TestMustExist: with MustExist no store is made or migrated.
func TestMustExist(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		_, err := Open(ctx, dir, Options{MustExist: true})
		wantError(t, err, "no store in "+dir)
		wantFiles(t, dir)
	}
	testkit.WriteFile(t, filepath.Join(dir, FileName), "")
	wantError(t, Exists(dir), FileName+" is empty")
	must(t, openStore(t, dir).Close())
	s, err := Open(ctx, dir, Options{MustExist: true})
	must(t, errors.Join(err, s.Close()))
	editFile(t, dir, "PRAGMA user_version = 99")
	_, err = Open(ctx, dir, Options{MustExist: true})
	wantError(t, err, "it has schema version 99 and this formulary needs version 9")
}
