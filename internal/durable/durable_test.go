package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// links are ways to link: one that works, and that of a file system without.
var links = map[string]func(string, string) error{
	"with links":    os.Link,
	"without links": func(string, string) error { return syscall.EPERM },
}

func create(path string) (io.Closer, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// failingClose is a file whose Close reports a failure.
type failingClose struct{ io.Closer }

func (f failingClose) Close() error { return errors.Join(f.Closer.Close(), syscall.EIO) }

// A file that has got its name keeps it, even if the file that reserved the
// name could not be closed.
func TestNameOutlastsAFailedClose(t *testing.T) {
	dir := t.TempDir()
	whole, path := filepath.Join(dir, "whole"), filepath.Join(dir, "name")
	write(t, whole, "new")
	err := name(whole, path, links["without links"], func(path string) (io.Closer, error) {
		f, err := create(path)
		return failingClose{f}, err
	})
	if err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "new" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestMkdirAllSyncsTheParents(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "a", "b", "c")
	for _, want := range [][]string{{filepath.Join(root, "a", "b"), filepath.Join(root, "a"), root}, nil} {
		var synced []string
		if err := mkdirAll(path, 0o700, func(dir string) error { synced = append(synced, dir); return Sync(dir) }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(synced, want) {
			t.Errorf("synced %q, want %q", synced, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := mkdirAll(filepath.Join(path, "d"), 0o700, func(string) error { return syscall.EIO }); !errors.Is(err, syscall.EIO) {
		t.Errorf("a failed sync: %v", err)
	}
	file := filepath.Join(root, "file")
	write(t, file, "x")
	if err := MkdirAll(file, 0o700); err == nil {
		t.Error("a file passes for a directory")
	}
}

func TestName(t *testing.T) {
	for what, link := range links {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			whole, path := filepath.Join(dir, "whole"), filepath.Join(dir, "name")
			write(t, whole, "new")
			if err := name(whole, path, link, create); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != "new" {
				t.Errorf("read %q, %v", got, err)
			}
			if _, err := os.Lstat(whole); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file is there under its old name, too: %v", err)
			}
		})
	}
}

func TestNameReplacesNothing(t *testing.T) {
	for what, link := range links {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			whole, path := filepath.Join(dir, "whole"), filepath.Join(dir, "name")
			write(t, whole, "new")
			write(t, path, "old")
			if err := name(whole, path, link, create); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%v, want %v", err, fs.ErrExist)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
}

func TestNameOfNothing(t *testing.T) {
	for what, link := range links {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "name")
			if err := name(filepath.Join(dir, "none"), path, link, create); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v, want %v", err, fs.ErrNotExist)
			}
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something has the name: %v", err)
			}
		})
	}
}

func TestSync(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write(t, file, "x")
	for _, path := range []string{file, dir} {
		if err := Sync(path); err != nil {
			t.Error(err)
		}
	}
	if err := Sync(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %v", err, fs.ErrNotExist)
	}
	// The kernel says EINVAL of what can't be synced at all.
	if err := Sync(os.DevNull); err != nil {
		t.Errorf("what has no notion of it: %v", err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
