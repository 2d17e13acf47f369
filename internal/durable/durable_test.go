package durable

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

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
