package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/transfer"
)

// upload stores a submission with a key and a file.
func upload(t *testing.T, s whole, i int) (forms.Submission, []byte) {
	t.Helper()
	data := bytes.Repeat(fmt.Appendf(nil, "content %d,", i), 1+i*10_000)
	f, err := s.StageFile(t.Context(), bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	f.FieldID, f.Name, f.Type = "text", fmt.Sprint(i, ".txt"), "text/plain"
	sub, err := s.Create(t.Context(), store.New{
		PageID: int64(1 + i%3), FormID: "uploads", Created: time.UnixMilli(0), Files: []forms.StoredFile{f},
		Key: fmt.Sprint("key ", i), Body: "body",
	})
	if err != nil {
		t.Fatal(err)
	}
	return sub, data
}

// changed is a store whose contents are not what was stored: the first byte of
// each differs.
type changed struct{ whole }

func (c changed) StageFile(ctx context.Context, r io.Reader) (forms.StoredFile, error) {
	return c.whole.StageFile(ctx, io.MultiReader(bytes.NewReader([]byte{0}), skip(r)))
}

func skip(r io.Reader) io.Reader {
	_, _ = io.ReadFull(r, make([]byte, 1))
	return r
}

// TestCopyFiles: a copy has the files and keys, and its checksum covers both.
func TestCopyFiles(t *testing.T) {
	pairs(t, func(t *testing.T, from, to whole) {
		const count = 8
		subs, contents := make([]forms.Submission, count), make([][]byte, count)
		for i := range count {
			subs[i], contents[i] = upload(t, from, i)
		}
		result, err := transfer.Copy(t.Context(), from, to, noProgress)
		if err != nil || result.Files != count {
			t.Fatalf("%+v, %v", result, err)
		}
		for i, sub := range subs {
			copied, body, err := to.ByKey(t.Context(), sub.PageID, sub.FormID, fmt.Sprint("key ", i))
			if err != nil || body != "body" || copied.ID != sub.ID {
				t.Fatalf("submission %d by key: %d, %q, %v", sub.ID, copied.ID, body, err)
			}
			want := sub.Files[0]
			want.ID = copied.Files[0].ID
			if copied.Files[0] != want {
				t.Errorf("file %+v, want %+v", copied.Files[0], want)
			}
			file, err := to.OpenFile(t.Context(), store.Key{PageID: sub.PageID, FormID: sub.FormID, ID: sub.ID}, want.ID)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(file)
			if err = errors.Join(err, file.Close()); err != nil || !bytes.Equal(got, contents[i]) {
				t.Errorf("file %d: %d bytes, %v, want %d", i, len(got), err, len(contents[i]))
			}
		}
	})
}

// TestCopyOfChangedFiles: a copy whose files are not those of the source fails.
func TestCopyOfChangedFiles(t *testing.T) {
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			from := engines["sqlite"](t)
			upload(t, from, 1)
			_, err := transfer.Copy(t.Context(), from, changed{open(t)}, noProgress)
			wantInError(t, err, `copy file "1.txt": its content is not what was stored`)
		})
	}
}

func wantInError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %q", err, text)
	}
}
