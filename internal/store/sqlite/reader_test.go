package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

func openForReading(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(ctx, dir, Options{ReadOnly: true})
	must(t, err)
	return s
}

func countStored(t *testing.T, s *Store) int {
	t.Helper()
	storetest.Same(t, "by form", len(storetest.Values(t, s)) > 0, true)
	found, err := s.CountForms(ctx, 0, 100)
	must(t, err)
	storetest.Same(t, "listed", len(storetest.Values(t, s)), found[0].Count)
	return found[0].Count
}

func TestReaderBesideAServer(t *testing.T) {
	dir := t.TempDir()
	server := openStore(t, dir)
	mustCreate(t, server, sample("a"))
	reader := openForReading(t, dir)
	storetest.Same(t, "at first", countStored(t, reader), 1)
	mustCreate(t, server, sample("b"))
	storetest.Same(t, "later", countStored(t, reader), 2)
	must(t, reader.Close())
	mustCreate(t, server, sample("c"))
	must(t, server.Close())
	storetest.Same(t, "in the end", len(storetest.Values(t, openStore(t, dir))), 3)
}

// A server that runs as another user could not open files that a reader has made.
func TestReaderOfAClosedStoreMakesNoFiles(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate(t, s, sample("a"))
	must(t, s.Close())
	reader := openForReading(t, dir)
	countStored(t, reader)
	files, err := os.ReadDir(dir)
	must(t, err)
	storetest.Same(t, "files", len(files), 1)
	mustCreate(t, openStore(t, dir), sample("b"))
	wantError(t, reader.Close(), "a server has begun to write")
}

func TestReaderRefuses(t *testing.T) {
	_, err := Open(ctx, t.TempDir(), Options{ReadOnly: true})
	wantError(t, err, "no store in")
	dir := t.TempDir()
	must(t, openStore(t, dir).Close())
	editFile(t, dir, "PRAGMA user_version = 7")
	file := filepath.Join(dir, FileName)
	before, err := os.ReadFile(file)
	must(t, err)
	_, err = Open(ctx, dir, Options{ReadOnly: true})
	wantError(t, err, "it has schema version 7 and this formulary needs version")
	after, err := os.ReadFile(file)
	must(t, err)
	storetest.Same(t, "the file", string(after) == string(before), true)
}

func TestReaderDoesNotWrite(t *testing.T) {
	dir := t.TempDir()
	server := openStore(t, dir)
	n := sample("a")
	n.Definition = forms.NewDefinition("{}")
	made := mustCreate(t, server, n)
	reader := openForReading(t, dir)
	key := store.Key{PageID: made.PageID, FormID: made.FormID, ID: made.ID}
	for what, write := range map[string]func() error{
		"create":  func() error { _, err := reader.Create(ctx, n); return err },
		"delete":  func() error { return reader.Delete(ctx, key, nil) },
		"setting": func() error { _, err := reader.Claim(ctx, "name", "value"); return err },
		"file":    func() error { _, err := reader.StageFile(ctx, strings.NewReader("x")); return err },
		"load":    func() error { return reader.Load(ctx, nil) },
		"clear":   func() error { return reader.Clear(ctx) },
		"ping":    func() error { return reader.Ping(ctx) },
	} {
		testkit.ErrorIs(t, what, write(), errReadOnly)
	}
	found, err := reader.Definition(ctx, key)
	must(t, err)
	storetest.Same(t, "definition", found, n.Definition)
	must(t, reader.Close())
}
