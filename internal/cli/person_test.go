package cli

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// A renamed field is not told as emptied: it has its present id, or is marked if no page is known.
func TestExportOfRenamedField(t *testing.T) {
	ctx := t.Context()
	s, data := enginetest.SQLite.OpenIn(t)
	sub, err := s.Create(ctx, store.New{
		PageID: 1, FormID: "f", Username: "amy", Created: time.UnixMilli(0), Entries: []forms.Entry{{FieldID: "a", Value: "1"}},
	})
	testkit.Must(t, err)
	for i, id := range []string{"a", "b"} {
		testkit.Must(t, testkit.ErrorOf(s.Update(ctx, store.Key{PageID: 1, FormID: "f", ID: sub.ID}, func(old forms.Submission) (store.Change, error) {
			values, err := old.Values()
			now := time.UnixMilli(int64(i + 1))
			return store.Change{
				Entries: []forms.Entry{{FieldID: id, Value: fmt.Sprint(i + 2)}}, Changed: now, Changer: "amy",
				Step: &store.Step{At: now, Username: "amy", Before: map[string]string{id: values["a"]}},
			}, err
		})))
	}
	site := filepath.Join(t.TempDir(), "pages")
	testkit.Must(t, os.Mkdir(site, 0o700))
	testkit.WriteFile(t, filepath.Join(site, "1.md"), "```yaml form\nform: f\nfields:\n  - {id: b, was: a, type: textfield, label: B}\n```\n")
	for directory, want := range map[string][]string{
		"":                                {`"a","before":"1","after":"","renamed":true}`, `"b","before":"2","after":"3"}`},
		site:                              {`"b","before":"1","after":"2"}`, `"b","before":"2","after":"3"}`},
		"confluence+https://wiki.invalid": {`"a","before":"1","after":"","renamed":true}`, `"b","before":"2","after":"3"}`},
	} {
		file := filepath.Join(t.TempDir(), "amy.zip")
		if code, said := run(ctx, "person", "amy", "--data", data, "--export", file, "--pages", directory); code != 0 {
			t.Fatal(said)
		}
		archive, err := zip.OpenReader(file)
		testkit.Must(t, err)
		history, err := fs.ReadFile(archive, "history.ndjson")
		testkit.Must(t, errors.Join(err, archive.Close()))
		steps := strings.Split(string(history), "\n")
		if len(steps) != 3 || !strings.Contains(steps[0], want[0]) || !strings.Contains(steps[1], want[1]) {
			t.Errorf("with the pages in %q: %q", directory, steps)
		}
	}
	// Pages are of no use to an erasure: the environment of a server may name them.
	if code, said := run(ctx, "person", "amy", "--data", data, "--erase", "--dry-run", "--pages", site+"/none"); code != 0 {
		t.Error(said)
	}
}
