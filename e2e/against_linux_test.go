package e2e

import (
	"maps"
	"os/exec"
	"testing"
)

// The directory of a store is mounted such that it can't be written: beside a server that goes on, after it was killed,
// and after it has ended.
func TestCheckAgainstReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	readOnly := func() *exec.Cmd {
		const script = `mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; ! touch "$1/x" 2>/dev/null; shift; exec "$@"`
		return mountNamespace(t, nil, script, append([]string{s.data, binary}, checkAgainst(t, s.data)...)...)
	}
	p := besideAServer(t, s, readOnly)
	stored := len(p.submissions(t, "note"))
	content := func() map[string]string {
		held := contentOfFiles(t, s.data)
		delete(held, "formulary.db-shm")
		return held
	}
	unchanged := func(what string) {
		t.Helper()
		before := content()
		if n := countGone(t, readOnly()); n != stored || !maps.Equal(content(), before) {
			t.Errorf("%s: %d submissions, want %d, and no change", what, n, stored)
		}
	}
	p.kill()
	unchanged("killed")
	must(t, start(t, s).terminate(t))
	unchanged("ended")
	mustHold(t, s.data, "anonymous.key", "formulary.db")
}
