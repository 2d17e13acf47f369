package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

const (
	// ChunkBytes is the size of every chunk but the last. It can't be changed:
	// where a byte is found is computed from it.
	ChunkBytes = 64 << 10

	// stagedFor is how long a file may stay without a further chunk and
	// without a submission.
	stagedFor = time.Hour

	// sweepEvery is how often to look for such files.
	sweepEvery = time.Minute

	// RemoveChunks is how many chunks RemoveSome removes. It is more than the
	// one that is staged meanwhile: see maxMarked.
	RemoveChunks = 4

	// maxMarked is how many chunks (64 MiB) may be marked before uploads have
	// to remove some of them: for each chunk that is staged, RemoveChunks are
	// removed. So uploads that are refused can't fill the disk.
	maxMarked = 64 << 20 / ChunkBytes
)

// FileEngine stores files in chunks. Each method is a short transaction of its
// own. The data of a chunk ends with its checksum, of which an engine knows
// nothing.
//
// A file that belongs to no submission is staged, or it is marked for removal.
// What is marked gets no further chunk, and can't be named by a submission.
type FileEngine interface {
	// Get is that of store.Store.
	Get(ctx context.Context, key store.Key) (forms.Submission, error)

	// StageChunk adds a chunk to a file. Number 0 begins the file; further ones
	// return ErrNoFile if it is not staged any more. An empty file has one call
	// with number 0 and no data.
	StageChunk(ctx context.Context, id, number int64, data []byte) error

	// ReadChunk is a ReadChunk.
	ReadChunk(ctx context.Context, id, number int64, buf []byte) (int, error)

	// MarkRemoved marks a file for removal if it is staged.
	MarkRemoved(ctx context.Context, id int64) error

	// Touch tells that the uploads of staged files go on.
	Touch(ctx context.Context, ids []int64) error

	// MarkStale marks staged files without a new chunk or a Touch for that long.
	MarkStale(ctx context.Context, age time.Duration) error

	// RemoveSome removes RemoveChunks chunks of a marked file that is not among
	// those being read, if more than that many chunks are marked. It returns
	// false when there is nothing to remove.
	RemoveSome(ctx context.Context, moreThan int, reading []int64) (more bool, err error)
}

// Files implements store.Files on an engine. It splits files into chunks, writes
// one chunk at a time, and removes files that belong to no submission.
type Files struct {
	engine  FileEngine
	log     *slog.Logger
	turn    chan struct{} // holds one element while a chunk is written or removed
	wake    chan struct{}
	stop    context.CancelFunc // set by StartSweeping
	stopped chan struct{}

	mu       sync.Mutex
	unmarked map[int64]bool            // files to be marked for removal, which has failed so far
	staged   map[int64]context.Context // files whose request may go on, with its context
	readers  map[int64]int             // how many readers a file has
	skipped  bool                      // a sweep may have left out files with readers
}

// NewFiles returns the files of an engine. StartSweeping begins to remove files.
func NewFiles(engine FileEngine, log *slog.Logger) *Files {
	return &Files{
		engine: engine, log: log, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		stopped:  make(chan struct{}),
		unmarked: map[int64]bool{}, staged: map[int64]context.Context{}, readers: map[int64]int{},
	}
}

// buffers are for chunks that are written or read.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

type buffer [ChunkBytes + sumBytes]byte

// sumBytes is the length of the checksum that follows the data of a chunk.
const sumBytes = crc32.Size

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendSum appends the checksum of a chunk. It covers the chunk's key, so that a
// chunk under the key of another is noticed, too.
func appendSum(data []byte, id, number int64) []byte {
	var key [16]byte
	binary.BigEndian.PutUint64(key[:], uint64(id))      //nolint:gosec // a bijection is all that is needed
	binary.BigEndian.PutUint64(key[8:], uint64(number)) //nolint:gosec // the same
	sum := crc32.Update(crc32.Checksum(key[:], castagnoli), castagnoli, data)
	return binary.BigEndian.AppendUint32(data, sum)
}

// newID returns a random id. With 63 bits none comes twice, on whatever replica
// or in whatever copy of a store.
func newID() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) >> 1)
}

// StageFile implements store.Files.
func (c *Files) StageFile(ctx context.Context, r io.Reader) (forms.StoredFile, error) {
	f := forms.StoredFile{ID: newID()}
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	hash := sha256.New()
	for number := int64(0); ; number++ {
		n, readErr := io.ReadFull(r, buf[:ChunkBytes])
		ended := errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF)
		if readErr != nil && !ended {
			c.abandon(ctx, f.ID, number)
			return forms.StoredFile{}, readErr
		}
		if n > 0 || number == 0 {
			var data []byte // an empty file has no checksum
			if n > 0 {
				data = appendSum(buf[:n], f.ID, number)
			}
			err := c.inTurn(ctx, func() error {
				if _, err := c.engine.RemoveSome(ctx, maxMarked, c.beingRead()); err != nil {
					return err
				}
				return c.engine.StageChunk(ctx, f.ID, number, data)
			})
			if err != nil {
				c.abandon(ctx, f.ID, number+1)
				return forms.StoredFile{}, fmt.Errorf("stage a file: %w", err)
			}
			hash.Write(buf[:n]) // never fails
			f.Size += int64(n)
		}
		if ended {
			f.SHA256 = hex.EncodeToString(hash.Sum(nil))
			c.mu.Lock()
			c.staged[f.ID] = ctx
			c.mu.Unlock()
			return f, nil
		}
	}
}

// abandon removes what was staged, if anything was.
func (c *Files) abandon(ctx context.Context, id, chunks int64) {
	if chunks == 0 {
		return
	}
	if err := c.engine.MarkRemoved(context.WithoutCancel(ctx), id); err != nil {
		c.mu.Lock()
		c.unmarked[id] = true
		c.mu.Unlock()
	}
	c.SweepSoon()
}

// DropFile implements store.Files.
func (c *Files) DropFile(ctx context.Context, id int64) error {
	if err := c.engine.MarkRemoved(ctx, id); err != nil {
		return fmt.Errorf("drop a file: %w", err)
	}
	c.SweepSoon()
	return nil
}

// inTurn writes or removes chunks. Only one caller does so at a time, so that
// other writers wait for one chunk at most.
func (c *Files) inTurn(ctx context.Context, write func() error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	return write()
}

// DiffFiles compares the files of a submission before and after a change. It
// returns the ids that must be staged, and those that are to be removed.
func DiffFiles(before, after []forms.StoredFile) (added, removed []int64) {
	had := make(map[int64]bool, len(before))
	for _, f := range before {
		had[f.ID] = true
	}
	for _, f := range after {
		if !had[f.ID] { // the second of two with one id is added, too, which will fail
			added = append(added, f.ID)
		}
		had[f.ID] = false
	}
	for _, f := range before {
		if had[f.ID] {
			removed = append(removed, f.ID)
		}
	}
	return added, removed
}

// CheckFile reads a file to its end and compares it with its size and checksum.
func CheckFile(f forms.StoredFile, r io.Reader) error {
	hash := sha256.New()
	size, err := io.Copy(hash, r)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("the content of file %q is not there", f.Name)
	case err != nil:
		return fmt.Errorf("read file %q: %w", f.Name, err)
	case size != f.Size || hex.EncodeToString(hash.Sum(nil)) != f.SHA256:
		return fmt.Errorf("the content of file %q is not what was stored", f.Name)
	}
	return nil
}
