package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// When a file is cut short, nothing is acknowledged from then on, and the server does
// not copy a damaged WAL into the database when it ends.
func TestFileIsCutShort(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"formulary.db", "formulary.db-wal"} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			fillStore(t, s.data, 500) // and closed: all of it is in the database
			p := start(t, s)
			p.must(t, 201, "POST", "/note/submission", note("in the log"))
			must(t, os.Truncate(filepath.Join(s.data, name), 4096))
			p.must(t, 503, "POST", "/note/submission", note("would be lost"))
			if r := fetch(t, p, "/readyz"); r.status != 503 {
				t.Errorf("/readyz: status %d:\n%s", r.status, p.output())
			}
			testkit.Eventually(t, "the log tells that "+name+" was emptied or cut short", func() bool {
				return strings.Contains(p.output(), name+" was emptied or cut short")
			})
			must(t, p.terminate(t))
		})
	}
}

// Sessions that have expired do not stay in the database.
func TestExpiredSessionsAreRemoved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(t, start(t, s).terminate(t))
	path := filepath.Join(s.data, "formulary.db")
	db := openDatabase(t, path)
	err := db.Exec(`INSERT INTO sessions (hash, owner, expires, sealed) VALUES (x'01', x'02', 1, x'03')`)
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	start(t, s)
	testkit.Eventually(t, "the session is removed", func() bool {
		return countRows(t, path, `SELECT count(*) FROM sessions`) == 0
	})
}
