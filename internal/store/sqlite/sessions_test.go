package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/store"
)

// sealed is in the test's session, and must be in no backup.
const sealed = "what only the holder of the id can read"

func signIn(t *testing.T, s *Store) store.Session {
	t.Helper()
	session := store.Session{Hash: [32]byte{1}, Owner: [32]byte{2}, Expires: time.UnixMilli(3).UTC(), Sealed: []byte(sealed)}
	if err := s.CreateSession(ctx, session); err != nil {
		t.Fatal(err)
	}
	return session
}

func contains(t *testing.T, file, text string) bool {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Contains(string(data), text)
}

// TestEndedSessionIsOverwritten: signing out leaves nothing to decrypt in the file.
func TestEndedSessionIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	session := signIn(t, s)
	if err := s.DeleteSession(ctx, session.Hash); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if contains(t, filepath.Join(dir, FileName), sealed) {
		t.Error("the credential is still in the file")
	}
}
