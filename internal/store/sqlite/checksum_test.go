package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

// databaseBytes is the database file of a store that is closed.
func databaseBytes(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func hasChecksums(t *testing.T, file string) bool {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data[reservedOffset] == checksumBytes
}

// readAll returns all submissions of form "form"; an error if anything can't be read.
func readAll(dir string) (found map[int64]string, err error) {
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	found = map[int64]string{}
	err = s.Scan(ctx, store.Query{PageID: 1, FormID: "form"}, func(sub forms.Submission) error {
		found[sub.ID] = sub.Username + " " + sub.Created.String() + " " + string(sub.Entries)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for id, text := range found {
		sub, err := s.Get(ctx, store.Key{PageID: 1, FormID: "form", ID: id})
		if err != nil {
			return nil, err
		}
		if got := sub.Username + " " + sub.Created.String() + " " + string(sub.Entries); got != text {
			return nil, fmt.Errorf("submission %d is listed as %q and found as %q", id, text, got)
		}
	}
	return found, nil
}

// TestFlippedBits: damage in the database file shows as an error, and never as
// something that was not stored.
func TestFlippedBits(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	for i := range 60 {
		mustCreate(t, s, sample(strings.Repeat(fmt.Sprint("answer ", i, " "), 1+i*i)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want, err := readAll(dir)
	if err != nil || len(want) != 60 {
		t.Fatal(len(want), err)
	}
	data := databaseBytes(t, dir)
	flips := make([]int, 0, 240)
	for bit := 8 * 16; bit < 8*24; bit++ { // the part of the header on page size and reserved bytes
		flips = append(flips, bit)
	}
	for len(flips) < cap(flips) {
		flips = append(flips, rand.IntN(8*len(data)))
	}
	noticed := 0
	damaged := t.TempDir()
	for _, bit := range flips {
		flipped := bytes.Clone(data)
		flipped[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(filepath.Join(damaged, FileName), flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := readAll(damaged)
		switch {
		case err != nil:
			noticed++
		case !maps.Equal(found, want):
			t.Errorf("bit %d of byte %d: what is read is not what was stored, and there is no error", bit%8, bit/8)
		}
	}
	if noticed < len(flips)/2 {
		t.Errorf("%d of %d flipped bits were noticed: most are within what is read", noticed, len(flips))
	}
}

// A damaged page is reported as damage, and not as ErrUnavailable.
func TestDamageIsReported(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate(t, s, sample(strings.Repeat("x", 100<<10)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data := databaseBytes(t, dir)
	data[bytes.LastIndex(data, []byte("xxxx"))] = 'y'
	if err := os.WriteFile(filepath.Join(dir, FileName), data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := openStore(t, dir).Get(ctx, store.Key{PageID: 1, FormID: "form", ID: 1})
	if err == nil || errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "does not match its checksum") {
		t.Errorf("get: %v", err)
	}
}

// A store that was created before there were checksums works without them. A
// backup of it has them.
func TestStoreWithoutChecksums(t *testing.T) {
	dir := t.TempDir()
	old, err := sqlite3.Open(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(migrate(old), old.Close()); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir)
	mustCreate(t, s, sample(strings.Repeat("x", 100<<10)))
	want := storetest.Values(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "checksums of the old store", hasChecksums(t, filepath.Join(dir, FileName)), false)

	backup := filepath.Join(t.TempDir(), "backup")
	if err := Backup(ctx, dir, backup, noProgress); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if err := restore(ctx, backup, restored); err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "checksums of its backup, restored", hasChecksums(t, filepath.Join(restored, FileName)), true)
	storetest.Same(t, "restored", storetest.Values(t, openStore(t, restored)), want)
}

// What is deleted is not left in the file.
func TestDeletedIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	secrets := []string{"a short secret", "a secret of several pages"}
	for i, secret := range secrets {
		mustCreate(t, s, sample("stays"))
		sub := mustCreate(t, s, sample(strings.Repeat(secret+", ", 1+i*1000)))
		writerCheckpoint(t, s)
		if !bytes.Contains(databaseBytes(t, dir), []byte(secret)) {
			t.Fatalf("%q is not in the file: nothing tested", secret)
		}
		if err := s.Delete(ctx, store.Key{PageID: 1, FormID: "form", ID: sub.ID}, nil); err != nil {
			t.Fatal(err)
		}
		mustCreate(t, s, sample("stays"))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data := databaseBytes(t, dir)
	if i := slices.IndexFunc(secrets, func(secret string) bool { return bytes.Contains(data, []byte(secret)) }); i >= 0 {
		t.Errorf("%q was deleted, and is still in the file", secrets[i])
	}
}

// writerCheckpoint copies all of the WAL into the database file.
func writerCheckpoint(t *testing.T, s *Store) {
	t.Helper()
	s.writer.commitMu.Lock()
	defer s.writer.commitMu.Unlock()
	if _, _, err := s.writer.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_FULL); err != nil {
		t.Fatal(err)
	}
}
