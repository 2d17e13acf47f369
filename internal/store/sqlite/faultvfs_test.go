package sqlite

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is a VFS over the operating system's that injects faults: a full or a
// failing disk.
type disk struct {
	vfs.VFSFilename
	fault atomic.Pointer[fault]
}

// fault is what happens to files whose name ends in suffix.
type fault struct {
	suffix string
	err    error
	syncs  bool  // it happens on syncs, else on writes
	size   int64 // writes up to this size of the file succeed
}

// openOnDisk opens a store in dir on a disk that works until told otherwise.
func openOnDisk(t *testing.T, dir string) (*Store, *disk) {
	t.Helper()
	d := &disk{VFSFilename: osVFS().VFSFilename}
	name := "disk" + strings.ReplaceAll(dir, "/", "-")
	vfs.Register(name, checkedVFS{d})
	s, err := open(ctx, dir, name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.fault.Store(nil)
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		vfs.Unregister(name)
	})
	return s, d
}

// OpenFilename implements vfs.VFSFilename.
func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	return &diskFile{File: f, disk: d, name: name.String()}, flags, nil
}

type diskFile struct {
	vfs.File
	disk *disk
	name string
}

// SharedMemory implements vfs.FileSharedMemory, without which there is no WAL.
func (f *diskFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }

// fails returns the fault that a write or sync of the file meets, or nil.
func (f *diskFile) fails() *fault {
	if x := f.disk.fault.Load(); x != nil && strings.HasSuffix(f.name, x.suffix) {
		return x
	}
	return nil
}

// WriteAt implements vfs.File.
func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	if x := f.fails(); x != nil && !x.syncs && off+int64(len(p)) > x.size {
		return 0, x.err
	}
	return f.File.WriteAt(p, off)
}

// Sync implements vfs.File.
func (f *diskFile) Sync(flags vfs.SyncFlag) error {
	if x := f.fails(); x != nil && x.syncs {
		return x.err
	}
	return f.File.Sync(flags)
}
