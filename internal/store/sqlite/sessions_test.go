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
	"github.com/formulary/formulary/internal/store/storetest"
)

// TestSessionPlans: the cost does not depend on how many people are signed in.
func TestSessionPlans(t *testing.T) {
	s := openStore(t, t.TempDir())
	for sql, uses := range map[string]string{
		sqlSession:       "PRIMARY KEY (hash=?)",
		sqlRenewSession:  "PRIMARY KEY (hash=?)",
		sqlDeleteSession: "PRIMARY KEY (hash=?)",
		sqlTrimSessions:  "sessions_by_owner (owner=?)",
		sqlDeleteExpired: "sessions_by_expiry (expires<?)",
	} {
		plan := writerQuery(t, s, "EXPLAIN QUERY PLAN "+sql)
		if !strings.Contains(plan, uses) || strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\nplan: %s\nwant %q", sql, plan, uses)
		}
	}
}

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

func wantNoSession(t *testing.T, s *Store, hash [32]byte) {
	t.Helper()
	if _, err := s.Session(ctx, hash); !errors.Is(err, store.ErrNoSession) {
		t.Errorf("session: %v, want %v", err, store.ErrNoSession)
	}
}

func TestBackupHasNoSessions(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate(t, s, sample("kept"))
	session := signIn(t, s)
	file := filepath.Join(t.TempDir(), "backup.db")
	if err := Backup(ctx, dir, file, noProgress); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, filepath.Dir(file), "backup.db")
	if contains(t, file, sealed) {
		t.Error("the backup has the sealed credential")
	}
	if _, err := s.Session(ctx, session.Hash); err != nil {
		t.Errorf("the store has lost its session: %v", err)
	}
	target := t.TempDir()
	if err := restore(ctx, file, target); err != nil {
		t.Fatal(err)
	}
	restored := openStore(t, target)
	storetest.Same(t, "restored", len(storetest.Values(t, restored)), 1)
	wantNoSession(t, restored, session.Hash)
}

// TestRestoreDropsSessions: a plain copy of the database of a stopped server can
// be restored, too.
func TestRestoreDropsSessions(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate(t, s, sample("kept"))
	session := signIn(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, FileName)
	if !contains(t, file, sealed) {
		t.Fatal("the test looks at the wrong file")
	}
	target := t.TempDir()
	if err := restore(ctx, file, target); err != nil {
		t.Fatal(err)
	}
	if contains(t, filepath.Join(target, FileName), sealed) {
		t.Error("the restored store has the sealed credential")
	}
	restored := openStore(t, target)
	storetest.Same(t, "restored", len(storetest.Values(t, restored)), 1)
	wantNoSession(t, restored, session.Hash)
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
