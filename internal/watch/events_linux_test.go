package watch_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/watch"
)

func newEvents(t *testing.T, dirs ...string) *watch.Events {
	t.Helper()
	e, err := watch.NewEvents()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	for _, dir := range dirs {
		if err := e.Add(dir); err != nil {
			t.Fatal(err)
		}
	}
	e.Sweep()
	return e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEvents(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	must(t, os.WriteFile(path, []byte("1"), 0o600))
	e := newEvents(t, dir)
	for _, step := range []struct {
		name string
		do   func() error
		want bool
	}{
		{"nothing", func() error { return nil }, false},
		{"read", func() error { _, err := os.ReadFile(path); return err }, false},
		{"listed", func() error { _, err := os.ReadDir(dir); return err }, false},
		{"written", func() error { return os.WriteFile(path, []byte("2"), 0o600) }, true},
		{"permissions", func() error { return os.Chmod(path, 0o400) }, true},
		{"renamed", func() error { return os.Rename(path, path+"2") }, true},
		{"folder", func() error { return os.Mkdir(path, 0o700) }, true},
		{"in a folder that is not watched", func() error { return os.WriteFile(filepath.Join(path, "x"), nil, 0o600) }, false},
		{"removed", func() error { return os.Remove(path + "2") }, true},
		{"directory removed", func() error { return os.RemoveAll(dir) }, true},
	} {
		must(t, step.do())
		if got := e.Changed(); got != step.want {
			t.Errorf("%s: changed is %t", step.name, got)
		}
		if e.Changed() {
			t.Errorf("%s: reported twice", step.name)
		}
	}
}

func TestSweepEndsWatches(t *testing.T) {
	kept, dropped := t.TempDir(), t.TempDir()
	e := newEvents(t, kept, dropped)
	must(t, e.Add(kept))
	e.Sweep()
	e.Changed() // the kernel tells of the end of the watch
	must(t, os.WriteFile(filepath.Join(dropped, "file"), nil, 0o600))
	if e.Changed() {
		t.Error("a directory that was not added again is watched")
	}
	must(t, os.WriteFile(filepath.Join(kept, "file"), nil, 0o600))
	if !e.Changed() {
		t.Error("a directory that was added again is not watched")
	}
}

func TestCovers(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	e := newEvents(t, dir)
	covers := func(path string) bool {
		t.Helper()
		info, err := os.Stat(path)
		must(t, err)
		return e.Covers(path, info)
	}
	path, elsewhere := filepath.Join(dir, "file"), filepath.Join(other, "file")
	must(t, os.WriteFile(path, nil, 0o600))
	must(t, os.WriteFile(elsewhere, nil, 0o600))
	if !covers(path) || covers(elsewhere) {
		t.Errorf("watched directory: %t, another: %t", covers(path), covers(elsewhere))
	}
	mounted, err := os.Stat("/proc/version") // on another device, as a file that is mounted into the directory
	must(t, err)
	if e.Covers(path, mounted) {
		t.Error("edits of a mounted file are not reported")
	}
	must(t, os.Link(path, filepath.Join(other, "link")))
	if covers(path) {
		t.Error("edits by another name are not reported")
	}
}

func TestDirectoriesThatCannotBeWatched(t *testing.T) {
	e := newEvents(t)
	if err := e.Add("/proc"); err == nil || !strings.Contains(err.Error(), "may send no events") {
		t.Errorf("a file system that is not known to send events: %v", err)
	}
	if err := e.Add(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	must(t, e.Close())
	if err := e.Add(t.TempDir()); err == nil {
		t.Error("a directory was added after Close")
	}
}
