//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package auth

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestUpdateKeepsTheOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	file := filepath.Join(t.TempDir(), "users")
	writeFile(t, file, "")
	if err := os.Chown(file, 4711, 4712); err != nil {
		t.Fatal(err)
	}
	if err := updateUsersFile(file, "alice", "HASH"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Sys().(*syscall.Stat_t); got.Uid != 4711 || got.Gid != 4712 {
		t.Errorf("the owner is %d:%d, want 4711:4712", got.Uid, got.Gid)
	}
}

func TestChangedButForbiddenFileIsLoggedOnce(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is forbidden to root")
	}
	f := newFixture(t, userLine("alice", "sesame"), "")
	writeFile(t, f.users, userLine("bob", "sesame")+"# longer\n")
	if err := os.Chmod(f.users, 0); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		f.Reload()
	}
	f.wantLoggedOnce("cannot read file")
	if !f.knows("alice") {
		t.Error("alice is not known any more")
	}
	if err := os.Chmod(f.users, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Reload()
	f.Reload()
	f.wantLoggedOnce("file can be read again")
	if !f.knows("bob") {
		t.Error("the file was not read when it could be")
	}
}
