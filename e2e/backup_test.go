package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// A backup that is made under load is one snapshot.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := start(t, s, "--access-log=false")
	l := newLedger()
	people := startLoad(t, l, 4, false, p.url)
	l.moreAcked(t, 300)
	l.mu.Lock()
	before := maps.Clone(l.acked)
	l.mu.Unlock()
	file := filepath.Join(t.TempDir(), "backup.db")
	mustRun(t, s.command("backup", file)...)
	l.moreAcked(t, 50) // the server still works
	people.stop()

	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup's mode is %v, %v; want it readable by its owner only", info.Mode(), err)
	}
	mustRefuse(t, "is there already: choose a name that is free", s.command("backup", file)...)
	to := newSite(t)
	to.key = s.anonymousKey()
	mustRun(t, to.command("restore", file)...)
	checkRestored(t, start(t, to), before, l)
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
