package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
)

// schema2 makes a store as it was before there were keys and files.
func schema2(t *testing.T, dir string) {
	t.Helper()
	var sql strings.Builder
	for _, name := range []string{"0001_submissions.sql", "0002_places.sql"} {
		text, err := migrations.ReadFile("migrations/" + name)
		if err != nil {
			t.Fatal(err)
		}
		sql.Write(text)
	}
	editFile(t, dir, sql.String()+`
		INSERT INTO forms VALUES (1, 1, 'form');
		INSERT INTO submissions (place, form, username, created, once, fields) VALUES
			(1 << 40 | 1, 1, 'amy', 5, 'user:amy', '{"f":{"id":1,"fieldId":"f","value":"a"}}'),
			(1 << 40 | 2, 1, '',    6, NULL,       '{"f":{"id":2,"fieldId":"f","value":"b"}}');
		UPDATE sequences SET submission = 2, entry = 2;`+
		fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 2", applicationID))
}

func TestMigrateFromBeforeKeys(t *testing.T) {
	dir := t.TempDir()
	schema2(t, dir)
	s := openStore(t, dir)
	storetest.Same(t, "stored", storetest.Values(t, s), map[int64]string{1: "a", 2: "b"})
	if _, err := s.Create(ctx, store.New{PageID: 1, FormID: "form", Username: "amy", Once: "user:amy"}); !errors.Is(err, store.ErrOnce) {
		t.Errorf("create: %v, want %v", err, store.ErrOnce)
	}
	mustCreate(t, s, keyed(sample("c"), "key"))
	if _, err := s.Create(ctx, keyed(sample("c"), "key")); !errors.Is(err, store.ErrKeyUsed) {
		t.Errorf("create: %v, want %v", err, store.ErrKeyUsed)
	}
	checkIntegrity(t, s)
}

// latestSchema is the version that this program migrates to.
func latestSchema(t *testing.T) int {
	t.Helper()
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}
