package content

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/formulary/formulary/internal/forms"
)

// ReadChunk copies a chunk of a content to buf and returns its length.
type ReadChunk func(ctx context.Context, id, number int64, buf []byte) (int, error)

// reader reads a content chunk by chunk. It holds one chunk in memory, and
// nothing of the engine.
type reader struct {
	ctx    context.Context //nolint:containedctx // io.Reader has no room for it
	read   ReadChunk
	file   forms.StoredFile
	offset int64
	buf    *[ChunkBytes]byte // nil until the first read, and after Close
	number int64             // of the chunk in buf
	hash   hash.Hash         // of the chunks before hashed; nil until the first was read
	hashed int64
	closed bool
}

// Open returns a reader of a content.
func Open(ctx context.Context, f forms.StoredFile, read ReadChunk) io.ReadSeekCloser {
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
		buf = buffers.Get().(*[ChunkBytes]byte)
	}
	r.buf = nil // until it holds a whole chunk
	n, err := r.read(r.ctx, r.file.ID, number, buf[:])
	if err == nil && n != length {
		err = fmt.Errorf("it has %d bytes, want %d: the database is damaged", n, length)
	}
	if err == nil {
		err = r.check(number, buf[:length])
	}
	if err != nil {
		buffers.Put(buf)
		return nil, fmt.Errorf("read chunk %d of a file: %w", number, err)
	}
	r.buf, r.number = buf, number
	return buf[:length], nil
}

// check compares a content that is read from its first chunk to its last with
// its checksum. Not every engine notices by itself what a disk has damaged.
func (r *reader) check(number int64, chunk []byte) error {
	if number == 0 {
		r.hash, r.hashed = sha256.New(), 0
	}
	if r.hash == nil || number != r.hashed {
		return nil
	}
	r.hash.Write(chunk) // never fails
	r.hashed++
	if r.hashed*ChunkBytes >= r.file.Size && hex.EncodeToString(r.hash.Sum(nil)) != r.file.SHA256 {
		return errors.New("the content is not what was stored: the database is damaged")
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
	r.closed = true
	if r.buf != nil {
		buffers.Put(r.buf)
		r.buf = nil
	}
	return nil
}
