package cli

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

	"github.com/google/go-cmp/cmp"

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
	p := &person{name: "amy", file: filepath.Join(dir, "amy.zip"), show: func(string, string, int64, int64) {}}
	calls := map[int64]int{}
	p.store = busy{s, func(id int64) {
		calls[id]++
		switch {
		case id == changed.ID && calls[id] == 1:
			create("too late")
			testkit.Must(t, testkit.ErrorOf(s.Update(ctx, changed, func(forms.Submission) (store.Change, error) {
				now := time.UnixMilli(1)
				step := &store.Step{At: now, Username: "amy", Before: map[string]string{"text": "old"}}
				return store.Change{Entries: value("new"), Changed: now, Changer: "amy", Step: step}, nil
			})))
		case id == deleted.ID:
			testkit.Must(t, s.Delete(ctx, deleted, nil))
		}
	}}
	p.store = losing{p.store, replaced}
	testkit.Must(t, p.export(ctx))
	archive, err := zip.OpenReader(p.file)
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
	lines := found["submissions.ndjson"]
	if !strings.Contains(lines, `"new"`) || strings.Contains(lines, "deleted") || strings.Count(lines, `"replaced"`) != 1 {
		t.Errorf("submissions: %s", lines)
	}
	if steps := found["history.ndjson"]; !strings.Contains(steps, `"before":"old","after":"new"`) || strings.Count(steps, "\n") != 1 {
		t.Errorf("history: %s", steps)
	}
	delete(found, "submissions.ndjson")
	delete(found, "history.ndjson")
	if diff := cmp.Diff(map[string]string{fmt.Sprintf("files/%d/2-doc/stays", replaced.ID): "stays"}, found); diff != "" {
		t.Errorf("files: %s", diff)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left beside it: %v, %v", left, err)
	}
	p.file = filepath.Join(p.file, "amy.zip")
	if err := p.export(ctx); !errors.Is(err, syscall.ENOTDIR) || strings.Contains(err.Error(), "is there already") {
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
