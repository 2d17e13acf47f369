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
	"sync/atomic"
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

	// touchEvery is how often to touch the files of uploads that go on. Each change leaves a dead row on PostgreSQL.
	touchEvery = time.Minute

	// removeChunks is how many chunks are removed at once. It is more than the
	// one that is staged meanwhile: see maxMarked.
	removeChunks = 4

	// maxMarked is how many chunks (64 MiB) may be marked before uploads have
	// to remove some of them: for each chunk that is staged, removeChunks are
	// removed. So uploads that are refused can't fill the disk.
	maxMarked = 64 << 20 / ChunkBytes

	// freeChunks is after how many removed chunks (16 MiB) FreeRoom is called.
	freeChunks = 256

	// maxDropped bounds how many files are remembered until they are marked. Others are removed when they are stale.
	maxDropped = 100_000
)

// The statements of files. A file that belongs to no submission is staged, or it is marked for removal. What is marked
// gets no further chunk, and can't be named by a submission. The data of a chunk ends with its checksum.
const (
	sqlStageFile = `INSERT INTO staged_files (id, touched, removed) VALUES ($1, {touched}, false) ON CONFLICT DO NOTHING`
	// sqlStageChunk replaces a chunk that was stored before the connection was lost.
	sqlStageChunk = `INSERT INTO file_chunks (file, number, data)
		SELECT id, $2, $3 FROM staged_files WHERE id = $1 AND NOT removed{locked}
		ON CONFLICT (file, number) DO UPDATE SET data = excluded.data`
	sqlChunk       = `SELECT data FROM file_chunks WHERE file = $1 AND number = $2`
	sqlMarkRemoved = `UPDATE staged_files SET removed = true WHERE id {in}$1{end}`
	sqlTouch       = `UPDATE staged_files SET touched = {touched} WHERE {stale} AND NOT removed AND id {in}$2{end}`
	sqlMarkStale   = `UPDATE staged_files SET removed = true WHERE {stale} AND NOT removed`

	// sqlNextRemoved returns a marked file that is not among $2, if more than $1 chunks are marked. It counts no
	// more than these. $1 = 0 also finds a file without chunks.
	sqlNextRemoved = `SELECT id FROM staged_files WHERE removed AND NOT id {in}$2{end} AND ($1 = 0 OR $1 < (SELECT count(*) FROM
		(SELECT 1 FROM staged_files m {join} file_chunks ON file = m.id WHERE m.removed LIMIT $1 + 1) AS n)) LIMIT 1`
	sqlRemoveChunks = `DELETE FROM file_chunks WHERE file = $1
		AND number IN (SELECT number FROM file_chunks WHERE file = $1 ORDER BY number LIMIT $2)`
	sqlRemoveFile = `DELETE FROM staged_files WHERE id = $1 AND removed AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE file = $1)`
)

// FileEngine is an engine that stores files.
type FileEngine interface {
	Database
	// Get is that of store.Store.
	Get(ctx context.Context, key store.Key) (forms.Submission, error)
	// CheckRoom returns ErrFull while the rest of the disk is left to submissions without files.
	CheckRoom(ctx context.Context) error
	// FreeRoom makes the room of removed chunks free for new ones.
	FreeRoom(ctx context.Context)
}

// Files implements store.Files on an engine. It splits files into chunks, writes
// one chunk at a time, and removes files that belong to no submission.
type Files struct {
	engine  FileEngine
	log     *slog.Logger
	wake    chan struct{}
	stop    context.CancelFunc // set by StartSweeping
	stopped chan struct{}
	failing atomic.Bool // there may be room for Purge after the next write

	// turn is held while a chunk is written or removed, so that other writers wait for one chunk at most.
	turn    sync.Mutex
	removed int64 // chunks since FreeRoom was called

	mu      sync.Mutex
	uploads map[int64]context.Context // files whose request may go on, with its context
	readers map[int64]int             // how many readers a file has
	dropped []int64                   // files that are to be marked
	skipped bool                      // a sweep may have left out files with readers
}

// NewFiles returns the files of an engine. StartSweeping begins to remove files.
func NewFiles(engine FileEngine, log *slog.Logger) *Files {
	return &Files{
		engine: engine, log: log, wake: make(chan struct{}, 1),
		stopped: make(chan struct{}), uploads: map[int64]context.Context{}, readers: map[int64]int{},
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
	rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) >> 1)
}

// StageFile implements store.Files.
func (c *Files) StageFile(ctx context.Context, r io.Reader) (forms.StoredFile, error) {
	f := forms.StoredFile{ID: newID()}
	c.mu.Lock()
	c.uploads[f.ID] = ctx
	c.mu.Unlock()
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	hash := sha256.New()
	for number := int64(0); ; number++ {
		n, err := io.ReadFull(r, buf[:ChunkBytes])
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if ended {
			err = nil
		}
		if err == nil && (n > 0 || number == 0) {
			hash.Write(buf[:n]) // never fails
			f.Size += int64(n)
			err = Wrap(c.stageChunk(ctx, f.ID, number, buf[:n]), "stage a file")
		}
		if err != nil {
			c.DropFile(f.ID)
			return forms.StoredFile{}, err
		}
		if ended {
			f.SHA256 = hex.EncodeToString(hash.Sum(nil))
			return f, nil
		}
	}
}

// stageChunk adds a chunk to a file. Number 0 begins the file. An empty file has no data and no checksum.
func (c *Files) stageChunk(ctx context.Context, id, number int64, data []byte) error {
	c.turn.Lock()
	defer c.turn.Unlock()
	if _, err := c.removeSome(ctx, maxMarked); err != nil {
		return err
	}
	if err := c.engine.CheckRoom(ctx); err != nil {
		return err
	}
	begin := NewStatement(sqlStageFile, id)
	chunk := NewStatement(sqlStageChunk, id, number, appendSum(data, id, number))
	switch {
	case len(data) == 0:
		return c.engine.Transact(ctx, begin)
	case number == 0:
		return c.engine.Transact(ctx, begin, chunk)
	}
	stored, err := c.engine.Exec(ctx, chunk.SQL, chunk.Args...)
	if err == nil && stored == 0 {
		err = store.ErrNoFile
	}
	return err
}

// DropFile implements store.Files.
func (c *Files) DropFile(id int64) {
	c.mu.Lock()
	delete(c.uploads, id)
	c.drop(id)
	c.mu.Unlock()
	c.SweepSoon()
}

func (c *Files) drop(ids ...int64) {
	if len(c.dropped) < maxDropped {
		c.dropped = append(c.dropped, ids...)
	}
}

// markDropped marks dropped files. A file that can't be marked is tried again.
func (c *Files) markDropped(ctx context.Context) error {
	c.mu.Lock()
	ids := c.dropped
	c.dropped = nil
	c.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	_, err := c.engine.Exec(ctx, sqlMarkRemoved, ids)
	if err != nil {
		c.mu.Lock()
		c.drop(ids...)
		c.mu.Unlock()
	}
	return err
}

// Wrote is called after a write. Files that it has removed, or that an earlier write left because
// the disk was full, are removed soon.
func (c *Files) Wrote(err error, removed bool) {
	if err == nil && (removed || c.failing.Load()) {
		c.SweepSoon()
	}
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
