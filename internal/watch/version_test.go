package watch_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/watch"
)

// stamped writes a file, with a time stamp of so many seconds, and returns its
// version.
func stamped(t *testing.T, path, content string, seconds int64) watch.Version {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Unix(seconds, 0)); err != nil {
		t.Fatal(err)
	}
	return watch.Stat(path)
}

func TestVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	missing := watch.Stat(path)
	if !missing.Same(watch.Version{}) {
		t.Error("a missing file has a version")
	}
	first := stamped(t, path, "one", 100)
	if first.Same(missing) || missing.Same(first) || !first.Same(watch.Stat(path)) {
		t.Error("a file that came has no version, or two")
	}
	if first.Same(stamped(t, path, "1", 100)) {
		t.Error("another size is the same version")
	}
	if first.Same(stamped(t, path, "one", 101)) {
		t.Error("another time stamp is the same version")
	}
	stamped(t, path+".new", "one", 100)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if first.Same(watch.Stat(path)) {
		t.Error("another file is the same version")
	}
}

func TestChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	a, b, c := stamped(t, path, "a", 1), stamped(t, path, "b", 2), stamped(t, path, "c", 3)
	for _, tt := range []struct {
		name  string
		looks []watch.Version // after a was read
		want  []bool
	}{
		{"unchanged", []watch.Version{a, a, a}, []bool{false, false, false}},
		{"changed", []watch.Version{b, b}, []bool{false, true}},
		{"changed, and changed again", []watch.Version{b, c, c}, []bool{false, false, true}},
		{"changed and changed back", []watch.Version{b, a, b, b}, []bool{false, false, false, true}},
		{"never at rest", []watch.Version{b, c, b, c, b}, []bool{false, false, false, true, true}},
	} {
		var changes watch.Changes
		changes.Read(a)
		for i, v := range tt.looks {
			if got := changes.Due(v); got != tt.want[i] {
				t.Errorf("%s: look %d: due is %t", tt.name, i+1, got)
			}
			if settled := v == a; changes.Settled() != settled {
				t.Errorf("%s: look %d: settled is %t", tt.name, i+1, !settled)
			}
		}
	}
}

func TestChangesOfAFileThatWasNotRead(t *testing.T) {
	v := stamped(t, filepath.Join(t.TempDir(), "file"), "a", 1)
	var changes watch.Changes
	if changes.Due(v) || changes.Current(v) {
		t.Error("a new file is due at the first look")
	}
	changes.Forget()
	if changes.Due(v) {
		t.Error("due at the first look after it could not be looked at")
	}
	if !changes.Due(v) || changes.Overdue() {
		t.Error("not due at the second look in a row")
	}
	if changes.Read(v); !changes.Current(v) || !changes.Settled() {
		t.Error("read, and not current")
	}
}
