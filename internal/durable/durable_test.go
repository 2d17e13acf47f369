package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// links are two implementations of os.Link: one that works, and one like on a file
// system without links.
var links = map[string]func(string, string) error{
	"with links":    os.Link,
	"without links": func(string, string) error { return syscall.EPERM },
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
	testkit.WriteFile(t, file, "x")
	if err := MkdirAll(file, 0o700); err == nil {
		t.Error("no error for a file in place of a directory")
	}
}

// TestName: a file gets its name, unless there is a file with that name or the
// file itself is missing.
func TestName(t *testing.T) {
	for what, link := range links {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			whole, path := filepath.Join(dir, "whole"), filepath.Join(dir, "name")
			for _, step := range []struct {
				content string
				want    error
			}{{"", fs.ErrNotExist}, {"first", nil}, {"second", fs.ErrExist}} {
				if step.content != "" {
					testkit.WriteFile(t, whole, step.content)
				}
				if err := name(whole, path, link); !errors.Is(err, step.want) {
					t.Errorf("%q: %v, want %v", step.content, err, step.want)
				}
				if _, err := os.Lstat(path); step.content == "" && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a file was created: %v", err)
				}
				if _, err := os.Lstat(whole); step.want == nil && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the file is there under its old name, too: %v", err)
				}
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != "first" {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
}

func TestSync(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	testkit.WriteFile(t, file, "x")
	for _, path := range []string{file, dir} {
		if err := Sync(path); err != nil {
			t.Error(err)
		}
	}
	if err := Sync(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %v", err, fs.ErrNotExist)
	}
	// Linux returns EINVAL for files that can't be synced.
	if err := Sync(os.DevNull); err != nil {
		t.Errorf("a device: %v", err)
	}
}
