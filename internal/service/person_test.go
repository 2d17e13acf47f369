package service

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// busy is a store that others use: they are called after a history was read.
type busy struct {
	store.Engine
	others func(submissionID int64)
}

func (b busy) History(ctx context.Context, id int64) ([]store.Step, error) {
	steps, err := b.Engine.History(ctx, id)
	b.others(id)
	return steps, err
}

// amy is a person whose lines are easy to read.
func amy(s store.Engine) *Person {
	return &Person{
		Service: New(Options{Store: s, Files: s, Now: time.Now}), Name: "amy",
		AppendSubmission: func(dst []byte, sub forms.Submission) ([]byte, error) { return append(dst, sub.Entries...), nil },
		Step: func(_ forms.Submission, s forms.Step) (line []byte) {
			for _, c := range s.Changes {
				line = fmt.Appendf(line, "%s %q %q;", c.FieldID, c.Before, c.After)
			}
			return line
		},
		Show: func(string, string, int64, int64) {},
	}
}

// What is exported of a submission agrees while others write, and what is deleted meanwhile is left out.
func TestExportMeanwhile(t *testing.T) {
	s, ctx, dir := enginetest.SQLite.Open(t), t.Context(), t.TempDir()
	value := func(text string) []forms.Entry { return []forms.Entry{{FieldID: "text", Value: text}} }
	create := func(text string, files ...forms.StoredFile) store.Key {
		sub, err := s.Create(ctx, store.New{PageID: 1, FormID: "f", Username: "amy", Created: time.UnixMilli(0), Entries: value(text), Files: files})
		testkit.Must(t, err)
		return keyOf(sub)
	}
	stage := func(name string) forms.StoredFile {
		f, err := s.StageFile(ctx, strings.NewReader(name))
		testkit.Must(t, err)
		f.FieldID, f.Name = "doc", name
		return f
	}
	changed, deleted := create("old"), create("deleted")
	replaced := create("replaced", stage("gone"), stage("stays"))
	calls := map[int64]int{}
	others := busy{s, func(id int64) {
		calls[id]++
		switch {
		case id == changed.ID && calls[id] == 1:
			create("too late")
			testkit.Must(t, testkit.ErrorOf(s.Update(ctx, changed, func(forms.Submission) (store.Change, error) {
				now := time.UnixMilli(1)
				step := &store.Step{At: now, Username: "amy", Before: map[string]string{"text": "old"}}
				return store.Change{Entries: value("new"), Changed: now, Changer: "amy", Step: step}, nil
			})))
		case id == replaced.ID && calls[id] == 1:
			files := []forms.StoredFile{stage("gone"), stage("stays")}
			testkit.Must(t, testkit.ErrorOf(s.Update(ctx, replaced, func(sub forms.Submission) (store.Change, error) {
				return store.Change{Entries: value("replaced"), Files: files, Changed: sub.Changed, Changer: sub.Changer}, nil
			})))
		case id == deleted.ID:
			testkit.Must(t, s.Delete(ctx, deleted, nil))
		}
	}}
	p, file := amy(losing{others, replaced}), filepath.Join(dir, "amy.zip")
	testkit.Must(t, testkit.ErrorOf(p.Export(ctx, file)))
	found := readZIP(t, file)
	lines := found["submissions.ndjson"]
	if !strings.Contains(lines, `"new"`) || strings.Contains(lines, "deleted") || strings.Count(lines, `"replaced"`) != 1 {
		t.Errorf("submissions: %s", lines)
	}
	if steps := found["history.ndjson"]; !strings.Contains(steps, `text "old" "new"`) || strings.Count(steps, "\n") != 1 {
		t.Errorf("history: %s", steps)
	}
	if calls[replaced.ID] < 2 {
		t.Error("the history was not read again after a file was replaced")
	}
	delete(found, "submissions.ndjson")
	delete(found, "history.ndjson")
	testkit.Diff(t, "files", found, map[string]string{fmt.Sprintf("files/%d/2-doc/stays", replaced.ID): "stays"})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left beside it: %v, %v", left, err)
	}
	if _, err := p.Export(ctx, filepath.Join(file, "amy.zip")); !errors.Is(err, syscall.ENOTDIR) || strings.Contains(err.Error(), "is there already") {
		t.Errorf("to a file in a file: %v", err)
	}
}

// losing has lost the first file of a submission.
type losing struct {
	store.Engine
	key store.Key
}

func (l losing) OpenFile(ctx context.Context, key store.Key, id int64) (io.ReadSeekCloser, error) {
	if sub, err := l.Get(ctx, key); err != nil || key == l.key && sub.Files[0].ID == id {
		return nil, errors.Join(err, store.ErrNotFound)
	}
	return l.Engine.OpenFile(ctx, key, id)
}

// readZIP returns the files of an archive.
func readZIP(t *testing.T, file string) map[string]string {
	t.Helper()
	archive, err := zip.OpenReader(file)
	testkit.Must(t, err)
	defer archive.Close()
	found := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		testkit.Must(t, err)
		text, err := io.ReadAll(r)
		testkit.Must(t, err)
		found[f.Name] = string(text)
	}
	return found
}

// A file that goes while it is copied leaves no archive, rather than one with a part of it.
func TestExportOfFileThatGoes(t *testing.T) {
	s, ctx, dir := enginetest.SQLite.Open(t), t.Context(), t.TempDir()
	file, err := s.StageFile(ctx, strings.NewReader("content"))
	testkit.Must(t, err)
	file.FieldID, file.Name = "doc", "a.txt"
	testkit.Must(t, testkit.ErrorOf(s.Create(ctx, store.New{
		PageID: 1, FormID: "f", Username: "amy", Created: time.UnixMilli(0), Files: []forms.StoredFile{file},
	})))
	if _, err := amy(cutting{s}).Export(ctx, filepath.Join(dir, "amy.zip")); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "run this again") {
		t.Errorf("error: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// cutting is a store whose files go after their first byte was read.
type cutting struct{ store.Engine }

func (c cutting) OpenFile(ctx context.Context, key store.Key, id int64) (io.ReadSeekCloser, error) {
	f, err := c.Engine.OpenFile(ctx, key, id)
	return &cutFile{ReadSeekCloser: f}, err
}

type cutFile struct {
	io.ReadSeekCloser
	gone bool
}

func (f *cutFile) Read(p []byte) (int, error) {
	if f.gone {
		return 0, store.ErrNotFound
	}
	f.gone = true
	return f.ReadSeekCloser.Read(p[:1])
}
