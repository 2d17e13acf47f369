package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

func mustStage(t *testing.T, s *Store, size int) forms.StoredFile {
	t.Helper()
	return mustStageBytes(t, s, bytes.Repeat([]byte{'x'}, size))
}

func mustStageBytes(t *testing.T, s *Store, data []byte) forms.StoredFile {
	t.Helper()
	upload, end := context.WithCancel(ctx)
	defer end()
	f, err := s.StageFile(upload, bytes.NewReader(data))
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
func contentsLeft(t *testing.T, s *Store, contents, unattached int) {
	t.Helper()
	want := fmt.Sprint(contents, " ", unattached)
	testkit.Eventually(t, "contents, and those of no submission: "+want, func() bool {
		return writerQuery(t, s, `SELECT (SELECT count(DISTINCT file) FROM file_chunks) || ' ' || (SELECT count(*) FROM staged_files)`) == want
	})
}

// TestUnfinishedUploadsEndWithTheProcess: what no submission names is removed
// at the next start, and so is what a delete had not removed yet.
func TestUnfinishedUploadsEndWithTheProcess(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	kept := mustCreate(t, s, withFile(sample("x"), mustStage(t, s, engine.ChunkBytes+1)))
	mustStage(t, s, 3*engine.ChunkBytes)
	mustStage(t, s, 0)
	contentsLeft(t, s, 2, 2)
	must(t, s.Close())
	s = openStore(t, dir)
	contentsLeft(t, s, 1, 0)
	file, err := s.OpenFile(ctx, keyOf(kept), kept.Files[0].ID)
	must(t, err)
	if err := engine.CheckFile(kept.Files[0], file); err != nil {
		t.Error(err)
	}
	storetest.NoErrors(t, "close", []error{file.Close(), file.Close()})
	checkIntegrity(t, s)
}

// TestUploadThatWasGivenUp: a chunk that comes after all is refused, and
// nothing of the upload stays.
func TestUploadThatWasGivenUp(t *testing.T) {
	s := openStore(t, t.TempDir())
	stall := readerFunc(func([]byte) (int, error) {
		onWriter(t, s, func(conn *connection) error { return conn.Exec(`UPDATE staged_files SET removed = 1`) })
		s.SweepSoon()
		contentsLeft(t, s, 0, 0)
		return 0, io.EOF
	})
	chunk := make([]byte, engine.ChunkBytes)
	_, err := s.StageFile(ctx, io.MultiReader(bytes.NewReader(chunk), stall, bytes.NewReader(chunk)))
	testkit.ErrorIs(t, "stage", err, store.ErrNoFile)
	contentsLeft(t, s, 0, 0)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestFullWhileStaging: an upload that finds no room leaves nothing, and the
// room that it had taken can be used.
func TestFullWhileStaging(t *testing.T) {
	s := openStore(t, t.TempDir())
	mustCreate(t, s, sample("x"))
	limitPages(t, s, 300)
	for range 2 {
		_, err := s.StageFile(ctx, bytes.NewReader(make([]byte, 2<<20)))
		mustBeFull(t, "stage", err)
		contentsLeft(t, s, 0, 0)
	}
	mustCreate(t, s, withFile(sample("y"), mustStage(t, s, 2*engine.ChunkBytes)))
	checkIntegrity(t, s)
}

// TestVerifyFiles: contents are compared with their checksums. A backup holds the
// files.
func TestVerifyFiles(t *testing.T) {
	for edit, because := range map[string]string{
		"": "",
		`UPDATE file_chunks SET data = zeroblob(length(data))`:                 "does not match its checksum",
		`UPDATE file_chunks SET data = substr(data, 2) WHERE number = 1`:       "it has 13 bytes",
		`DELETE FROM file_chunks WHERE number = 1`:                             "is not there",
		`UPDATE submissions SET files = '['`:                                   "files",
		`UPDATE submissions SET files = replace(files, '"size":', '"size":1')`: "",
	} {
		dir, restored := t.TempDir(), t.TempDir()
		s := openStore(t, dir)
		mustCreate(t, s, withFile(sample("x"), mustStage(t, s, engine.ChunkBytes+10)))
		mustStage(t, s, 100) // to be left out of account
		must(t, s.Close())
		if edit != "" {
			editFile(t, dir, edit)
		}
		report, err := Verify(ctx, dir, noProgress)
		if edit != "" {
			if because != "" {
				wantError(t, err, because)
			} else if err == nil {
				t.Errorf("%s: no fault was found", edit)
			}
			continue
		}
		storetest.Same(t, "files", report.Files, int64(1))
		file := filepath.Join(t.TempDir(), "backup.db")
		must(t, errors.Join(err, Backup(ctx, dir, file, noProgress)))
		must(t, restore(ctx, file, restored))
		report, err = Verify(ctx, restored, noProgress)
		if err != nil || report.Files != 1 {
			t.Errorf("restored: %+v, %v", report, err)
		}
		contentsLeft(t, openStore(t, restored), 1, 0)
	}
}
