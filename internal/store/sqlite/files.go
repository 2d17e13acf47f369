package sqlite

import (
	"errors"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// filesName is what files are registered as.
const filesName = "formulary"

// files are the operating system's, with one difference: a write that finds no
// room fails with FULL, as in SQLite's own Unix layer. From the one in use it
// is an I/O error, and why is forgotten by the time the transaction is undone.
type files struct{ vfs.VFSFilename }

func osFiles() files { return files{vfs.Find("os").(vfs.VFSFilename)} }

// OpenFilename implements vfs.VFSFilename.
func (v files) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := v.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, noRoom(err)
	}
	if flags&vfs.OPEN_WAL != 0 {
		return &walFile{file: file{f}}, flags, nil
	}
	return file{f}, flags, nil
}

// noRoom marks an error that says that there is no room. Not to be used on
// Sync: by then the write may be on the disk, and FULL promises that it is not.
func noRoom(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return vfs.SystemError(err, sqlite3.FULL)
	}
	return err
}

// file passes on all that SQLite may ask of the operating system's files.
type file struct{ vfs.File }

func (f file) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	return n, noRoom(err)
}

func (f file) Truncate(size int64) error { return noRoom(f.File.Truncate(size)) }
func (f file) SizeHint(size int64) error { return noRoom(vfsutil.WrapSizeHint(f.File, size)) }

func (f file) Unwrap() vfs.File                { return f.File }
func (f file) SharedMemory() vfs.SharedMemory  { return vfsutil.WrapSharedMemory(f.File) }
func (f file) MemoryMapper() vfs.MemoryMapper  { return vfsutil.WrapMemoryMapper(f.File) }
func (f file) LockState() vfs.LockLevel        { return vfsutil.WrapLockState(f.File) }
func (f file) HasMoved() (bool, error)         { return vfsutil.WrapHasMoved(f.File) }
func (f file) PersistWAL() bool                { return vfsutil.WrapPersistWAL(f.File) }
func (f file) SetPersistWAL(keep bool)         { vfsutil.WrapSetPersistWAL(f.File, keep) }
func (f file) PowersafeOverwrite() bool        { return vfsutil.WrapPowersafeOverwrite(f.File) }
func (f file) SetPowersafeOverwrite(safe bool) { vfsutil.WrapSetPowersafeOverwrite(f.File, safe) }
func (f file) BeginAtomicWrite() error         { return vfsutil.WrapBeginAtomicWrite(f.File) }
func (f file) CommitAtomicWrite() error        { return vfsutil.WrapCommitAtomicWrite(f.File) }
func (f file) RollbackAtomicWrite() error      { return vfsutil.WrapRollbackAtomicWrite(f.File) }
