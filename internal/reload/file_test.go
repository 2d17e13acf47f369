package reload

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// stamped writes a file, with a time stamp of so many seconds, and returns its
// version.
func stamped(t *testing.T, path, content string, seconds int64) File {
	t.Helper()
	testkit.WriteFile(t, path, content)
	testkit.Must(t, os.Chtimes(path, time.Time{}, time.Unix(seconds, 0)))
	return Stat(path)
}

func TestFileSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	missing := Stat(path)
	if !missing.Same(Stat(path)) || missing.Same(File{}) || (File{}).Same(File{}) {
		t.Error("a missing file is the same as a missing file, and nothing is the same as the zero File")
	}
	first := stamped(t, path, "one", 100)
	if first.Same(missing) || missing.Same(first) || !first.Same(Stat(path)) {
		t.Error("a file that came is not the same as itself, or the same as none")
	}
	if first.Same(stamped(t, path, "1", 100)) {
		t.Error("another size is the same version")
	}
	if first.Same(stamped(t, path, "one", 101)) {
		t.Error("another time stamp is the same version")
	}
	stamped(t, path, "one", 100)
	testkit.Must(t, os.Chmod(path, 0o400))
	if first.Same(Stat(path)) {
		t.Error("another mode, with which it may be readable, is the same version")
	}
	stamped(t, path+".new", "one", 100)
	testkit.Must(t, os.Rename(path+".new", path))
	if first.Same(Stat(path)) {
		t.Error("another file is the same version")
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	testkit.WriteFile(t, path, "12345")
	if content, err := ReadFile(path, 5); err != nil || string(content) != "12345" {
		t.Errorf("got %q, %v", content, err)
	}
	if _, err := ReadFile(path, 4); err == nil || !strings.Contains(err.Error(), "larger than 4 bytes") {
		t.Errorf("a file over the limit: %v", err)
	}
	testkit.ErrorIs(t, "a missing file", testkit.ErrorOf(ReadFile(path+"-none", 4)), os.ErrNotExist)
}

// An open that blocks would hang here, and fail by the timeout of the tests.
func TestOpenRefusesWhatWouldBlock(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	testkit.Must(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, dir, "/dev/zero"} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("open %s: %v", path, err)
		}
	}
}
