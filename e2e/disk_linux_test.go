package e2e

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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
	t.Parallel()
	s := newSite(t)
	must(t, os.Mkdir(s.data, 0o700))
	p := launch(t, onSmallDisk(t, s, 4<<20))
	for range 20 {
		p.must(t, 201, "POST", "/note/submission", note("before"))
	}
	filler := filepath.Join(fmt.Sprintf("/proc/%d/root", p.Cmd.Process.Pid), s.data, "filler")
	fillUp(t, filler)

	large := note(strings.Repeat("no room for this ", 10_000))
	for range 5 {
		assertPlainProblem(t, p.must(t, 507, "POST", "/note/submission", large))
	}
	if during := p.submissions(t, "note"); len(during) != 20 {
		t.Errorf("%d submissions while the disk is full, want the 20 from before", len(during))
	}

	must(t, os.Remove(filler))
	p.must(t, 201, "POST", "/note/submission", large)
	if after := p.submissions(t, "note"); len(after) != 21 {
		t.Errorf("%d submissions after all, want 21", len(after))
	}
}

// Uploads that fill the disk get 507, and leave room for submissions without files,
// for deletes and for a new start. A delete makes room for another upload.
func TestUploadsLeaveRoom(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(t, os.Mkdir(s.data, 0o700))
	restart := onDiskThatStays(t, s, 64<<20)
	p := launch(t, restart())
	const size = 3 << 20
	upload := func(i int) response {
		t.Helper()
		r, err := p.sendStream(t, io.LimitReader(rand.NewChaCha8([32]byte{byte(i)}), size), fmt.Sprint(i))
		must(t, err)
		return r
	}
	works := func(what string) {
		t.Helper()
		for range 20 {
			p.must(t, 201, "POST", "/note/submission", note(what+strings.Repeat(" and more", 1000)))
		}
		p.must(t, 204, "DELETE", fmt.Sprintf("/note/result/%d", slices.Max(slices.Collect(maps.Keys(p.submissions(t, "note"))))), "")
	}
	// A refused upload leaves free pages and an emptied WAL behind, so the next one may find room.
	stored := 0
	for refused := 0; refused < 10; {
		r := upload(stored)
		if r.status == 201 {
			stored++
			if stored*size > 64<<20 {
				t.Fatalf("%d uploads of %d bytes on a disk of 64 MiB", stored, size)
			}
			continue
		}
		refused++
		if r.status != 507 || r.header.Get("Retry-After") == "" {
			t.Errorf("upload to a full disk: status %d, %v", r.status, r.header)
		}
		assertPlainProblem(t, r)
		works("on a full disk")
	}
	for range 2 {
		p.kill()
		p = launch(t, restart())
		works("after a start")
	}
	if stored < 5 {
		t.Fatalf("only %d uploads found room", stored)
	}
	for id := range p.submissions(t, "paper") {
		p.must(t, 204, "DELETE", fmt.Sprintf("/paper/result/%d", id), "")
	}
	testkit.Eventually(t, "an upload finds room again", func() bool { return upload(stored).status == 201 })
	must(t, p.terminate(t))
	p = launch(t, restart())
	works("in the end")
	for id, text := range p.submissions(t, "paper") {
		want := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{byte(stored)}).Read(want)
		if r := p.must(t, 200, "GET", fmt.Sprintf("/paper/submission/%d/file/doc/large.bin", id), ""); r.body != string(want) {
			t.Errorf("the file of submission %d (%s) has come back with %d bytes", id, text, len(r.body))
		}
	}
}

// onSmallDisk serves with the data directory on a file system of its own.
func onSmallDisk(t *testing.T, s site, bytes int) *exec.Cmd {
	t.Helper()
	return mountNamespace(t, nil, mountDisk(s, bytes)+` && exec "$@"`, append([]string{binary}, s.serve()...)...)
}

func mountDisk(s site, bytes int) string {
	return fmt.Sprintf(`mount -t tmpfs -o size=%d tmpfs %q`, bytes, s.data)
}

// onDiskThatStays is onSmallDisk for a server that is started more than once.
func onDiskThatStays(t *testing.T, s site, bytes int) (serve func() *exec.Cmd) {
	t.Helper()
	holder := mountNamespace(t, nil, mountDisk(s, bytes)+` && echo mounted && exec cat`)
	holder.Stderr = os.Stderr
	in, err := holder.StdinPipe() // cat ends with it
	must(t, err)
	out, err := holder.StdoutPipe()
	must(t, err)
	must(t, holder.Start())
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), holder.Wait()); err != nil {
			t.Error(err)
		}
	})
	must(t, testkit.ErrorOf(io.ReadFull(out, make([]byte, len("mounted\n")))))
	enter := []string{"--mount", "--target", strconv.Itoa(holder.Process.Pid)}
	if os.Geteuid() != 0 {
		enter = append(enter, "--user", "--preserve-credentials")
	}
	return func() *exec.Cmd {
		return exec.Command("nsenter", append(append(enter, "--", binary), s.serve()...)...)
	}
}

func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
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
	t.Parallel()
	s := newSite(t)
	p := start(t, s)
	for range 20 {
		p.must(t, 201, "POST", "/note/submission", note("before"))
	}
	info, err := os.Stat(filepath.Join(s.data, "formulary.db-wal"))
	must(t, err)
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
	must(t, unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil))
}

func assertPlainProblem(t *testing.T, r response) {
	t.Helper()
	if r.header.Get("Content-Type") != "application/problem+json" || strings.Contains(r.body, "sqlite") {
		t.Errorf("not a problem without internals: %s: %s", r.header.Get("Content-Type"), r.body)
	}
}

// The error for a read-only data directory says that it is read-only.
func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
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
