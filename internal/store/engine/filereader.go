package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// chunkReader is an io.ReaderAt of a file. It holds one chunk in memory, and
// nothing of the engine.
type chunkReader struct {
	ctx    context.Context //nolint:containedctx // io.ReaderAt has no room for it
	db     Querier
	file   forms.StoredFile
	buf    *buffer // nil until the first read, and after Close
	number int64   // of the chunk in buf; -1 if there is none
	closed bool
	done   func() // called by Close
}

// OpenContent returns a reader of a file, which calls done when it is closed.
func OpenContent(ctx context.Context, f forms.StoredFile, db Querier, done func()) io.ReadSeekCloser {
	r := &chunkReader{ctx: ctx, db: db, file: f, done: done}
	return struct {
		*io.SectionReader
		io.Closer
	}{io.NewSectionReader(r, 0, f.Size), r}
}

// OpenFile implements store.Files. The file counts as being read before the
// submission is read: if that still has the file, it stays until the reader is
// closed.
func (c *Files) OpenFile(ctx context.Context, key store.Key, id int64) (io.ReadSeekCloser, error) {
	c.mu.Lock()
	c.readers[id]++
	c.mu.Unlock()
	sub, err := c.engine.Get(ctx, key)
	i := slices.IndexFunc(sub.Files, func(f forms.StoredFile) bool { return f.ID == id })
	if err == nil && i >= 0 {
		return OpenContent(ctx, sub.Files[i], c.engine, func() { c.endRead(id) }), nil
	}
	c.endRead(id)
	return nil, cmp.Or(err, store.ErrNotFound)
}

func (c *Files) endRead(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readers[id]--; c.readers[id] > 0 {
		return
	}
	delete(c.readers, id)
	if c.skipped {
		c.skipped = false
		c.SweepSoon()
	}
}

// ReadAt implements io.ReaderAt, within the file.
func (r *chunkReader) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		at := offset + int64(n)
		chunk, err := r.chunk(at / ChunkBytes)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], chunk[at%ChunkBytes:])
	}
	return n, nil
}

// chunk returns a chunk, which may be the one that was read last.
func (r *chunkReader) chunk(number int64) ([]byte, error) {
	length := int(min(ChunkBytes, r.file.Size-number*ChunkBytes))
	switch {
	case r.closed:
		return nil, errors.New("the file is closed")
	case r.buf == nil:
		r.buf = buffers.Get().(*buffer)
	case r.number == number:
		return r.buf[:length], nil
	}
	r.number = -1
	data := r.buf[:]
	err := QueryRow(r.ctx, r.db, []any{&data}, sqlChunk, r.file.ID, number)
	if err == nil {
		err = r.check(number, data, length)
	}
	if err != nil {
		return nil, fmt.Errorf("read chunk %d of a file: %w", number, err)
	}
	r.number = number
	return r.buf[:length], nil
}

// check verifies a chunk: PostgreSQL does not notice by itself what a disk has
// changed, unless its own checksums are enabled.
func (r *chunkReader) check(number int64, chunk []byte, length int) error {
	if len(chunk) != length+sumBytes {
		return fmt.Errorf("it has %d bytes, want %d: the database is damaged", len(chunk), length+sumBytes)
	}
	stored := [sumBytes]byte(chunk[length:])
	if sum := appendSum(chunk[:length], r.file.ID, number)[length:]; [sumBytes]byte(sum) != stored {
		return errors.New("it does not match its checksum: the database is damaged")
	}
	return nil
}

// Close implements io.Closer. It may be called again.
func (r *chunkReader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.done()
	if r.buf != nil {
		buffers.Put(r.buf)
		r.buf = nil
	}
	return nil
}
