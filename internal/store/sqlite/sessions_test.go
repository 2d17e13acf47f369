package sqlite

import (
	"errors"
	"io/fs"
	"os"
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
	must(t, s.CreateSession(ctx, session))
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
