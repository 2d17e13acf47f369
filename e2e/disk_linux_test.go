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

// The disk is a small one in memory, which only the server's process sees. It is full, and has room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := launch(t, onSmallDisk(t, s, 4<<20)())
	filler := filepath.Join(fmt.Sprintf("/proc/%d/root", p.Cmd.Process.Pid), s.data, "filler")
	testBadDisk(t, p, 507, func() { fillUp(t, filler) }, func(large string) {
		must(t, os.Remove(filler))
		p.must(t, 201, "POST", "/note/submission", large)
	})
}

// A limit on the size of files makes the disk fail. All submissions are whole after a crash.
func TestFailingDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := start(t, s)
	limit := func(bytes uint64) {
		rlimit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
		must(t, unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_FSIZE, &rlimit, nil))
	}
	testBadDisk(t, p, 503, func() {
		info, err := os.Stat(filepath.Join(s.data, "formulary.db-wal"))
		must(t, err)
		limit(uint64(info.Size()))
	}, func(large string) {
		limit(unix.RLIM_INFINITY)
		testkit.Eventually(t, "writes succeed again", func() bool {
			r, err := p.call(t.Context(), "POST", "/note/submission", large)
			return err == nil && r.status == 201
		})
	})
	p.kill()
	integrityCheck(t, filepath.Join(s.data, "formulary.db"))
	testkit.Same(t, "submissions after a crash", len(start(t, s).submissions(t, "note")), 21)
}

// testBadDisk: while the disk is bad, writes are answered with a status, never with success. They store nothing, not
// even in part, and reads succeed. heal makes the disk work again, and creates a submission.
func testBadDisk(t *testing.T, p *process, status int, spoil func(), heal func(large string)) {
	t.Helper()
	for range 20 {
		p.must(t, 201, "POST", "/note/submission", note("before"))
	}
	spoil()
	large := note(strings.Repeat("no room for this ", 10_000))
	for range 5 {
		assertPlainProblem(t, p.must(t, status, "POST", "/note/submission", large))
	}
	testkit.Same(t, "submissions while the disk is bad", len(p.submissions(t, "note")), 20)
	heal(large)
	testkit.Same(t, "submissions after all", len(p.submissions(t, "note")), 21)
}

// Uploads that fill the disk get 507, and leave room for submissions without files,
// for deletes and for a new start. A delete makes room for another upload.
func TestUploadsLeaveRoom(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	restart := onSmallDisk(t, s, 64<<20)
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
		testkit.Same(t, "upload to a full disk: status", r.status, 507)
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

// onSmallDisk returns what starts a server, also again, with the data directory on a file system of its own in memory.
func onSmallDisk(t *testing.T, s site, bytes int) (serve func() *exec.Cmd) {
	t.Helper()
	must(t, os.Mkdir(s.data, 0o700))
	script := fmt.Sprintf(`mount -t tmpfs -o size=%d tmpfs %q && echo mounted && exec cat`, bytes, s.data)
	holder := mountNamespace(t, nil, script)
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

// assertPlainProblem fails the test unless an answer says when to try again, and has no internals.
func assertPlainProblem(t *testing.T, r response) {
	t.Helper()
	kind, retry := r.header.Get("Content-Type"), r.header.Get("Retry-After")
	if kind != "application/problem+json" || retry == "" || strings.Contains(r.body, "sqlite") {
		t.Errorf("not a problem without internals: %v: %s", r.header, r.body)
	}
}

// The error for a read-only data directory says that it is read-only.
func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fillStore(t, s.data, 1)
	backup := filepath.Join(t.TempDir(), "backup.db")
	mustRun(t, s.command("backup", backup)...)
	for _, args := range [][]string{
		s.serve(),
		s.command("backup", backup+".2"),
		append([]string{"verify"}, s.store()...),
		s.command("restore", backup),
	} {
		script := fmt.Sprintf(`mount --bind %[1]q %[1]q && mount -o remount,bind,ro %[1]q && exec "$@"`, s.data)
		out, err := mountNamespace(t, nil, script, append([]string{binary}, args...)...).CombinedOutput()
		if want := "the data directory " + s.data + " is read-only"; err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, and not %q: %s", args[0], err, want, out)
		}
	}
}
