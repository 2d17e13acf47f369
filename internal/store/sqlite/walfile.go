package sqlite

import "github.com/ncruces/go-sqlite3/vfs"

// walFile is the write-ahead log. SQLite writes it in small pieces, two for
// each page, one right behind the other; walFile hands them on as one write
// when the commit is synced.
//
// Nobody misses what is held back: with synchronous=FULL every commit is
// synced before other connections are told of it, and this one is given what
// it wrote, because everything but a write that goes on where the last one
// ended writes down what is held first.
type walFile struct {
	*file
	held []byte
	off  int64 // where held belongs
}

// maxHeld bounds what a large transaction holds back.
const maxHeld = 1 << 20

// WriteAt implements vfs.File.
func (f *walFile) WriteAt(p []byte, off int64) (int, error) {
	if off != f.off+int64(len(f.held)) || len(f.held)+len(p) > maxHeld {
		if err := f.flush(); err != nil {
			return 0, err
		}
		f.off = off
	}
	f.held = append(f.held, p...)
	return len(p), nil
}

// flush writes down what is held. What can't be written is forgotten: SQLite
// is told that it failed, and will write in its place.
func (f *walFile) flush() error {
	if len(f.held) == 0 {
		return nil
	}
	n := len(f.held)
	_, err := f.file.WriteAt(f.held, f.off)
	f.off += int64(n)
	f.held = f.held[:0]
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
