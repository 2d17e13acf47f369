package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

func noProgress(string, string, int64, int64) {}

// restore is Restore without progress.
func restore(ctx context.Context, file, dir string) error { return Restore(ctx, dir, file, noProgress) }

// mustBackUp returns a backup of the store in a directory.
func mustBackUp(t *testing.T, dir string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "backup.db")
	must(t, Backup(ctx, dir, file, noProgress))
	return file
}

// askedForm is that of all submissions in backedUp.
var askedForm = forms.NewDefinition(`{"formId":"form"}`)

// backedUp is a backup of a store that is open and holds a few submissions.
func backedUp(t *testing.T) (file string, held map[int64]string) {
	t.Helper()
	dir := t.TempDir()
	s := openStore(t, dir)
	for i := range 200 {
		n := sample(strings.Repeat(fmt.Sprint(i, " "), 50))
		n.Definition = askedForm
		mustCreate(t, s, n)
	}
	return mustBackUp(t, dir), storetest.Values(t, s)
}

func TestBackupAndRestore(t *testing.T) {
	file, held := backedUp(t)
	last := map[string][2]int64{}
	dir := filepath.Join(t.TempDir(), "new", "data")
	err := Restore(ctx, dir, file, func(stage, unit string, done, total int64) { last[stage+" "+unit] = [2]int64{done, total} })
	must(t, err)
	bytes := [2]int64{size(file), size(file)}
	storetest.Same(t, "progress", last, map[string][2]int64{"reading bytes": bytes, "checking bytes": bytes, "checking submissions": {200, 200}})
	for _, path := range []string{file, filepath.Join(dir, FileName)} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v; want it readable by its owner only", path, info.Mode(), err)
		}
	}
	s := openStore(t, dir)
	storetest.Same(t, "restored", storetest.Values(t, s), held)
	asked, err := s.Definition(ctx, store.Key{PageID: 1, FormID: "form", ID: 7})
	if err != nil || asked != askedForm {
		t.Errorf("the form of a submission is %v, %v", asked, err)
	}
	if sub := mustCreate(t, s, sample("next")); held[sub.ID] != "" {
		t.Errorf("id %d is given again", sub.ID)
	}
	wantFiles(t, filepath.Dir(file), "backup.db")
}

// wantFiles fails the test unless the directory holds these files only.
func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	storetest.Same(t, "files in "+dir, names, want)
}

func wantError(t *testing.T, err error, because string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), because) {
		t.Errorf("got %v, want %q", err, because)
	}
}

func TestBackupRefused(t *testing.T) {
	dir := t.TempDir()
	mustCreate(t, openStore(t, dir), sample("x"))
	target := t.TempDir()
	file := filepath.Join(target, "backup.db")
	wantError(t, Backup(ctx, filepath.Join(dir, "none"), file, noProgress), "no store in "+filepath.Join(dir, "none"))
	wantError(t, Backup(ctx, dir, filepath.Join(target, "none", "backup.db"), noProgress), "no such file")
	wantFiles(t, target)

	testkit.WriteFile(t, file, "precious")
	wantError(t, Backup(ctx, dir, file, noProgress), file+" is there already")
	if content, err := os.ReadFile(file); err != nil || string(content) != "precious" {
		t.Errorf("the file that was there is %q now, %v", content, err)
	}

	partial := filepath.Join(target, "other.db.partial")
	testkit.WriteFile(t, partial, "left by a crash, or somebody else's just now")
	other := strings.TrimSuffix(partial, ".partial")
	wantError(t, Backup(ctx, dir, other, noProgress), partial+" is there already, from a run that did not finish")
	wantFiles(t, target, "backup.db", "other.db.partial")
}

func TestCancelledBackup(t *testing.T) {
	dir := t.TempDir()
	mustCreate(t, openStore(t, dir), sample("x"))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	target := t.TempDir()
	testkit.ErrorIs(t, "backup", Backup(cancelled, dir, filepath.Join(target, "backup.db"), noProgress), context.Canceled)
	wantFiles(t, target)
	file, _ := backedUp(t)
	restored := t.TempDir()
	testkit.ErrorIs(t, "restore", restore(cancelled, file, restored), context.Canceled)
	wantFiles(t, restored)
}

// TestFlippedBitsInABackup: a backup with one flipped bit is refused, wherever it
// is, and so is a copy of a database with pages that are not in use.
func TestFlippedBitsInABackup(t *testing.T) {
	dir := storeWithFreePages(t)
	copied, backup := filepath.Join(dir, FileName), mustBackUp(t, dir)
	offsets := []int{0, 100, 2000, pageBytes - checksumBytes - 1, pageBytes - checksumBytes, pageBytes - 1}
	for _, file := range []string{backup, copied} {
		must(t, restore(ctx, file, t.TempDir()))
		whole, err := os.ReadFile(file)
		must(t, err)
		var flips []int
		for at := range headerBytes {
			flips = append(flips, at)
		}
		for page := 0; page < len(whole); page += pageBytes {
			for _, offset := range offsets {
				flips = append(flips, page+offset)
			}
		}
		for _, at := range flips {
			if wantDamage(t, file, overwrite(whole, at, []byte{whole[at] ^ 1<<(at%8)})); t.Failed() {
				t.Fatalf("a bit of byte %d of %d was flipped", at, len(whole))
			}
		}
	}
}

// storeWithFreePages is a directory with a store that is closed, and whose
// database has pages that are not in use.
func storeWithFreePages(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate(t, s, sample("stays"))
	large := mustCreate(t, s, sample(strings.Repeat("x", 40_000)))
	mustCreate(t, s, sample("stays"))
	must(t, s.Delete(ctx, keyOf(large), nil))
	if free := writerQuery(t, s, `PRAGMA freelist_count`); free < "5" {
		t.Fatalf("%s free pages", free)
	}
	must(t, s.Close())
	return dir
}

// wantDamage replaces a file, and fails the test unless both restore and verify
// refuse it, and restore leaves nothing behind.
func wantDamage(t *testing.T, file string, damaged []byte) {
	t.Helper()
	testkit.WriteFile(t, file, string(damaged))
	dir := filepath.Join(filepath.Dir(file), "restored")
	restored := restore(ctx, file, dir)
	_, verified := VerifyBackup(ctx, file, noProgress)
	for _, err := range []error{restored, verified} {
		if err == nil || !strings.HasPrefix(err.Error(), "check "+file+": ") {
			t.Errorf("got %v, want an error of the check", err)
		}
	}
	wantFiles(t, dir)
}

// A backup may be damaged in other ways.
func TestRestoreRefusesDamage(t *testing.T) {
	file, _ := backedUp(t)
	whole, err := os.ReadFile(file)
	must(t, err)
	middle := len(whole) / 2 / pageBytes * pageBytes
	for _, damaged := range [][]byte{
		overwrite(whole, middle, bytes.Repeat([]byte{0xff}, pageBytes)),
		overwrite(whole, middle, make([]byte, pageBytes)),
		whole[:middle],
		whole[:middle+100],
		whole[:len(whole)-1],
		whole[:pageBytes],
		append(bytes.Clone(whole), 0),
		append(bytes.Clone(whole), whole[middle:middle+pageBytes]...),
		nil,
		bytes.Repeat([]byte("Dear diary, "), 1000),
	} {
		wantDamage(t, file, damaged)
	}
}

// TestIntactPages: a page that reads as zeros is lost, unless it says that it is
// one of zeros. SQLite never writes the page of its locks.
func TestIntactPages(t *testing.T) {
	zeros := overwrite(make([]byte, pageBytes), pageBytes-checksumBytes, zeroSum)
	for _, c := range []struct {
		number int64
		page   []byte
		want   bool
	}{{2, make([]byte, pageBytes), false}, {2, zeros, true}, {lockPage, make([]byte, pageBytes), true}, {lockPage + 1, make([]byte, pageBytes), false}} {
		storetest.Same(t, fmt.Sprint("page ", c.number), intact(c.number, c.page), c.want)
	}
}

// A part of another store is neither backed up nor called whole.
func TestUnfinishedCopyIsRefused(t *testing.T) {
	dir, target := t.TempDir(), t.TempDir()
	must(t, testkit.ErrorOf(openStore(t, dir).Claim(ctx, store.SettingUnfinishedCopy, "x")))
	wantError(t, Backup(ctx, dir, filepath.Join(target, "b.db"), noProgress), "a copy that was not finished")
	wantFiles(t, target)
	_, err := Verify(ctx, dir, noProgress)
	wantError(t, err, "a copy that was not finished")
}

// A database that passes SQLite's integrity check may still be no valid store.
func TestRestoreRefusesEdits(t *testing.T) {
	file, _ := backedUp(t)
	content, err := os.ReadFile(file)
	must(t, err)
	for because, sql := range map[string]string{
		"read the last id: there is none":                `DELETE FROM sequence`,
		"a submission has an id that was not given yet":  `UPDATE sequence SET last = 1`,
		"the id 24576, which is not one of submission 3": `UPDATE submissions SET fields = replace(fields, '"id":24577', '"id":24576')`,
		"a submission belongs to no form":                `DELETE FROM forms`,
		"submission 200: ":                               `UPDATE submissions SET fields = '{' WHERE row_id = (SELECT max(row_id) FROM submissions)`,
		"the id of the store is missing":                 `DELETE FROM settings`,
		"damaged: a submission belongs to no form":       `UPDATE submissions SET form = 7`,
		"another program's database":                     `PRAGMA application_id = 1`,
		"schema version 99":                              `PRAGMA user_version = 99`,
	} {
		edited, dir := t.TempDir(), t.TempDir()
		testkit.WriteFile(t, filepath.Join(edited, FileName), string(content))
		editFile(t, edited, sql)
		wantError(t, restore(ctx, filepath.Join(edited, FileName), dir), because)
		wantFiles(t, dir)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	testkit.WriteFile(t, empty, "")
	wantError(t, restore(ctx, empty, t.TempDir()), "check "+empty+": it is empty") // the error has the name that the caller gave
	parent := t.TempDir()
	wantError(t, restore(ctx, filepath.Join(parent, "none"), filepath.Join(parent, "data")), "no such file")
	wantFiles(t, parent)
}

func TestRestoreRefusesAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	wantError(t, restore(ctx, pipe, t.TempDir()), "not a regular file") // and the open does not block
}

// overwrite returns a copy with other bytes at an offset.
func overwrite(content []byte, at int, by []byte) []byte {
	changed := bytes.Clone(content)
	copy(changed[at:], by)
	return changed
}

// The database file of a store that is in use lacks what is in the WAL.
func TestRestoreRefusesAStoreInUse(t *testing.T) {
	dir, parent := t.TempDir(), t.TempDir()
	target := filepath.Join(parent, "data")
	s := openStore(t, dir)
	mustCreate(t, s, sample("x"))
	file := filepath.Join(dir, FileName)
	wantError(t, restore(ctx, file, target), "is a store and no backup")
	wantFiles(t, parent)
	must(t, s.Close())
	testkit.ErrorIs(t, "restore from a store that was closed", restore(ctx, file, target), nil)
	storetest.Same(t, "restored", len(storetest.Values(t, openStore(t, target))), 1)
}

func TestNothingIsRestoredOverAStore(t *testing.T) {
	file, _ := backedUp(t)
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate(t, s, sample("mine"))
	testkit.ErrorIs(t, "restore to a store that is open", restore(ctx, file, dir), ErrInUse)
	must(t, s.Close())
	testkit.ErrorIs(t, "restore over a store", restore(ctx, file, dir), ErrOccupied)
	storetest.Same(t, "stored", len(storetest.Values(t, openStore(t, dir))), 1)

	alone := t.TempDir() // SQLite would apply this WAL to the restored database
	testkit.WriteFile(t, filepath.Join(alone, FileName+"-wal"), "x")
	wantError(t, restore(ctx, file, alone), FileName+"-wal is there already")
}

// TestBackupHasNoTransientRows: sessions, and files that belong to no submission, or
// no more, are not in a backup, nor in what is restored from a copy of the database.
func TestBackupHasNoTransientRows(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	kept := mustCreate(t, s, withFile(sample("x"), mustStage(t, s, engine.ChunkBytes+1)))
	deleted := mustCreate(t, s, withFile(sample("y"), mustStage(t, s, 3*engine.ChunkBytes)))
	reader, err := s.OpenFile(ctx, keyOf(deleted), deleted.Files[0].ID) // keeps its content
	must(t, err)
	defer func() { _ = reader.Close() }()
	must(t, s.Delete(ctx, keyOf(deleted), nil))
	mustStage(t, s, 20*engine.ChunkBytes)
	session := signIn(t, s)
	backup, restored := mustBackUp(t, dir), t.TempDir()
	copied := leftover(t, dir)
	copied.index = nil
	copyDir := copied.write(t)
	editFile(t, copyDir, `SELECT 1`) // its WAL becomes part of it
	if !contains(t, filepath.Join(copyDir, FileName), sealed) {
		t.Fatal("the test looks at the wrong file")
	}
	testkit.ErrorIs(t, "the store has lost its session", testkit.ErrorOf(s.Session(ctx, session.Hash)), nil)
	must(t, restore(ctx, filepath.Join(copyDir, FileName), restored))
	if n := size(backup); n > 512<<10 {
		t.Errorf("the backup has %d bytes", n)
	}
	for _, file := range []string{backup, filepath.Join(restored, FileName)} {
		conn, err := sqlite3.Open(fileURI(file, vfsName))
		must(t, err)
		found, err := queryText(conn, `SELECT (SELECT group_concat(DISTINCT file) FROM file_chunks) || ' ' || (SELECT count(*) FROM staged_files)`)
		must(t, errors.Join(err, conn.Close()))
		storetest.Same(t, "contents, and how many belong to no submission", found, fmt.Sprint(kept.Files[0].ID, " 0"))
		if contains(t, file, sealed) {
			t.Errorf("%s has the sealed credential", file)
		}
	}
	if err := readFile(restored, kept); err != nil {
		t.Error(err)
	}
}

// A backup that fails at its end leaves nothing, not even a journal.
func TestFailedBackupLeavesNothing(t *testing.T) {
	dir, target := t.TempDir(), t.TempDir()
	must(t, openStore(t, dir).Close())
	editFile(t, dir, `DELETE FROM sequence`)
	wantError(t, Backup(ctx, dir, filepath.Join(target, "b.db"), noProgress), "read the last id: there is none")
	wantFiles(t, target)
}

// A backup that is larger than what SQLite keeps in memory is as good as a
// small one.
func TestLargeBackup(t *testing.T) {
	dir, restored := t.TempDir(), t.TempDir()
	s := openStore(t, dir)
	for range 15 {
		mustCreate(t, s, sample(strings.Repeat("x", 200_000)))
	}
	file := mustBackUp(t, dir)
	must(t, restore(ctx, file, restored))
	storetest.Same(t, "restored", storetest.Values(t, openStore(t, restored)), storetest.Values(t, s))
}

// A name that can't be looked at is not said to be taken.
func TestBackupToNowhere(t *testing.T) {
	dir := t.TempDir()
	openStore(t, dir)
	err := Backup(ctx, dir, filepath.Join(dir, FileName, "backup"), noProgress)
	if !errors.Is(err, syscall.ENOTDIR) || strings.Contains(err.Error(), "is there already") {
		t.Errorf("%v", err)
	}
}
