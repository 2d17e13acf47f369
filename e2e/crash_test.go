package e2e

import (
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/testkit"
)

// When the process is killed under concurrent writes, nothing that was acknowledged
// is lost, and nothing is stored in part, however often it happens to one database.
func TestKillLosesNothing(t *testing.T) { engines(t, testKillLosesNothing) }

func testKillLosesNothing(t *testing.T, s site) {
	l, p := newLedger(), newReplica(t, s, "--access-log=false")
	for range testkit.Rounds(3, 20) {
		p.start(t)
		people := startLoad(t, l, 8, true, p.url)
		l.moreAcked(t, 50)
		p.kill()
		people.stop()
		if s.data != "" {
			integrityCheck(t, filepath.Join(s.data, "formulary.db"))
		}
	}
	p.start(t)
	l.check(t, p.submissions(t, "note"))
}

// The same for one of three servers, while the other two go on.
func TestKilledReplicaLosesNothing(t *testing.T) {
	t.Parallel()
	replicas := startReplicas(t, newSharedSite(t), 3, "--access-log=false")
	l := newLedger()
	people := startLoad(t, l, 8, true, urlsOf(replicas)...)
	for i := range testkit.Rounds(3, 20) {
		l.moreAcked(t, 50)
		replicas[i%3].kill()
		l.moreAcked(t, 20)
		replicas[i%3].start(t)
	}
	l.moreAcked(t, 50)
	people.stop()
	for _, r := range replicas {
		l.check(t, r.submissions(t, "note"))
	}
}

// openDatabase opens the database of a server, which may be running, through
// Formulary's own VFS: it knows the checksums of pages. The WAL stays as it is.
func openDatabase(t *testing.T, path string) *sqlite3.Conn {
	t.Helper()
	db, err := sqlite3.Open("file:" + path + "?vfs=formulary")
	if err == nil {
		_, err = db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
	}
	must(t, err)
	return db
}

func integrityCheck(t *testing.T, path string) {
	t.Helper()
	db := openDatabase(t, path)
	defer func() { _ = db.Close() }()
	stmt, _, err := db.Prepare(`PRAGMA integrity_check`)
	must(t, err)
	defer func() { _ = stmt.Close() }()
	if !stmt.Step() || stmt.ColumnText(0) != "ok" {
		t.Fatalf("integrity_check: %s %v", stmt.ColumnText(0), stmt.Err())
	}
}
