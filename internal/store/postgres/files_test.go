package postgres

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

func mustStage(t *testing.T, s *Store, size int) forms.StoredFile {
	t.Helper()
	upload, end := context.WithCancel(ctx)
	defer end()
	f, err := s.StageFile(upload, bytes.NewReader(bytes.Repeat([]byte{'x'}, size)))
	if err != nil {
		t.Fatalf("stage: %v", err)
	}
	f.FieldID, f.Name = "field", "file"
	return f
}

func withFile(n store.New, f forms.StoredFile) store.New {
	n.Files = []forms.StoredFile{f}
	return n
}

// contentsLeft waits until so many contents have chunks, and so many belong to no submission.
func contentsLeft(t *testing.T, url, want string) {
	t.Helper()
	testkit.Eventually(t, "contents, and those of no submission: "+want, func() bool {
		return queryText(t, url, `SELECT (SELECT count(DISTINCT file) FROM file_chunks) || ' ' || (SELECT count(*) FROM staged_files)`) == want
	})
}

func checkFile(t *testing.T, s *Store, sub forms.Submission) {
	t.Helper()
	file, err := s.OpenFile(ctx, keyOf(sub), sub.Files[0].ID)
	must(t, err)
	if err := errors.Join(engine.CheckFile(sub.Files[0], file), file.Close()); err != nil {
		t.Error(err)
	}
}

// TestReplicasShareFiles: what one replica has staged, another names, reads and
// removes.
func TestReplicasShareFiles(t *testing.T) {
	url := newDatabase(t)
	r := [2]*Store{openStore(t, url), openStore(t, url)}
	sub := mustCreate(t, r[1], withFile(sample("x"), mustStage(t, r[0], 2*engine.ChunkBytes+1)))
	checkFile(t, r[0], sub)
	checkFile(t, r[1], sub)
	must(t, r[0].Delete(ctx, keyOf(sub), nil))
	contentsLeft(t, url, "0 0")
}

// TestStaleUploadsAreRemoved: an upload that was left alone for an hour is
// removed by whichever replica looks first. One that goes on is not, nor one
// that a replica has just begun when another starts.
func TestStaleUploadsAreRemoved(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	stale := mustStage(t, s, 20*engine.ChunkBytes) // more than are removed at once
	exec(t, url, `UPDATE staged_files SET touched = touched - interval '3601 seconds'`)
	fresh := mustStage(t, s, engine.ChunkBytes+1)
	other := openStore(t, url)
	storetest.NoErrors(t, "sweep", storetest.Parallel(4, func(i int) error {
		[]*Store{s, other}[i%2].SweepSoon()
		return nil
	}))
	contentsLeft(t, url, "1 1")
	checkFile(t, other, mustCreate(t, other, withFile(sample("x"), fresh)))
	testkit.ErrorIs(t, "create with a stale file", testkit.ErrorOf(s.Create(ctx, withFile(sample("x"), stale))), store.ErrNoFile)
}

// TestUploadThatGoesOnIsKept: the time of the first chunk does not count.
func TestUploadThatGoesOnIsKept(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	sweep := readerFunc(func([]byte) (int, error) {
		exec(t, url, `UPDATE staged_files SET touched = touched - interval '3601 seconds'`)
		s.SweepSoon()
		testkit.Eventually(t, "the file is touched", func() bool {
			return queryText(t, url, `SELECT count(*)::text FROM staged_files WHERE touched > now() - interval '1 minute'`) == "1"
		})
		return 0, io.EOF
	})
	chunk := make([]byte, engine.ChunkBytes)
	f, err := s.StageFile(ctx, io.MultiReader(bytes.NewReader(chunk), sweep, bytes.NewReader(chunk)))
	must(t, err)
	checkFile(t, s, mustCreate(t, s, withFile(sample("x"), f)))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestUploadsWhileConnectionsAreCut: chunks and creates that are retried are
// stored once.
func TestUploadsWhileConnectionsAreCut(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	cut := readerFunc(func([]byte) (int, error) {
		exec(t, url, terminateOthers)
		return 0, io.EOF
	})
	chunk := make([]byte, engine.ChunkBytes)
	f, err := s.StageFile(ctx, io.MultiReader(bytes.NewReader(chunk), cut, bytes.NewReader(chunk), cut, bytes.NewReader(chunk)))
	must(t, err)
	exec(t, url, terminateOthers)
	checkFile(t, s, mustCreate(t, s, withFile(sample("x"), f)))
	contentsLeft(t, url, "1 0")
}

// twice does what a retry after a lost answer does.
type twice struct{ database }

func (s twice) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	if _, err := s.database.Exec(ctx, sql, args...); err != nil {
		return 0, err
	}
	return s.database.Exec(ctx, sql, args...)
}

func (s twice) Transact(ctx context.Context, statements ...engine.Statement) error {
	return errors.Join(s.database.Transact(ctx, statements...), s.database.Transact(ctx, statements...))
}

// TestChunksAreStoredOnce: the answer about each chunk is lost, and the chunk is sent again.
func TestChunksAreStoredOnce(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	files := engine.NewFiles(twice{database{s}}, slog.Default())
	f, err := files.StageFile(ctx, bytes.NewReader(make([]byte, 2*engine.ChunkBytes)))
	must(t, err)
	checkFile(t, s, mustCreate(t, s, withFile(sample("x"), f)))
}
