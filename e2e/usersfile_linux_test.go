package e2e

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// Another program holds a lease on the users file, so that an open would block. That
// delays neither logins nor the shutdown.
func TestLeasedUsersFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := start(t, s)
	p.must(t, http.StatusOK, "GET", "/note", "")
	users, err := os.OpenFile(s.users, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = users.Close() }()
	testkit.Eventually(t, "the users file is leased", func() bool { // not while the server has it open
		_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, users.Fd(), syscall.F_SETLEASE, syscall.F_WRLCK)
		return errno == 0
	})
	if _, err := users.WriteString("# changed\n"); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "it is logged", func() bool { return strings.Contains(p.output(), "the users and groups can't be read") })
	p.must(t, http.StatusOK, "GET", "/note", "")
	if status := ready(t, p); status != http.StatusOK {
		t.Errorf("/readyz: %d", status)
	}
	if err := p.terminate(t); err != nil {
		t.Errorf("exit: %v", err)
	}
}
