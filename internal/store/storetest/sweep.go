package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
)

var sweepTests = []test{
	{"an upload that was left alone is removed, one that goes on is not", testStaleUploads},
	{"a file stays staged as long as its request goes on", testLongUpload},
	{"a file stays as long as it is read", testFilesStayWhileRead},
	{"deleted files are gone after a purge", testPurge},
}

// filesLeft waits until so many files have chunks, and so many belong to no submission.
func (b *bench) filesLeft(t *testing.T, files, unattached int) {
	t.Helper()
	const count = `SELECT (SELECT count(DISTINCT file) FROM file_chunks) || ' ' || (SELECT count(*) FROM staged_files)`
	want := fmt.Sprint(files, " ", unattached)
	testkit.Eventually(t, "files, and those of no submission: "+want, func() bool { return b.sql(t, b.Engine, b.dir, count) == want })
}

// Age is a name for the statement that makes all staged files two hours older.
const Age = "age"

// sweepAged removes what is stale, two hours later.
func (b *bench) sweepAged(t *testing.T) {
	t.Helper()
	b.sql(t, b.Engine, b.dir, Age)
	b.Engine.(interface{ SweepSoon() }).SweepSoon()
}

// stageEnded stages a file by a request that has ended.
func (b *bench) stageEnded(t *testing.T, name string, data []byte) forms.StoredFile {
	t.Helper()
	upload, end := context.WithCancel(ctx)
	defer end()
	return b.stageBy(t, upload, name, data)
}

func testStaleUploads(t *testing.T, b *bench) {
	stale := b.stageEnded(t, "stale", noise(20*chunkSize)) // more than is removed at once
	first, rest := noise(chunkSize), noise(chunkSize)
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	uploaded := forms.StoredFile{}
	go func() {
		var err error
		uploaded, err = b.StageFile(ctx, reader)
		done <- err
	}()
	b.sql(t, b.Engine, b.dir, Age)
	if _, err := writer.Write(first); err != nil {
		t.Fatal(err)
	}
	b.filesLeft(t, 2, 2)
	b.Engine.(interface{ SweepSoon() }).SweepSoon()
	b.filesLeft(t, 1, 1)
	if _, err := writer.Write(rest); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writer.Close(), <-done); err != nil {
		t.Fatalf("the upload that went on: %v", err)
	}
	r := b.create(t, withFiles(sample("form", "amy", "x"), uploaded))
	b.checkFile(t, r.key(), uploaded, append(first, rest...))
	b.filesLeft(t, 1, 0)
	b.notStaged(t, "a stale file", stale)
}

func testLongUpload(t *testing.T, b *bench) {
	upload, end := context.WithCancel(ctx)
	defer end()
	first := b.stageBy(t, upload, "first", noise(2*chunkSize))
	for range 3 {
		b.stageEnded(t, "other", noise(chunkSize)) // when it is gone, a sweep has been there
		b.sweepAged(t)
		b.filesLeft(t, 1, 1)
	}
	b.create(t, withFiles(sample("form", "amy", "x"), first))
	b.stageBy(t, upload, "second", noise(10))
	end()
	b.sweepAged(t)
	b.filesLeft(t, 1, 0)
}

func testFilesStayWhileRead(t *testing.T, b *bench) {
	r := b.create(t, withFiles(sample("form", "amy", "x"), b.stage(t, "a", noise(2*chunkSize))))
	var readers [2]io.Closer
	for i := range readers {
		readers[i] = b.openFile(t, r.key(), r.Files[0].ID)
	}
	b.delete(t, r.key())
	b.DropFile(b.stageEnded(t, "other", noise(chunkSize)).ID) // when it is gone, a sweep has been there
	for range 2 {
		b.filesLeft(t, 1, 1)
		if err := errors.Join(readers[0].Close(), readers[0].Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := readers[1].Close(); err != nil {
		t.Fatal(err)
	}
	b.filesLeft(t, 0, 0)
}

func testPurge(t *testing.T, b *bench) {
	large := b.stage(t, "large", noise(40*chunkSize)) // more than is removed at once
	r, kept := b.create(t, withFiles(sample("form", "amy", "x"), large)), b.create(t, withFiles(sample("form", "amy", "x"), b.stage(t, "kept", noise(10))))
	b.delete(t, r.key())
	if err := b.Purge(ctx); err != nil {
		t.Fatal(err)
	}
	const count = `SELECT count(*) || '' FROM file_chunks`
	Same(t, "chunks", b.sql(t, b.Engine, b.dir, count), "1")
	if err := b.openFile(t, kept.key(), kept.Files[0].ID).Close(); err != nil {
		t.Error(err)
	}
}
