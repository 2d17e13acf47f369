package sqlite

import (
	"math"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/formulary/formulary/internal/testkit"
)

// disk is a VFS over the operating system's that injects faults: a full or a
// failing disk, or the end of the process.
type disk struct {
	vfs.VFSFilename
	name        string
	fault       atomic.Pointer[fault]
	changesLeft atomic.Int64 // every later change of a file fails, as if the process had been killed before it
}

// fault is what happens to files whose name ends in suffix.
type fault struct {
	suffix string
	err    error
	syncs  bool  // it happens on syncs, else on writes
	size   int64 // writes up to this size of the file succeed
}

// newDisk registers a disk for the files in dir that works until told otherwise.
func newDisk(t *testing.T, dir string) *disk {
	t.Helper()
	d := &disk{VFSFilename: osVFS().VFSFilename, name: "disk" + strings.ReplaceAll(dir, "/", "-")}
	d.changesLeft.Store(math.MaxInt64)
	vfs.Register(d.name, checkedVFS{d})
	t.Cleanup(func() { vfs.Unregister(d.name) })
	return d
}

// openOnDisk opens a store in dir on such a disk.
func openOnDisk(t *testing.T, dir string) (*Store, *disk) {
	t.Helper()
	d := newDisk(t, dir)
	s, err := open(ctx, dir, d.name, Options{})
	must(t, err)
	t.Cleanup(func() {
		d.fault.Store(nil)
		testkit.ErrorIs(t, "close", s.Close(), nil)
	})
	return s, d
}

// OpenFilename implements vfs.VFSFilename.
func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if flags&vfs.OPEN_CREATE != 0 && !d.change() {
		return nil, flags, syscall.EIO
	}
	f, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	return &diskFile{File: f, disk: d, name: name.String()}, flags, nil
}

// Delete implements vfs.VFS.
func (d *disk) Delete(name string, syncDir bool) error {
	if !d.change() {
		return syscall.EIO
	}
	return d.VFSFilename.Delete(name, syncDir)
}

// change reports whether the process is there to change a file.
func (d *disk) change() bool { return d.changesLeft.Add(-1) >= 0 }

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
	if !f.disk.change() {
		return 0, syscall.EIO
	}
	return f.File.WriteAt(p, off)
}

// Truncate implements vfs.File.
func (f *diskFile) Truncate(size int64) error {
	if !f.disk.change() {
		return syscall.EIO
	}
	return f.File.Truncate(size)
}

// Sync implements vfs.File.
func (f *diskFile) Sync(flags vfs.SyncFlag) error {
	if x := f.fails(); x != nil && x.syncs {
		return x.err
	}
	return f.File.Sync(flags)
}
