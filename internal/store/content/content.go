// Package content stages, reads and removes the contents of files, for every
// engine in the same way. An engine stores chunks; this package splits contents
// into them, writes one at a time, and removes what belongs to no submission any
// more.
package content

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

	// stagedFor is how long a content may stay without a further chunk and
	// without a submission.
	stagedFor = time.Hour

	// sweepEvery is how often to look for such contents.
	sweepEvery = time.Minute

	// RemoveChunks is how many chunks RemoveSome removes. It is more than the
	// one that is staged meanwhile: see maxMarked.
	RemoveChunks = 4

	// maxMarked is how many chunks (64 MiB) may be marked before uploads have
	// to remove some of them: for each chunk that is staged, RemoveChunks are
	// removed. So uploads that are refused can't fill the disk.
	maxMarked = 64 << 20 / ChunkBytes
)

// Engine stores chunks. Each method is a short transaction of its own. The data of
// a chunk ends with its checksum, of which an engine knows nothing.
//
// A content that belongs to no submission is loose: it is staged, or it is
// marked to be removed. What is marked can't be staged again or named.
type Engine interface {
	// StageChunk adds a chunk to a content. Number 0 begins the content;
	// further ones return ErrNoFile if it is not staged any more. A content of
	// no bytes has one call with number 0 and no data.
	StageChunk(ctx context.Context, id, number int64, data []byte) error

	// ReadChunk is a ReadChunk.
	ReadChunk(ctx context.Context, id, number int64, buf []byte) (int, error)

	// MarkLoose marks a content if it is staged.
	MarkLoose(ctx context.Context, id int64) error

	// Touch tells that the uploads of staged contents go on.
	Touch(ctx context.Context, ids []int64) error

	// MarkStale marks staged contents without a new chunk or a Touch for that
	// long.
	MarkStale(ctx context.Context, age time.Duration) error

	// RemoveSome removes RemoveChunks chunks of a marked content that is not
	// among those being read, if more than keep chunks are marked. It returns
	// false when there is nothing to remove.
	RemoveSome(ctx context.Context, keep int, reading []int64) (more bool, err error)
}

// Contents are the contents in one engine.
type Contents struct {
	engine  Engine
	log     *slog.Logger
	turn    chan struct{} // holds one element while a chunk is written or removed
	wake    chan struct{}
	closing chan struct{}
	stopped chan struct{}

	mu       sync.Mutex
	unmarked map[int64]bool            // staged contents to be marked, which has failed so far
	staged   map[int64]context.Context // contents whose upload may go on, with the context of that
	readers  map[int64]int             // how many readers a content has
	skipped  bool                      // a sweep may have left out contents with readers
}

// New returns the contents of an engine. Start begins to remove contents.
func New(engine Engine, log *slog.Logger) *Contents {
	return &Contents{
		engine: engine, log: log, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		closing: make(chan struct{}), stopped: make(chan struct{}),
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
// chunk that is found in the place of another is noticed, too.
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

// Stage implements store.Files.
func (c *Contents) Stage(ctx context.Context, r io.Reader) (forms.StoredFile, error) {
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
			var data []byte // a content of no bytes has no checksum
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
func (c *Contents) abandon(ctx context.Context, id, chunks int64) {
	if chunks == 0 {
		return
	}
	if err := c.engine.MarkLoose(context.WithoutCancel(ctx), id); err != nil {
		c.mu.Lock()
		c.unmarked[id] = true
		c.mu.Unlock()
	}
	c.Wake()
}

// Drop implements store.Files.
func (c *Contents) Drop(ctx context.Context, id int64) error {
	if err := c.engine.MarkLoose(ctx, id); err != nil {
		return fmt.Errorf("drop a file: %w", err)
	}
	c.Wake()
	return nil
}

// inTurn writes or removes chunks. Only one caller does so at a time, so that
// other writers wait for one chunk at most.
func (c *Contents) inTurn(ctx context.Context, write func() error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	return write()
}

// Diff compares the files of a submission before and after a change. It
// returns the ids that must be staged, and those that are to be removed.
func Diff(before, after []forms.StoredFile) (added, removed []int64) {
	had := make(map[int64]bool, len(before))
	for _, f := range before {
		had[f.ID] = true
	}
	for _, f := range after {
		if kept, ok := had[f.ID]; !ok || !kept { // the second of two with one id is an error
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

// Check reads a content to its end and compares it with what is known of it.
func Check(f forms.StoredFile, r io.Reader) error {
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
