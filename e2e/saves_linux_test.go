package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/formulary/formulary/internal/testkit"
)

// Where a page can't be written, its author is told so and keeps the text, the page stays, and the log says why.
func TestPagesThatCantBeWritten(t *testing.T) {
	t.Parallel()
	const readOnly = `mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"`
	for cause, isReadOnly := range map[string]bool{"file too large": false, "read-only file system": true} {
		s := newSite(t)
		testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), twoForms("old", "old"))
		command := append([]string{binary}, append(s.serve(), "--authors", "*")...)
		serve := exec.Command(command[0], command[1:]...)
		if isReadOnly {
			serve = mountNamespace(t, nil, readOnly, append([]string{s.pages}, command...)...)
		}
		p := launch(t, serve)
		limit := func(bytes uint64) {
			must(t, unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}, nil))
		}
		ann := p.surfer(t, "ann", authorPath+"a")
		if !isReadOnly {
			limit(100)
		}
		saved, err := ann.save("new", "The server can&#39;t write this page. Nothing was saved. Tell its operator.")
		must(t, err)
		testkit.Same(t, cause, saved, false)
		testkit.Same(t, "page", s.page(t), twoForms("old", "old"))
		mustHold(t, s.pages, "1.md")
		p.mustLog(t, 1, `"save a form"`, cause)
		if isReadOnly {
			p.mustLog(t, 1, "authors can't save forms", cause)
			continue
		}
		limit(unix.RLIM_INFINITY)
		saved, err = ann.save("new", "none")
		must(t, err)
		testkit.Same(t, "saved", saved, true)
		testkit.Same(t, "page", s.page(t), twoForms("new", "old"))
	}
}
