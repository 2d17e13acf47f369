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
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/testkit"
)

// databaseBytes is the database file of a store that is closed.
func databaseBytes(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	must(t, err)
	return data
}

// readAll returns all submissions of form "form"; an error if anything can't be read.
func readAll(dir string) (found map[int64]string, err error) {
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	found = map[int64]string{}
	err = testkit.Each(s.Scan(ctx, store.Query{PageID: 1, FormID: "form"}), func(sub forms.Submission) error {
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
	const count = 20
	for i := range count {
		mustCreate(t, s, sample(strings.Repeat(fmt.Sprint("answer ", i, " "), 1+10*i)))
	}
	must(t, s.Close())
	want, err := readAll(dir)
	if err != nil || len(want) != count {
		t.Fatal(len(want), err)
	}
	data := databaseBytes(t, dir)
	flips := make([]int, 0, testkit.Rounds(100, 240))
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
		testkit.WriteFile(t, filepath.Join(damaged, FileName), string(flipped))
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
	must(t, s.Close())
	data := databaseBytes(t, dir)
	data[bytes.LastIndex(data, []byte("xxxx"))] = 'y'
	testkit.WriteFile(t, filepath.Join(dir, FileName), string(data))
	_, err := openStore(t, dir).Get(ctx, store.Key{PageID: 1, FormID: "form", ID: 1})
	if err == nil || errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "does not match its checksum") {
		t.Errorf("get: %v", err)
	}
}

// TestZeroedPages: a page of zeros is damage, whatever it held. Pages that are
// empty because what they held was deleted, or that hold zeros, are none.
func TestZeroedPages(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	file := mustCreate(t, s, withFile(sample("x"), mustStageBytes(t, s, make([]byte, engine.ChunkBytes))))
	for i := range 20 {
		mustCreate(t, s, sample(strings.Repeat(fmt.Sprint("answer ", i, " "), 500)))
	}
	for id := int64(3); id < 8; id++ { // leaves free pages
		must(t, s.Delete(ctx, store.Key{PageID: 1, FormID: "form", ID: id}, nil))
	}
	must(t, s.Close())
	if _, err := Verify(ctx, dir, noProgress); err != nil {
		t.Fatalf("before anything is damaged: %v", err)
	}
	want, err := readAll(dir)
	must(t, err)
	data := databaseBytes(t, dir)
	noticed, tried := 0, 0
	for page := 0; page < len(data); page += pageBytes * testkit.Rounds(4, 1) {
		tried++
		damaged := bytes.Clone(data)
		clear(damaged[page : page+pageBytes])
		other := t.TempDir()
		testkit.WriteFile(t, filepath.Join(other, FileName), string(damaged))
		found, err := readAll(other)
		if err == nil {
			err = readFile(other, file)
		}
		if err != nil {
			noticed++
		} else if !maps.Equal(found, want) {
			t.Errorf("page %d: what is read is not what was stored, and there is no error", page/pageBytes)
		}
	}
	if noticed < tried/2 {
		t.Errorf("%d of %d zeroed pages were noticed: most hold something", noticed, tried)
	}
}

// readFile compares the file of a submission with its SHA-256.
func readFile(dir string, sub forms.Submission) (err error) {
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	file, err := s.OpenFile(ctx, keyOf(sub), sub.Files[0].ID)
	if err != nil {
		return err
	}
	return errors.Join(engine.CheckFile(sub.Files[0], file), file.Close())
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
		must(t, s.Delete(ctx, keyOf(sub), nil))
		mustCreate(t, s, sample("stays"))
	}
	must(t, s.Close())
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
