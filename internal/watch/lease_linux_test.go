package watch_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/watch"
)

// A write lease has an open wait until its holder lets go, unless it says that
// it will not wait.
func TestOpenDoesNotWaitForALease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETLEASE, syscall.F_WRLCK); errno != 0 {
		t.Fatal(errno)
	}
	if _, _, err := watch.Open(path); !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("open a leased file: %v", err)
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETLEASE, syscall.F_UNLCK); errno != 0 {
		t.Fatal(errno)
	}
	if _, _, err := watch.ReadFile(path, 10); err != nil {
		t.Errorf("open it after the lease: %v", err)
	}
}
