package durable

import (
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
		testkit.Must(t, mkdirAll(path, func(dir string) error { synced = append(synced, dir); return Sync(dir) }))
		if !slices.Equal(synced, want) {
			t.Errorf("synced %q, want %q", synced, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	testkit.ErrorIs(t, "a failed sync", mkdirAll(filepath.Join(path, "d"), func(string) error { return syscall.EIO }), syscall.EIO)
	file := filepath.Join(root, "file")
	testkit.WriteFile(t, file, "x")
	if err := MkdirAll(file); err == nil {
		t.Error("no error for a file in place of a directory")
	}
}

func TestKeepOwnerDoesWhatIsPermitted(t *testing.T) {
	info, err := os.Stat(t.TempDir())
	testkit.Must(t, err)
	stat := info.Sys().(*syscall.Stat_t)
	uid, gid := int(stat.Uid), int(stat.Gid)
	for name, tt := range map[string]struct {
		err  error
		want [][2]int
	}{
		"root":   {nil, [][2]int{{uid, gid}}},
		"others": {os.ErrPermission, [][2]int{{uid, gid}, {-1, gid}}},
	} {
		var got [][2]int
		keepOwner(func(uid, gid int) error {
			got = append(got, [2]int{uid, gid})
			return tt.err
		}, info)
		testkit.Diff(t, name, got, tt.want)
	}
}
