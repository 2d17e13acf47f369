package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/store/pgtest"
)

// A backup that is made under load is one snapshot, and can be restored to either
// engine.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, pgtest.Options{TCP: true})
	for name, s := range map[string]site{"sqlite": newSite(t), "postgres": newSite(t).on(cluster.Database(t))} {
		t.Run(name, func(t *testing.T) {
			p := start(t, s, "--access-log=false")
			l := newLedger()
			people := startLoad(t, l, 4, false, p.url)
			l.moreAcked(t, 300)
			l.mu.Lock()
			before := maps.Clone(l.acked)
			l.mu.Unlock()
			file := filepath.Join(t.TempDir(), "backup.db")
			said := mustRun(t, s.command("backup", file)...)
			l.moreAcked(t, 50) // the server still works
			people.stop()

			info, err := os.Stat(file)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the backup's mode is %v, %v; want it readable by its owner only", info.Mode(), err)
			}
			said += mustRefuse(t, "is there already: choose a name that is free", s.command("backup", file)...)
			for _, to := range []site{newSite(t), newSite(t).on(cluster.Database(t))} {
				to.key = s.anonymousKey()
				said += mustRun(t, to.command("restore", file)...)
				checkRestored(t, start(t, to), before, l)
			}
			if s.database != "" {
				assertNoPassword(t, s, said)
			}
		})
	}
}

// checkRestored: all that was acknowledged before the backup is restored, and all
// that is restored was sent, with the same content.
func checkRestored(t *testing.T, p *process, before map[int64]string, l *ledger) {
	t.Helper()
	stored := p.submissions(t, "note")
	for id, text := range before {
		if stored[id] != text {
			t.Errorf("submission %d is %q, and was %q before the backup", id, stored[id], text)
		}
	}
	for id, text := range stored {
		if l.acked[id] != text {
			t.Errorf("submission %d is %q, and was %q", id, text, l.acked[id])
		}
	}
}

// A restore to the other engine brings back all content of a store, and does not
// overwrite an existing one.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s site) {
		p := start(t, s)
		use(t, p)
		before := answers(t, p)
		file := filepath.Join(t.TempDir(), "backup.db")
		mustRun(t, s.command("backup", file)...)
		if err := p.terminate(t); err != nil {
			t.Fatal(err)
		}
		other := newSite(t)
		if s.database == "" {
			other = newSharedSite(t)
		}
		other.key = s.anonymousKey()
		mustRun(t, other.command("restore", file)...)
		p = start(t, other)
		if diff := cmp.Diff(before, answers(t, p)); diff != "" {
			t.Errorf("the API answers otherwise (-before +after):\n%s", diff)
		}
		p.must(t, 400, "POST", "/vote/submission", ballot)
		if out, err := run(t, other.command("restore", file)...); err == nil || !strings.Contains(out, "in use") && !strings.Contains(out, "not empty") {
			t.Errorf("over a store: %v: %s", err, out)
		}
		if after := answers(t, p); !cmp.Equal(before, after) {
			t.Error("what was refused has changed the store")
		}
	})
}
