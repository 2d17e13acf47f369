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

// ReadChunk copies the data of a chunk to buf and returns its length. The error
// is ErrNotFound if the chunk is not there.
type ReadChunk func(ctx context.Context, id, number int64, buf []byte) (int, error)

// reader reads a file chunk by chunk. It holds one chunk in memory, and
// nothing of the engine.
type reader struct {
	ctx    context.Context //nolint:containedctx // io.Reader has no room for it
	read   ReadChunk
	file   forms.StoredFile
	offset int64
	buf    *buffer // nil until the first read, and after Close
	number int64   // of the chunk in buf
	closed bool
	done   func() // called by Close; may be nil
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
		return &reader{ctx: ctx, read: c.engine.ReadChunk, file: sub.Files[i], done: func() { c.endRead(id) }}, nil
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

// OpenContent returns a reader of a file that can't be removed meanwhile.
func OpenContent(ctx context.Context, f forms.StoredFile, read ReadChunk) io.ReadSeekCloser {
	return &reader{ctx: ctx, read: read, file: f}
}

var errClosed = errors.New("the file is closed")

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	switch {
	case r.closed:
		return 0, errClosed
	case r.offset >= r.file.Size:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	chunk, err := r.chunk(r.offset / ChunkBytes)
	if err != nil {
		return 0, err
	}
	n := copy(p, chunk[r.offset%ChunkBytes:])
	r.offset += int64(n)
	return n, nil
}

// chunk returns a chunk, which may be the one that was read last.
func (r *reader) chunk(number int64) ([]byte, error) {
	length := int(min(ChunkBytes, r.file.Size-number*ChunkBytes))
	if r.buf != nil && r.number == number {
		return r.buf[:length], nil
	}
	buf := r.buf
	if buf == nil {
		buf = buffers.Get().(*buffer)
	}
	r.buf = nil // until it holds a whole chunk
	n, err := r.read(r.ctx, r.file.ID, number, buf[:])
	if err == nil {
		err = r.check(number, buf[:n], length)
	}
	if err != nil {
		buffers.Put(buf)
		return nil, fmt.Errorf("read chunk %d of a file: %w", number, err)
	}
	r.buf, r.number = buf, number
	return buf[:length], nil
}

// check verifies a chunk: PostgreSQL does not notice by itself what a disk has
// changed, unless its own checksums are enabled.
func (r *reader) check(number int64, chunk []byte, length int) error {
	if len(chunk) != length+sumBytes {
		return fmt.Errorf("it has %d bytes, want %d: the database is damaged", len(chunk), length+sumBytes)
	}
	stored := [sumBytes]byte(chunk[length:])
	if sum := appendSum(chunk[:length], r.file.ID, number)[length:]; [sumBytes]byte(sum) != stored {
		return errors.New("it does not match its checksum: the database is damaged")
	}
	return nil
}

// Seek implements io.Seeker.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.file.Size
	case io.SeekStart:
	default:
		return 0, fmt.Errorf("seek: unknown whence %d", whence)
	}
	if r.closed {
		return 0, errClosed
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning of the file")
	}
	r.offset = offset
	return offset, nil
}

// Close implements io.Closer. It may be called again.
func (r *reader) Close() error {
	if !r.closed && r.done != nil {
		r.done()
	}
	r.closed = true
	if r.buf != nil {
		buffers.Put(r.buf)
		r.buf = nil
	}
	return nil
}
