package sqlite

import "github.com/ncruces/go-sqlite3/vfs"

// walFile is the write-ahead log. SQLite writes it in small pieces, two for
// each page, one right behind the other; walFile buffers them and writes them at
// once when the commit is synced.
//
// The buffer is not visible to other connections. That is safe: with
// synchronous=FULL every commit is synced before other connections learn of it.
// The own connection sees what it wrote, because every call but a write that
// continues the last one flushes the buffer first.
type walFile struct {
	*file
	buffered []byte
	off      int64 // of buffered in the file
}

// maxBuffered bounds the buffer in a large transaction.
const maxBuffered = 1 << 20

// WriteAt implements vfs.File.
func (f *walFile) WriteAt(p []byte, off int64) (int, error) {
	if off != f.off+int64(len(f.buffered)) || len(f.buffered)+len(p) > maxBuffered {
		if err := f.flush(); err != nil {
			return 0, err
		}
		f.off = off
	}
	f.buffered = append(f.buffered, p...)
	return len(p), nil
}

// flush writes the buffer. It also empties the buffer when the write fails:
// SQLite gets the error, and will write to the same offset again.
func (f *walFile) flush() error {
	if len(f.buffered) == 0 {
		return nil
	}
	n := len(f.buffered)
	_, err := f.file.WriteAt(f.buffered, f.off)
	f.off += int64(n)
	f.buffered = f.buffered[:0]
	return err
}

// ReadAt implements vfs.File.
func (f *walFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.file.ReadAt(p, off)
}

// Sync implements vfs.File.
func (f *walFile) Sync(flags vfs.SyncFlag) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.file.Sync(flags)
}

// Size implements vfs.File.
func (f *walFile) Size() (int64, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.file.Size()
}

// Truncate implements vfs.File.
func (f *walFile) Truncate(size int64) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.file.Truncate(size)
}

// Close implements vfs.File.
func (f *walFile) Close() error {
	err := f.flush()
	if closeErr := f.file.Close(); err == nil {
		err = closeErr
	}
	return err
}
