package auth

import (
	"os"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

func setLease(t *testing.T, f *os.File, kind uintptr) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETLEASE, kind); errno != 0 {
		t.Fatal(errno)
	}
}

// An open that waits for the lease would hold up all polls, for 45 seconds by
// default.
func TestLeasedFileIsNotWaitedFor(t *testing.T) {
	f := newFixture(t, userLine("alice", "sesame"), "staff: bob\n")
	testkit.WriteFile(t, f.users, userLine("bob", "sesame")+"# longer\n")
	holder, err := os.OpenFile(f.users, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Close() }()
	setLease(t, holder, syscall.F_WRLCK)
	for range 5 {
		f.reload(false)
	}
	f.wantLoggedOnce("cannot read file")
	if !f.knows("alice") {
		t.Error("alice is not known any more")
	}
	setLease(t, holder, syscall.F_UNLCK)
	f.reload(false)
	f.reload(false)
	if !f.knows("bob") {
		t.Error("the file was not read after the lease")
	}
}
