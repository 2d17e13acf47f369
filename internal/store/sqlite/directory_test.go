package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// dirContent returns every file in a directory with its content.
func dirContent(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, e := range entries {
		if e.IsDir() {
			found[e.Name()] = "a directory"
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
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
		"the database without a schema":  {"anonymous.key": "k", FileName: emptyDatabase(t)},
		"a key that was not finished":    {"anonymous.key.new123": "k"},
		"another program's directory":    {"precious.txt": "x", "lost+found": ""},
		"a truncated one beside a copy":  {FileName: "", FileName + ".old": "x"},
		"the log emptied, the key there": {FileName + "-wal": "", FileName + "-shm": "x", "anonymous.key": "k"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range files {
				testkit.WriteFile(t, filepath.Join(dir, file), text)
			}
			mustRefuse(t, dir, filepath.Join(dir, FileName), "missing or empty", "mount its volume", "'formulary restore'", "move ")
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
		"nothing":                   {},
		"a new file system":         {"lost+found": ""},
		"the name of the process":   {pidName: "1\n"},
		"an empty database":         {pidName: "1\n", FileName: ""},
		"a journal":                 {pidName: "1\n", FileName: "", FileName + "-journal": strings.Repeat("\x00", 512)},
		"a database without schema": {pidName: "1\n", FileName: emptyDatabase(t)},
		"an empty log":              {pidName: "1\n", FileName: emptyDatabase(t), FileName + "-wal": "", FileName + "-shm": ""},
		"half a log":                {pidName: "1\n", FileName: emptyDatabase(t), FileName + "-wal": string(log[:5000])},
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

// crash is a VFS that allows some changes of files. Every later change fails, as
// if the process had been killed before it.
type crash struct {
	vfs.VFSFilename
	left int // changes that are still allowed
}

var errCrashed = errors.New("the process is dead")

func (c *crash) change() error {
	if c.left--; c.left < 0 {
		return errCrashed
	}
	return nil
}

func (c *crash) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if flags&vfs.OPEN_CREATE != 0 {
		if err := c.change(); err != nil {
			return nil, flags, err
		}
	}
	f, flags, err := c.VFSFilename.OpenFilename(name, flags)
	return &crashFile{f, c}, flags, err
}

func (c *crash) Delete(name string, syncDir bool) error {
	if err := c.change(); err != nil {
		return err
	}
	return c.VFSFilename.Delete(name, syncDir)
}

type crashFile struct {
	vfs.File
	crash *crash
}

func (f *crashFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }

func (f *crashFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.crash.change(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *crashFile) Truncate(size int64) error {
	if err := f.crash.change(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// TestKilledFirstStart kills a first start before each change that it makes to
// a file. The next one makes the store.
func TestKilledFirstStart(t *testing.T) {
	for changes := 0; ; changes += often(3, 1) {
		dir := t.TempDir()
		name := fmt.Sprint("crash", changes)
		vfs.Register(name, checkedVFS{&crash{osVFS().VFSFilename, changes}})
		s, err := open(ctx, dir, name, Options{})
		vfs.Unregister(name)
		if err == nil {
			_ = s.Close() // which may fail, too
			if changes < 8 {
				t.Errorf("a first start makes no more than %d changes: are they counted?", changes)
			}
			return
		}
		testkit.WriteFile(t, filepath.Join(dir, pidName), "1\n")
		again, err := Open(ctx, dir, Options{})
		if err != nil {
			t.Fatalf("after %d changes: %v", changes, err)
		}
		storetest.Same(t, "the first id", mustCreate(t, again, sample("x")).ID, int64(1))
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNewStoreIsLogged(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []string{`level=INFO msg="made a new store" directory=` + dir + "\n", ""} {
		var log bytes.Buffer
		text := slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
		s, err := Open(ctx, dir, Options{Log: slog.New(text)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		storetest.Same(t, "log", log.String(), want)
	}
}

// The removal of a file does not let a second process in.
func TestLockDoesNotDependOnAFile(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate(t, s, sample("x"))
	if err := os.Remove(filepath.Join(dir, pidName)); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, dir, "in use by another formulary (process unknown)")
	if out, err := taskCommand(t, "open", dir).CombinedOutput(); err == nil {
		t.Errorf("another process opened it, too: %s", out)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, FileName)
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
	if err != nil {
		t.Fatal(err)
	}
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
			if err := restore(ctx, file, dir); err != nil {
				t.Fatal(err)
			}
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
	if err := os.Remove(journal); err != nil {
		t.Fatal(err)
	}
	if err := restore(ctx, file, dir); err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "restored", storetest.Values(t, openStore(t, dir)), held)

	elsewhere := t.TempDir() // on a volume that is not mounted
	if err := os.Symlink(filepath.Join(elsewhere, "none", FileName), filepath.Join(elsewhere, FileName)); err != nil {
		t.Fatal(err)
	}
	wantError(t, restore(ctx, file, elsewhere), "is there already")
}

func TestExists(t *testing.T) {
	dir := t.TempDir()
	wantError(t, Exists(dir), "no store in "+dir)
	testkit.WriteFile(t, filepath.Join(dir, FileName), "")
	wantError(t, Exists(dir), FileName+" is empty")
	openStore(t, dir)
	if err := Exists(dir); err != nil {
		t.Error(err)
	}
}
