package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// dirContent returns every file in a directory with its content.
func dirContent(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	found := map[string]string{}
	for _, e := range entries {
		if e.IsDir() {
			found[e.Name()] = "a directory"
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		found[e.Name()] = string(text)
	}
	return found
}

// emptyDatabase is a database without a schema. A first start leaves one when it
// is killed after it has set the journal mode.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	editFile(t, dir, `PRAGMA journal_mode = WAL`)
	text, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil || len(text) == 0 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	return string(text)
}

// A store that is lost is not replaced by a new one.
func TestLostStoreIsRefused(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"the database removed":           {"anonymous.key": "k"},
		"the database truncated":         {"anonymous.key": "k", FileName: ""},
		"a key that was not finished":    {"anonymous.key.new123": "k"},
		"a backup beside it":             {"backup-2026-01-31.db": "x", "lost+found": ""},
		"a young store without its log":  {"anonymous.key": "k", FileName: emptyDatabase(t)},
		"the log emptied, the key there": {FileName + "-wal": "", FileName + "-shm": "x", "anonymous.key": "k"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range files {
				testkit.WriteFile(t, filepath.Join(dir, file), text)
			}
			mustRefuse(t, dir, filepath.Join(dir, FileName), "missing or empty", "mount its volume", "'formulary restore'", " away")
			storetest.Same(t, "files", dirContent(t, dir), files)
		})
	}
}

// What an interrupted first start leaves behind does not keep the next start
// from creating the store.
func TestInterruptedFirstStartGoesOn(t *testing.T) {
	other := t.TempDir()
	openStore(t, other)
	log := leftover(t, other).wal
	for name, files := range map[string]map[string]string{
		"a new file system":         {"lost+found": ""},
		"another file":              {"README": "x"},
		"a journal":                 {FileName: "", FileName + "-journal": strings.Repeat("\x00", 512)},
		"a database without schema": {FileName: emptyDatabase(t)},
		"an empty log":              {FileName: emptyDatabase(t), FileName + "-wal": "", FileName + "-shm": ""},
		"half a log":                {FileName: emptyDatabase(t), FileName + "-wal": string(log[:5000])},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range files {
				testkit.WriteFile(t, filepath.Join(dir, file), text)
			}
			s := openStore(t, dir)
			storetest.Same(t, "the first id", mustCreate(t, s, sample("x")).ID, int64(1))
			checkIntegrity(t, s)
		})
	}
}

// TestKilledFirstStart ends a first start before each change that it makes to
// a file. The next one makes the store.
func TestKilledFirstStart(t *testing.T) {
	for changes := int64(0); ; changes += int64(testkit.Rounds(3, 1)) {
		dir := t.TempDir()
		d := newDisk(t, dir)
		d.changesLeft.Store(changes)
		s, err := open(ctx, dir, d.name, Options{})
		if err == nil {
			_ = s.Close() // which may fail, too
			if changes < 8 {
				t.Errorf("a first start makes no more than %d changes: are they counted?", changes)
			}
			return
		}
		again := openStore(t, dir)
		storetest.Same(t, fmt.Sprint("the first id after ", changes, " changes"), mustCreate(t, again, sample("x")).ID, int64(1))
	}
}

func TestNewStoreIsLogged(t *testing.T) {
	dir := t.TempDir()
	for _, times := range []int{1, 0} {
		s, log := openLogged(t, dir)
		testkit.Same(t, "it is logged times", strings.Count(log.String(), `msg="made a new store" directory=`+dir), times)
		must(t, s.Close())
	}
}

func TestDirectoryThatCannotBeLocked(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EBADF, syscall.ENOTSUP, syscall.EINVAL, syscall.ENOLCK} {
		dir := t.TempDir()
		_, err := flockDir(dir, func(int, int) error { return errno })
		wantError(t, err, "it must be on a local disk")
		wantError(t, err, dir)
		wantFiles(t, dir)
	}
}

// No command takes what a killed restore has left for a store. The next restore
// replaces it.
func TestUnfinishedRestoreIsRefused(t *testing.T) {
	file, held := backedUp(t)
	whole, err := os.ReadFile(file)
	must(t, err)
	for name, written := range map[string]int{"at the beginning": 0, "halfway": len(whole) / 2, "before the rename": len(whole)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			partial := filepath.Join(dir, partialName)
			testkit.WriteFile(t, partial, string(whole[:written]))
			because := "holds a restore that was not finished: run 'formulary restore' again with the same backup, or remove " + partial
			mustRefuse(t, dir, because)
			wantError(t, Exists(dir), because)
			wantError(t, Backup(ctx, dir, filepath.Join(t.TempDir(), "b.db"), noProgress), because)
			_, err := Verify(ctx, dir, noProgress)
			wantError(t, err, because)
			wantFiles(t, dir, partialName)
			must(t, restore(ctx, file, dir))
			wantFiles(t, dir, FileName)
			storetest.Same(t, "restored", storetest.Values(t, openStore(t, dir)), held)
		})
	}
}

// An empty database is no store. But SQLite would apply its journal to the
// restored database.
func TestRestoreAfterAnInterruptedFirstStart(t *testing.T) {
	file, held := backedUp(t)
	dir := t.TempDir()
	testkit.WriteFile(t, filepath.Join(dir, FileName), "")
	journal := filepath.Join(dir, FileName+"-journal")
	testkit.WriteFile(t, journal, strings.Repeat("\x00", 512))
	wantError(t, restore(ctx, file, dir), journal+" is there already")
	must(t, os.Remove(journal))
	must(t, restore(ctx, file, dir))
	storetest.Same(t, "restored", storetest.Values(t, openStore(t, dir)), held)

	elsewhere := t.TempDir() // on a volume that is not mounted
	must(t, os.Symlink(filepath.Join(elsewhere, "none", FileName), filepath.Join(elsewhere, FileName)))
	wantError(t, restore(ctx, file, elsewhere), "is there already")
}
