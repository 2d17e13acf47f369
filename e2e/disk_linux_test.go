package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/formulary/formulary/internal/testkit"
)

// A full disk is answered with 507, never with success; reads go on, and
// writes succeed again as soon as there is room. The disk is a small one in
// memory, which only the server's process sees.
func TestFullDisk(t *testing.T) {
	s := newSite(t)
	if err := os.Mkdir(s.data, 0o700); err != nil {
		t.Fatal(err)
	}
	p := launch(t, onSmallDisk(t, s, 4<<20))
	for range 20 {
		p.must(t, 201, "POST", "/note/submission", note("before"))
	}
	filler := filepath.Join(fmt.Sprintf("/proc/%d/root", p.cmd.Process.Pid), s.data, "filler")
	fillUp(t, filler)

	large := note(strings.Repeat("no room for this ", 10_000))
	for range 5 {
		assertPlainProblem(t, p.must(t, 507, "POST", "/note/submission", large))
	}
	if during := p.submissions(t, "note"); len(during) != 20 {
		t.Errorf("%d submissions while the disk is full, want the 20 from before", len(during))
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p.must(t, 201, "POST", "/note/submission", large)
	if after := p.submissions(t, "note"); len(after) != 21 {
		t.Errorf("%d submissions after all, want 21", len(after))
	}
}

// onSmallDisk serves with the data directory on a file system of its own.
func onSmallDisk(t *testing.T, s site, bytes int) *exec.Cmd {
	t.Helper()
	script := fmt.Sprintf(`mount -t tmpfs -o size=%d tmpfs %q && exec "$@"`, bytes, s.data)
	return mountNamespace(t, nil, script, append([]string{binary}, s.serve()...)...)
}

func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
}

// While the disk fails, writes are answered with 503 and store nothing, not even in
// part, and reads succeed. Writes succeed again when the disk works. A limit on the
// size of files makes the disk fail.
func TestFailingDisk(t *testing.T) {
	s := newSite(t)
	p := start(t, s)
	for range 20 {
		p.must(t, 201, "POST", "/note/submission", note("before"))
	}
	info, err := os.Stat(filepath.Join(s.data, "formulary.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	setFileSizeLimit(t, p, uint64(info.Size()))
	for range 5 {
		r := p.must(t, 503, "POST", "/note/submission", note(strings.Repeat("it will not take this ", 1000)))
		assertPlainProblem(t, r)
		if r.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if during := p.submissions(t, "note"); len(during) != 20 {
		t.Errorf("%d submissions while the disk fails, want the 20 from before", len(during))
	}

	setFileSizeLimit(t, p, unix.RLIM_INFINITY)
	testkit.Eventually(t, "writes succeed again", func() bool {
		r, err := p.call(t.Context(), "POST", "/note/submission", note("after"))
		return err == nil && r.status == 201
	})
	p.kill()
	integrityCheck(t, filepath.Join(s.data, "formulary.db"))
	if after := start(t, s).submissions(t, "note"); len(after) != 21 {
		t.Errorf("%d submissions after all, want 21", len(after))
	}
}

func setFileSizeLimit(t *testing.T, p *process, bytes uint64) {
	t.Helper()
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
}

func assertPlainProblem(t *testing.T, r response) {
	t.Helper()
	if r.header.Get("Content-Type") != "application/problem+json" || strings.Contains(r.body, "sqlite") {
		t.Errorf("not a problem without internals: %s: %s", r.header.Get("Content-Type"), r.body)
	}
}

// The error for a read-only data directory says that it is read-only.
func TestReadOnlyDirectory(t *testing.T) {
	s := newSite(t)
	fillStore(t, s.data, 1)
	for _, args := range [][]string{
		s.serve(),
		s.command("backup", filepath.Join(t.TempDir(), "backup.db")),
		append([]string{"verify"}, s.store()...),
		s.command("restore", backupOfMany(t, 1)),
	} {
		script := fmt.Sprintf(`mount --bind %[1]q %[1]q && mount -o remount,bind,ro %[1]q && exec "$@"`, s.data)
		out, err := mountNamespace(t, nil, script, append([]string{binary}, args...)...).CombinedOutput()
		if want := "the data directory " + s.data + " is read-only"; err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, and not %q: %s", args[0], err, want, out)
		}
	}
}
