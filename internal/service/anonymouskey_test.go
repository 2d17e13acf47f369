package service

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// found returns which of the texts are in a file of the database that was written since then.
func (w *world) found(since time.Time, texts ...string) map[string]bool {
	w.t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ignoreGone(err)
		}
		if info, err := d.Info(); err != nil || info.ModTime().Before(since) {
			return ignoreGone(err)
		}
		content, err := os.ReadFile(path)
		for _, text := range texts {
			found[text] = found[text] || bytes.Contains(content, []byte(text))
		}
		return ignoreGone(err)
	})
	testkit.Must(w.t, err)
	return found
}

// ignoreGone passes over files that a server at work has removed meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func TestAnonymousSubmitterIsStoredNowhere(t *testing.T) {
	enginetest.Each(t, testAnonymousSubmitterIsStoredNowhere)
}

func testAnonymousSubmitterIsStoredNowhere(t *testing.T, on enginetest.Engine) {
	w := newWorldOn(t, on)
	w.allView = true
	began := time.Now().Truncate(time.Second)
	run := rand.Text() // the files may have what other tests stored
	secret, known, corrector := auth.Identity{Name: "zaphod" + run}, auth.Identity{Name: "trillian" + run}, auth.Identity{Name: "marvin" + run, Groups: []string{"writers"}}
	corrected := "corrected " + run
	w.submits(known, "named", "a control: this name is stored")
	for _, id := range []string{"anonymous", "anonymous-once", "anonymous-too"} {
		sub := w.submits(secret, id, "hello from nobody")
		testkit.Same(t, id, sub.Username, "")
		_, _, _ = w.as(secret, id).Create(t.Context(), answer("a second one, refused or not"), "")
		_, _ = w.as(secret, id).Merge(t.Context(), sub.ID, answer("refused"), nil, admitAll)
		testkit.Must(t, w.merges(w.as(corrector, id), sub.ID, "text", corrected))
	}
	check := func(when string) {
		t.Helper()
		found := w.found(began, known.Name, corrected, secret.Name, corrector.Name)
		if !found[known.Name] || !found[corrected] {
			t.Fatalf("%s: the search finds nothing: %v", when, found)
		}
		if found[secret.Name] || found[corrector.Name] {
			t.Errorf("%s: a name is in a file of the database: %v", when, found)
		}
	}
	check("while the database is open")
	testkit.Must(t, w.store.Close())
	check("after the database was closed")
}

func TestOnceNamesNobodyOnAnAnonymousForm(t *testing.T) {
	anonymous := func(page int64, id string) *forms.Form { return &forms.Form{PageID: page, ID: id, Anonymous: true} }
	s, other := &Service{opts: Options{AnonymousKey: []byte("one key")}}, &Service{opts: Options{AnonymousKey: []byte("another key")}}
	seen := map[string]string{}
	for what, once := range map[string]string{
		"ann on form a":                      s.submitterKey(anonymous(1, "a"), "ann"),
		"ann on form b":                      s.submitterKey(anonymous(1, "b"), "ann"),
		"ann on page 2":                      s.submitterKey(anonymous(2, "a"), "ann"),
		"bob on form a":                      s.submitterKey(anonymous(1, "a"), "bob"),
		"ann with another key":               other.submitterKey(anonymous(1, "a"), "ann"),
		"a form's id and the name, cut here": s.submitterKey(anonymous(1, "aa"), "nn"),
		"ann by name":                        s.submitterKey(&forms.Form{PageID: 1, ID: "a"}, "ann"),
	} {
		if first, dup := seen[once]; dup {
			t.Errorf("%s and %s are both %q", first, what, once)
		}
		seen[once] = what
		if what != "ann by name" && (!strings.HasPrefix(once, "hash:") || strings.Contains(once, "ann")) {
			t.Errorf("%s: %q is no hash", what, once)
		}
	}
	hash, restarted := s.submitterKey(anonymous(1, "a"), "ann"), &Service{opts: Options{AnonymousKey: []byte("one key")}}
	testkit.Same(
		t, "the same person is not recognised after a restart", restarted.submitterKey(anonymous(1, "a"), "ann"), hash,
	)
	// A user who is called like a hash must not take another's place.
	if s.submitterKey(&forms.Form{PageID: 1, ID: "a"}, hash) == hash {
		t.Error("a user name can pass for a hash")
	}
}

// Several servers that are started together share one key, the one that stays.
func TestLoadAnonymousKeyAtTheSameTime(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "anonymous.key")
		keys := make([][]byte, 8)
		start := make(chan struct{})
		var loaded sync.WaitGroup
		for i := range keys {
			loaded.Go(func() {
				<-start
				var err error
				if keys[i], err = readAnonymousKey(path, true); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		loaded.Wait()
		kept, err := os.ReadFile(path)
		testkit.Must(t, err)
		for i, key := range keys {
			if !bytes.Equal(key, kept) {
				t.Fatalf("server %d of %d uses another key than the one that is kept", i+1, len(keys))
			}
		}
		if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
			t.Fatalf("%d files instead of the key alone, %v", len(files), err)
		}
	}
}

// A new key in the place of a damaged one would let everybody submit again.
func TestLoadAnonymousKeyRefusesADamagedOne(t *testing.T) {
	for _, size := range []int{0, 1, 31, 33, 64} {
		path := filepath.Join(t.TempDir(), "anonymous.key")
		damaged := bytes.Repeat([]byte("k"), size)
		testkit.Must(t, os.WriteFile(path, damaged, 0o600))
		if _, err := readAnonymousKey(path, true); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%d bytes: got %v, want an error that names the file", size, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
			t.Errorf("%d bytes: the file was changed, %v", size, err)
		}
	}
	if _, err := readAnonymousKey(filepath.Join(t.TempDir(), "missing", "anonymous.key"), true); err == nil {
		t.Error("a key was made in a directory that is not there")
	}
	if _, err := readAnonymousKey(t.TempDir(), true); err == nil {
		t.Error("a directory was read as a key")
	}
}

// TestAnonymousKey: a key is made for a store that has none. Where one is missing,
// the start is refused, and no new one is left in its place.
func TestAnonymousKey(t *testing.T) { enginetest.Each(t, testAnonymousKey) }

func testAnonymousKey(t *testing.T, on enginetest.Engine) {
	s, dir := on.Open(t), t.TempDir()
	path := filepath.Join(dir, "anonymous.key")
	first, err := LoadAnonymousKey(t.Context(), s, path, false)
	if err != nil || len(first) != 32 {
		t.Fatalf("made a key of %d bytes, %v", len(first), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode is %v, %v; want it readable by its owner only", info.Mode(), err)
	}
	if again, err := LoadAnonymousKey(t.Context(), s, path, false); err != nil || !bytes.Equal(again, first) {
		t.Errorf("after a restart the key is another one, %v", err)
	}
	testkit.Must(t, os.Remove(path))
	_, err = LoadAnonymousKey(t.Context(), s, path, false)
	if !errors.Is(err, ErrOtherKey) || !strings.Contains(err.Error(), path+" is missing") {
		t.Errorf("without the key: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	testkit.Must(t, os.WriteFile(path+".new", []byte("half-written, left by a crash; longer than a key is"), 0o600))
	second, err := LoadAnonymousKey(t.Context(), s, path, true)
	if err != nil || len(second) != 32 || bytes.Equal(second, first) {
		t.Errorf("with a new key: %v", err)
	}
	testkit.Must(t, os.WriteFile(path, first, 0o600))
	testkit.ErrorIs(
		t, "with the key that was replaced", testkit.ErrorOf(LoadAnonymousKey(t.Context(), s, path, false)), ErrOtherKey,
	)
	held, err := s.Setting(t.Context(), store.SettingAnonymousKey)
	if err != nil || strings.Contains(held, string(second)) || len(held) > 30 {
		t.Errorf("the store was told %q: %v", held, err)
	}
}
