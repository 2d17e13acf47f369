package sqlite

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// vfsName is the name that checkedVFS is registered under.
const vfsName = "formulary"

// checkedVFS is the VFS of the operating system with four differences. A write
// that finds no space fails with FULL, as in SQLite's own Unix layer; the
// driver's returns an I/O error. Each file remembers the last error of the
// system, because SQLite loses it while it rolls the transaction back. A page
// of a database that is all zero is damaged. And pages of the WAL are read without
// what was deleted, see clearGap.
type checkedVFS struct{ vfs.VFSFilename }

func init() { vfs.Register(vfsName, osVFS()) }

func osVFS() checkedVFS { return checkedVFS{vfs.Find("os").(vfs.VFSFilename)} }

// OpenFilename implements vfs.VFSFilename.
func (v checkedVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if flags&vfs.OPEN_WAL != 0 && name.URIParameter("mode") == "ro" { // SQLite would open it for writing, too
		flags = flags&^(vfs.OPEN_READWRITE|vfs.OPEN_CREATE) | vfs.OPEN_READONLY
	}
	opened, flags, err := v.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, diskFull(err)
	}
	f := &checkedFile{
		File: opened, name: name.String(),
		database: flags&vfs.OPEN_MAIN_DB != 0, wal: flags&vfs.OPEN_WAL != 0, vacuum: name.URIParameter("vacuum") != "",
	}
	f.checksums = f.vacuum
	return f, flags, nil
}

// diskFull adds FULL to an error that means that the disk is full. It must not be
// used for Sync: by then the write may be on the disk, and FULL promises that it
// is not.
func diskFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return vfs.SystemError(err, sqlite3.FULL)
	}
	return err
}

// checkedFile passes on what SQLite asks of the operating system's files. It has no
// memory mapping: pages that are mapped are not verified by their checksums,
// and the driver panics where a database with checksums could be mapped.
type checkedFile struct {
	vfs.File
	name      string
	database  bool
	wal       bool
	vacuum    bool  // VACUUM writes it: pages may come before the header that tells the driver of their checksums
	checksums bool  // its pages have them
	lastErr   error // of the system; used by one connection, and so by one goroutine at a time
}

// record remembers an error, with the name of the file in it.
func (f *checkedFile) record(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if named := (*fs.PathError)(nil); !errors.As(err, &named) {
		err = &fs.PathError{Op: op, Path: f.name, Err: err}
	}
	f.lastErr = err
	return err
}

func (f *checkedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if f.database && off == 0 && n >= headerBytes {
		var ok bool
		if f.checksums, ok = hasChecksums(p); !ok {
			return 0, sqlite3.IOERR_DATA
		}
	}
	if f.database && f.checksums && n == pageBytes && !checkZeros(p) {
		return 0, sqlite3.IOERR_DATA
	}
	if f.wal && n == pageBytes { // recovery, which verifies frames, reads them with their headers
		clearGap(p)
	}
	return n, f.record("read", err)
}

// maxPages keeps the first byte of an overflow page, which begins with the number of another page, from being that of
// a B-tree page.
const maxPages = 1<<25 - 1

// clearGap zeroes what is between the pointers and the cells of a B-tree page: SQLite leaves there, in spite of
// secure_delete, what it has moved to another page. All that gets into the database is read from the WAL first, but for
// what VACUUM writes.
func clearGap(page []byte) {
	var start int
	switch page[0] {
	case 2, 5: // interior
		start = 12
	case 10, 13: // leaf
		start = 8
	default:
		return
	}
	start += 2 * int(binary.BigEndian.Uint16(page[3:]))
	if end := int(binary.BigEndian.Uint16(page[5:])); start < end && end <= len(page) {
		clear(page[start:end])
	}
}

func (f *checkedFile) WriteAt(p []byte, off int64) (int, error) {
	if f.database && len(p) == pageBytes {
		p = f.withChecksum(p, off)
	}
	n, err := f.File.WriteAt(p, off)
	return n, diskFull(f.record("write", err))
}

// withChecksum returns a page as it is on the disk.
func (f *checkedFile) withChecksum(page []byte, off int64) []byte {
	if off == 0 {
		f.checksums, _ = hasChecksums(page)
	}
	content := page[:pageBytes-checksumBytes]
	if f.vacuum || f.checksums && isZero(content) {
		content = bytes.Clone(content)
		if f.vacuum { // it has no WAL
			clearGap(content)
		}
		return append(content, checksum(content)...)
	}
	return page
}

func (f *checkedFile) Truncate(size int64) error {
	return diskFull(f.record("truncate", f.File.Truncate(size)))
}
func (f *checkedFile) Sync(flags vfs.SyncFlag) error { return f.record("sync", f.File.Sync(flags)) }

func (f *checkedFile) SizeHint(size int64) error { return diskFull(vfsutil.WrapSizeHint(f.File, size)) }

func (f *checkedFile) Unwrap() vfs.File               { return f.File }
func (f *checkedFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }
func (f *checkedFile) BeginAtomicWrite() error        { return vfsutil.WrapBeginAtomicWrite(f.File) }

func (f *checkedFile) CommitAtomicWrite() error { return vfsutil.WrapCommitAtomicWrite(f.File) }

func (f *checkedFile) RollbackAtomicWrite() error { return vfsutil.WrapRollbackAtomicWrite(f.File) }

// systemError returns the last error of the system on the files of a connection,
// and forgets it; nil if there was none.
func systemError(conn *sqlite3.Conn) error {
	var failed []error
	for _, op := range []sqlite3.FcntlOpcode{sqlite3.FCNTL_FILE_POINTER, sqlite3.FCNTL_JOURNAL_POINTER} {
		opened, _ := conn.FileControl("main", op)
		if f, ok := opened.(vfs.File); ok {
			if f, ok := vfsutil.UnwrapFile[*checkedFile](f); ok {
				failed = append(failed, f.lastErr)
				f.lastErr = nil
			}
		}
	}
	return cmp.Or(failed...)
}

// Every page of a database ends with a checksum over what is before it. The
// driver writes and verifies it in databases that reserve these bytes in each
// page, which their header tells. The driver's checksum of a page of zeros is zero,
// too, but a page that a disk has lost may read as zeros: on the disk the checksum
// of such a page is zeroSum, and a page that is all zero is damaged.
const (
	checksumBytes = 8
	pageBytes     = 4096
	headerBytes   = 100 // of the first page
)

// Where the header has the number of reserved bytes, and the application's id.
const (
	reservedOffset    = 20
	applicationOffset = 68
)

var (
	zeroPage [pageBytes]byte
	zeroSum  = bytes.Repeat([]byte{0xff}, checksumBytes)
)

// requestChecksums makes a database that is written for the first time, or
// copied by VACUUM, have checksums. It does not change one that is there.
func requestChecksums(conn *connection) error {
	_, err := conn.FileControl("main", sqlite3.FCNTL_RESERVE_BYTES, checksumBytes)
	return err
}

// hasChecksums reports whether the header of a database says that its pages have
// checksums. ok is false for a database of Formulary's that says otherwise: its
// header is damaged, and no page would be verified.
func hasChecksums(header []byte) (has, ok bool) {
	has = header[reservedOffset] == checksumBytes
	return has, has || binary.BigEndian.Uint32(header[applicationOffset:]) != applicationID
}

// checkZeros turns zeroSum, in a page that was read, into what the driver
// expects. It reports whether the page may be what was written.
func checkZeros(page []byte) (ok bool) {
	content, sum := page[:pageBytes-checksumBytes], page[pageBytes-checksumBytes:]
	if !isZero(content) {
		return true // the driver verifies it
	}
	ok = bytes.Equal(sum, zeroSum)
	clear(sum)
	return ok
}

func isZero(content []byte) bool { return bytes.Equal(content, zeroPage[:len(content)]) }

// checksum is that of a page without its last bytes, as it is on the disk.
func checksum(content []byte) []byte {
	if isZero(content) {
		return zeroSum
	}
	var a, b uint32
	for number := binary.LittleEndian.Uint32; len(content) > 0; content = content[8:] {
		a += number(content) + b
		b += number(content[4:]) + a
	}
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, a), b)
}
