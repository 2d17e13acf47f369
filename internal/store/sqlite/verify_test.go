package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// dumped is the checksum of all that a store in a directory holds, the last id
// and settings included.
func dumped(t *testing.T, dir string) string {
	t.Helper()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err.Error()
	}
	defer func() { _ = s.Close() }()
	d := store.NewDigest()
	if err := s.Dump(ctx, store.Key{}, func(r store.Record) error { d.Add(r); return nil }); err != nil {
		return err.Error()
	}
	last, err := s.LastID(ctx)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(d.Count, d.Sum(), last, writerQuery(t, s, `SELECT name || '=' || value FROM settings ORDER BY name`))
}

// TestFlippedBitsInABackup: a backup with one flipped bit is refused, or the
// restored store equals the original. Some bits are not in use.
func TestFlippedBitsInABackup(t *testing.T) {
	file, _ := backedUp(t)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := restore(ctx, file, dir); err != nil {
		t.Fatal(err)
	}
	want := dumped(t, dir)
	const flips = 250
	refused, room := 0, t.TempDir()
	for i := range flips {
		at := (i*len(whole) + len(whole)/2) / flips
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1 << (i % 8)
		damaged, dir := filepath.Join(room, fmt.Sprint(i)), filepath.Join(room, fmt.Sprint(i, "dir"))
		testkit.WriteFile(t, damaged, string(flipped))
		if err := restore(ctx, damaged, dir); err != nil {
			refused++
			wantFiles(t, dir)
			continue
		}
		if got := dumped(t, dir); got != want {
			t.Errorf("bit %d of byte %d is flipped, and the backup restored: %s, want %s", i%8, at, got, want)
		}
	}
	if refused < flips/2 {
		t.Errorf("%d of %d were refused: nothing was tested", refused, flips)
	}
}

// TestDigestCoversEverything: each of these edits leaves a valid database.
func TestDigestCoversEverything(t *testing.T) {
	file, _ := backedUp(t)
	for _, sql := range []string{
		`UPDATE submissions SET fields = replace(fields, '7 7', '7 8') WHERE place = (SELECT max(place) FROM submissions WHERE fields LIKE '%7 7%')`,
		`UPDATE submissions SET username = 'amx' WHERE place = (SELECT min(place) FROM submissions)`,
		`UPDATE submissions SET created = created + 1 WHERE place = (SELECT min(place) FROM submissions)`,
		`UPDATE submissions SET once = 'hash:x' WHERE place = (SELECT min(place) FROM submissions)`,
		`DELETE FROM submissions WHERE place = (SELECT min(place) FROM submissions)`,
		`UPDATE sequence SET last = last + 1`,
		`UPDATE forms SET form_id = 'norm'`,
		`INSERT INTO forms VALUES (1000, 1000, 'form')`,
		`UPDATE settings SET value = 'x' WHERE name = 'store-id'`,
		`INSERT INTO settings VALUES ('once-key', 'x')`,
		`UPDATE settings SET value = replace(value, substr(value, 1, 1), 'x') WHERE name = 'digest'`,
		`DROP INDEX submissions_once`,
	} {
		dir := t.TempDir()
		edited := filepath.Join(dir, FileName)
		if err := copyFile(ctx, file, edited, noProgress); err != nil {
			t.Fatal(err)
		}
		editFile(t, dir, sql)
		_, err := VerifyBackup(ctx, edited, noProgress)
		if wantError(t, err, "its content is not what it was when the backup was made"); t.Failed() {
			t.Fatal(sql)
		}
		wantError(t, restore(ctx, edited, t.TempDir()), "its content is not what it was")
	}
}

// A copy of a database that was not made by Backup can be restored.
func TestBackupWithoutDigest(t *testing.T) {
	file, held := backedUp(t)
	old, dir := t.TempDir(), t.TempDir()
	if err := copyFile(ctx, file, filepath.Join(old, FileName), noProgress); err != nil {
		t.Fatal(err)
	}
	editFile(t, old, `DELETE FROM settings WHERE name = 'digest'`)
	report, err := Restore(ctx, filepath.Join(old, FileName), dir, noProgress)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "sealed", report.Sealed, false)
	storetest.Same(t, "restored", storetest.Values(t, openStore(t, dir)), held)
}

// A restored store has no digest once it is used. Its backups have one of their own.
func TestDigestIsRemovedFromAStore(t *testing.T) {
	file, _ := backedUp(t)
	dir := t.TempDir()
	if err := restore(ctx, file, dir); err != nil {
		t.Fatal(err)
	}
	for i, sealed := range []bool{true, false} { // before it is used, and after
		report, err := Verify(ctx, dir, noProgress)
		if err != nil {
			t.Fatal(err)
		}
		storetest.Same(t, "sealed", report.Sealed, sealed)
		again := filepath.Join(t.TempDir(), "again.db")
		if err := Backup(ctx, dir, again, noProgress); err != nil {
			t.Fatal(err)
		}
		if report, err = VerifyBackup(ctx, again, noProgress); err != nil || !report.Sealed {
			t.Errorf("the next backup: %+v, %v", report, err)
		}
		storetest.Same(t, "submissions", report.Submissions, int64(200+i))
		s := openStore(t, dir)
		mustCreate(t, s, sample("x"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Verify reports all faults of a store, while it is in use and while it is not.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	_, err := Verify(ctx, dir, noProgress)
	wantError(t, err, "no store in "+dir)
	s := openStore(t, dir)
	for i := range 20 {
		mustCreate(t, s, sample(fmt.Sprint(i)))
	}
	d := store.NewDigest()
	if err := s.Dump(ctx, store.Key{}, func(r store.Record) error { d.Add(r); return nil }); err != nil {
		t.Fatal(err)
	}
	for range 2 { // in use, and not
		report, err := Verify(ctx, dir, noProgress)
		if err != nil {
			t.Fatal(err)
		}
		storetest.Same(t, "report", Report{Submissions: report.Submissions, Checksum: report.Checksum},
			Report{Submissions: 20, Checksum: d.Sum()})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wantFiles(t, dir, FileName)
	editFile(t, dir, `UPDATE forms SET page_id = -1`)
	_, err = Verify(ctx, dir, noProgress)
	for _, because := range []string{filepath.Join(dir, FileName), "it is damaged", "a form is on no page", "20 of 20 submissions can't be found"} {
		wantError(t, err, because)
	}
	editFile(t, dir, `UPDATE forms SET page_id = 1; UPDATE submissions SET fields = '{"f":1}' WHERE place & 15 = 1`)
	_, err = Verify(ctx, dir, noProgress)
	wantError(t, err, "submission 1: ")
	wantError(t, err, "submission 17: ")
	editFile(t, dir, `UPDATE submissions SET fields = 'x'; DELETE FROM settings; INSERT INTO settings VALUES ('x', 'y')`)
	_, err = Verify(ctx, dir, noProgress)
	for _, because := range []string{"the answers of a submission can't be read", "the id of the store is missing", "a setting that this formulary does not know"} {
		wantError(t, err, because)
	}
	if lines := strings.Count(fmt.Sprint(err), "submission "); lines > maxFaults+2 {
		t.Errorf("%d lines: %v", lines, err)
	}
}

// Progress counts what is in the WAL: a new store has all its content there.
func TestBackupProgressCountsTheWAL(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate(t, s, sample(strings.Repeat("x", 1<<20)))
	want := size(filepath.Join(dir, FileName)) + walSize(t, dir)
	var last int64
	err := Backup(ctx, dir, filepath.Join(t.TempDir(), "b.db"), func(stage, _ string, _, total int64) {
		if stage == "writing" {
			last = total
		}
	})
	if err != nil || last != want || want < 1<<20 {
		t.Errorf("the total is %d, want %d: %v", last, want, err)
	}
}

// A backup that fails at its end leaves nothing, not even a journal.
func TestFailedBackupLeavesNothing(t *testing.T) {
	dir, target := t.TempDir(), t.TempDir()
	if err := openStore(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	editFile(t, dir, `DELETE FROM sequence`)
	wantError(t, Backup(ctx, dir, filepath.Join(target, "b.db"), noProgress), "it does not tell the last id")
	wantFiles(t, target)
	errFill := errors.New("the source is gone")
	if err := WriteBackup(ctx, filepath.Join(target, "b.db"), noProgress, func(*Store) error { return errFill }); !errors.Is(err, errFill) {
		t.Error(err)
	}
	wantFiles(t, target)
}

// A backup that is larger than what SQLite keeps in memory is as good as a
// small one.
func TestLargeBackup(t *testing.T) {
	dir, restored := t.TempDir(), t.TempDir()
	s := openStore(t, dir)
	for range 100 {
		mustCreate(t, s, sample(strings.Repeat("x", 200_000)))
	}
	file := filepath.Join(t.TempDir(), "backup.db")
	if err := Backup(ctx, dir, file, noProgress); err != nil {
		t.Fatal(err)
	}
	if err := restore(ctx, file, restored); err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "restored", storetest.Values(t, openStore(t, restored)), storetest.Values(t, s))
}
