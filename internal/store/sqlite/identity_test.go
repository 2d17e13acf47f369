package sqlite

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// openLogged opens a store whose log can be read.
func openLogged(t *testing.T, dir string) (*Store, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	s, err := Open(ctx, dir, Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() }) // of files that are gone
	return s, log
}

func copyOver(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	must(t, err)
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.Rename(from, to))
}

// TestFilesRemovedOrReplaced: writes to such files would be lost, so they fail,
// the error is logged, and Ping fails, also before any write.
func TestFilesRemovedOrReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		accident func(t *testing.T, path string)
		advice   string
	}{
		"the database is removed":  {func(t *testing.T, path string) { rename(t, path, path+".away") }, ".db was removed or replaced"},
		"the WAL is removed":       {func(t *testing.T, path string) { rename(t, path+"-wal", path+".away") }, ".db-wal was removed or replaced"},
		"the index is removed":     {func(t *testing.T, path string) { rename(t, path+"-shm", path+".away") }, ".db-shm was removed or replaced"},
		"the database is replaced": {replaceByCopy, ".db was removed or replaced"},
		"the database is emptied": {func(t *testing.T, path string) {
			must(t, os.Truncate(path, 0))
		}, ".db was emptied"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, log := openLogged(t, dir)
			mustCreate(t, s, sample("before"))
			c.accident(t, filepath.Join(dir, FileName))
			for range 3 {
				for what, err := range map[string]error{"ping": s.Ping(ctx), "create": creating(s, sample("lost"))()} {
					if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), c.advice) {
						t.Errorf("%s: %v, want it to say %q", what, err, c.advice)
					}
				}
			}
			if n := strings.Count(log.String(), "Stop the server"); n != 1 {
				t.Errorf("the log tells what to do %d times:\n%s", n, log)
			}
		})
	}
}

func replaceByCopy(t *testing.T, path string) {
	t.Helper()
	copyOver(t, path, path+".copy")
	rename(t, path+".copy", path)
}

// TestFilesComeBack: files that were only moved away and back are the same.
func TestFilesComeBack(t *testing.T) {
	dir := t.TempDir()
	s, log := openLogged(t, dir)
	mustCreate(t, s, sample("before"))
	away := filepath.Join(t.TempDir(), "away")
	for range 2 {
		rename(t, dir, away)
		for range 2 {
			testkit.ErrorIs(t, "create", creating(s, sample("refused"))(), store.ErrUnavailable)
		}
		rename(t, away, dir)
		mustCreate(t, s, sample("after"))
		testkit.ErrorIs(t, "ping", s.Ping(ctx), nil)
	}
	for line, want := range map[string]int{"Stop the server": 2, "are back": 2} {
		if n := strings.Count(log.String(), line); n != want {
			t.Errorf("the log says %q %d times, want %d:\n%s", line, n, want, log)
		}
	}
	storetest.Same(t, "stored", storetest.Values(t, s), map[int64]string{1: "before", 2: "after", 3: "after"})
	must(t, s.Close())
	storetest.Same(t, "stored, after a restart", len(storetest.Values(t, openStore(t, dir))), 3)
}

// TestReadsOfReplacedFiles: reads succeed on open connections. A new connection is
// not opened, since it would read another database.
func TestReadsOfReplacedFiles(t *testing.T) {
	dir := t.TempDir()
	s, _ := openLogged(t, dir)
	sub := mustCreate(t, s, sample("before"))
	key := keyOf(sub)
	must(t, testkit.ErrorOf(s.Get(ctx, key)))
	path := filepath.Join(dir, FileName)
	rename(t, path, path+".away")
	told := 0
	for range cap(s.pool.slots) { // the connection that is open, and those that are not yet
		switch _, err := s.Get(ctx, key); {
		case err == nil:
		case errors.Is(err, store.ErrUnavailable):
			told++
		default:
			t.Errorf("get: %v, want %v", err, store.ErrUnavailable)
		}
	}
	storetest.Same(t, "refused", told, cap(s.pool.slots)-1)
	testkit.ErrorIs(t, "there is a new database", testkit.ErrorOf(os.Stat(path)), os.ErrNotExist)
}

// Both ways to stat a file return the same.
func TestStatFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(name, []byte("content"), 0o600))
	id, size, err := statFile(name)
	plainID, plainSize, plainErr := statPortable(name)
	if id != plainID || size != plainSize || size != 7 || errors.Join(err, plainErr) != nil {
		t.Errorf("%v, %d bytes, %v; by stat %v, %d bytes, %v", id, size, err, plainID, plainSize, plainErr)
	}
	if _, _, err := statFile(name + "-gone"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v, want %v", err, os.ErrNotExist)
	}
}
