package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/testkit"
)

var storeFiles = []string{"formulary.db", "formulary.db-wal", "formulary.db-shm"}

// eachFile does something with every file of a store.
func eachFile(t *testing.T, data string, do func(path string) error) {
	t.Helper()
	for _, name := range storeFiles {
		if err := do(filepath.Join(data, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// mustStoreNothing: creates are refused, the server is not ready, and the log says
// once what to do.
func mustStoreNothing(t *testing.T, p *process) {
	t.Helper()
	for range 3 {
		r := p.must(t, 503, "POST", "/note/submission", note("would be lost"))
		assertPlainProblem(t, r)
		if r := fetch(t, p, "/readyz"); r.status != 503 {
			t.Errorf("/readyz: status %d, want 503", r.status)
		}
	}
	p.mustLog(t, 1, `"msg":"storage is unavailable: `, "Stop the server, put the file back or restore a backup")
}

// Writes to files that were removed would be lost, and a copy in their place is not
// what the server has open: nothing more is acknowledged.
func TestDatabaseIsGone(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(path+".copy", content, 0o600), os.Rename(path+".copy", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p := start(t, s)
			p.must(t, 201, "POST", "/note/submission", note("before"))
			eachFile(t, s.data, do)
			mustStoreNothing(t, p)
		})
	}
}

// After files were moved away and back, the server stores again.
func TestDatabaseIsMovedAndBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := start(t, s)
	p.must(t, 201, "POST", "/note/submission", note("before"))
	away := t.TempDir()
	eachFile(t, s.data, func(path string) error { return os.Rename(path, filepath.Join(away, filepath.Base(path))) })
	mustStoreNothing(t, p)
	eachFile(t, s.data, func(path string) error { return os.Rename(filepath.Join(away, filepath.Base(path)), path) })
	p.must(t, 201, "POST", "/note/submission", note("after"))
	if r := fetch(t, p, "/readyz"); r.status != 200 {
		t.Errorf("/readyz: status %d: %s", r.status, r.body)
	}
	p.mustLog(t, 1, "the files of the store are back")
	p.kill()
	texts := map[string]bool{}
	for _, text := range start(t, s).submissions(t, "note") {
		texts[text] = true
	}
	if !texts["before"] || !texts["after"] {
		t.Errorf("after a restart there is %v", texts)
	}
}

// When a file is cut short, nothing is acknowledged from then on, and the server does
// not copy a damaged WAL into the database when it ends.
func TestFileIsCutShort(t *testing.T) {
	t.Parallel()
	for _, name := range storeFiles[:2] {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			fillStore(t, s.data, 500) // and closed: all of it is in the database
			p := start(t, s)
			p.must(t, 201, "POST", "/note/submission", note("in the log"))
			if err := os.Truncate(filepath.Join(s.data, name), 4096); err != nil {
				t.Fatal(err)
			}
			p.must(t, 503, "POST", "/note/submission", note("would be lost"))
			if r := fetch(t, p, "/readyz"); r.status != 503 {
				t.Errorf("/readyz: status %d:\n%s", r.status, p.output())
			}
			testkit.Eventually(t, "the log tells that "+name+" was emptied or cut short", func() bool {
				return strings.Contains(p.output(), name+" was emptied or cut short")
			})
			if err := p.terminate(t); err != nil {
				t.Fatal(err)
			}
			if name == storeFiles[1] { // it has lost a submission
				mustRefuse(t, "the write-ahead log", "verify", "--data", s.data)
			}
		})
	}
}

// A long read of another process keeps the write-ahead log from being reused. Metrics
// and log show it, and that it is over.
func TestLongReadOfAnotherProcess(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := start(t, s, "--metrics")
	p.must(t, 201, "POST", "/note/submission", note("before"))
	reader := openDatabase(t, filepath.Join(s.data, "formulary.db"))
	defer func() { _ = reader.Close() }()
	if err := reader.Exec(`BEGIN; SELECT count(*) FROM submissions`); err != nil {
		t.Fatal(err)
	}
	large := note(strings.Repeat("much to write ", 60_000)) // some 840 KB
	write := func() { p.must(t, 201, "POST", "/note/submission", large) }
	repeatUntil(t, "it is logged", 200, write, func() bool { return strings.Contains(p.output(), "another process reads the database") })
	if bytes := metric(t, p, "formulary_wal_bytes"); bytes < 60<<20 {
		t.Errorf("formulary_wal_bytes is %v, want what was written", bytes)
	}
	if failures := metric(t, p, "formulary_checkpoint_failures_total"); failures < 1 {
		t.Errorf("formulary_checkpoint_failures_total is %v", failures)
	}
	if err := reader.Exec(`COMMIT`); err != nil {
		t.Fatal(err)
	}
	repeatUntil(t, "its end is logged", 50, write, func() bool { return strings.Contains(p.output(), "checkpoints of the write-ahead log work again") })
	write()
	if bytes := metric(t, p, "formulary_wal_bytes"); bytes > 32<<20 {
		t.Errorf("formulary_wal_bytes is %v, want a WAL that started over", bytes)
	}
}

// repeatUntil calls do until a condition holds, at most so many times.
func repeatUntil(t *testing.T, what string, times int, do func(), holds func() bool) {
	t.Helper()
	for range times {
		do()
		if holds() {
			return
		}
	}
	t.Fatalf("not after %d times: %s", times, what)
}

func metric(t *testing.T, p *process, name string) (value float64) {
	t.Helper()
	for line := range strings.Lines(fetch(t, p, "/metrics").body) {
		if n, _ := fmt.Sscanf(line, name+" %g", &value); n == 1 {
			return value
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// A stored submission that can't be read is an error, which is logged, and never an
// incomplete answer with status 200.
func TestUnreadableSubmission(t *testing.T) {
	t.Parallel()
	const damage = `UPDATE submissions SET fields = replace(fields, '"fieldId"', 'fieldId"') WHERE fields LIKE '%second%'`
	engines(t, func(t *testing.T, s site) {
		p := start(t, s)
		for _, text := range []string{"first", "second", "third"} {
			p.must(t, 201, "POST", "/note/submission", note(text))
		}
		if err := p.terminate(t); err != nil {
			t.Fatal(err)
		}
		if s.database != "" {
			conn, err := pgx.Connect(t.Context(), s.database)
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Exec(t.Context(), damage)
			if err := errors.Join(err, conn.Close(t.Context())); err != nil {
				t.Fatal(err)
			}
		} else {
			conn := openDatabase(t, filepath.Join(s.data, storeFiles[0]))
			if err := errors.Join(conn.Exec(damage), conn.Close()); err != nil {
				t.Fatal(err)
			}
		}
		p = start(t, s)
		for _, path := range []string{"/note/submission", "/note/result", "/note/submission/2", "/note/result/2"} {
			assertPlainProblem(t, p.must(t, 500, "GET", path, ""))
		}
		p.must(t, 200, "GET", "/note/submission/3", "")
		p.mustLog(t, 4, "read submission 2: decode stored entries")
		if strings.Contains(p.output(), `"request_id":""`) {
			t.Errorf("an ERROR without a request id:\n%s", p.output())
		}
	})
}
