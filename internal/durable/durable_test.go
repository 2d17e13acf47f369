package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// links are ways to link: one that works, and that of a file system without.
var links = map[string]func(string, string) error{
	"with links":    os.Link,
	"without links": func(string, string) error { return syscall.EPERM },
}

func TestName(t *testing.T) {
	for what, link := range links {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			whole, path := filepath.Join(dir, "whole"), filepath.Join(dir, "name")
			write(t, whole, "new")
			if err := name(whole, path, link); err != nil {
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
			if err := name(whole, path, link); !errors.Is(err, fs.ErrExist) {
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
			if err := name(filepath.Join(dir, "none"), path, link); !errors.Is(err, fs.ErrNotExist) {
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
