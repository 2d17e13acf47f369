package sqlite

import (
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/chunk"
	"github.com/formulary/formulary/internal/store/storetest"
)

// insertRows is for more rows than it is worth to create one by one.
func insertRows(t *testing.T, s *Store, count int, fields string) {
	t.Helper()
	onWriter(t, s, func(conn *sqlite3.Conn) error {
		if err := conn.Exec(`INSERT INTO forms VALUES (1, 1, 'form')`); err != nil {
			return err
		}
		stmt, _, err := conn.Prepare(`INSERT INTO submissions (place, form, username, created, fields)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) SELECT 1 << 40 | i, 1, 'amy', 0, ?2 FROM n`)
		if err != nil {
			return err
		}
		defer func() { _ = stmt.Close() }()
		if err := stmt.BindInt(1, count); err != nil {
			return err
		}
		if err := stmt.BindText(2, fields); err != nil {
			return err
		}
		return stmt.Exec()
	})
}

// TestChunksAreSmall: each read of a list is short, however many rows there
// are and however little is in them, and all of them together are the list.
func TestChunksAreSmall(t *testing.T) {
	for name, c := range map[string]struct {
		count int
		value string
	}{
		"rows of 1 KB":         {1000, strings.Repeat("x", 1000)},
		"rows without entries": {2*chunk.MaxRows + 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			fields := `{}`
			if c.value != "" {
				fields = string(forms.EncodeEntries(nil, []forms.Entry{{ID: 1, FieldID: "field", Value: c.value}}))
			}
			insertRows(t, s, c.count, fields)
			var first chunk.Chunk
			q := store.Query{PageID: 1, FormID: "form"}
			if err := s.readChunk(ctx, &first, q); err != nil {
				t.Fatal(err)
			}
			if first.Bytes() > chunk.MaxBytes+len(fields) || first.Len() > chunk.MaxRows || first.Last {
				t.Errorf("%d rows of %d bytes in one read", first.Len(), first.Bytes())
			}
			next := int64(0)
			err := s.Scan(ctx, q, func(sub forms.Submission) error {
				if next++; sub.ID != next || string(sub.Entries) != fields {
					t.Fatalf("submission %d, where %d is next", sub.ID, next)
				}
				return nil
			})
			if err != nil || next != int64(c.count) {
				t.Errorf("%d rows, want %d: %v", next, c.count, err)
			}
		})
	}
}

// TestShortListIsOneRead: most lists are short, and a second read only to find
// that there is no more would double what they cost.
func TestShortListIsOneRead(t *testing.T) {
	s := openStore(t, t.TempDir())
	mustCreate(t, s, sample("x"))
	storetest.Values(t, s)
	reads := 0
	for range s.readers.count { // whichever connection is next
		err := s.readers.with(ctx, func(stmts *readStmts) error {
			return stmts.conn.Trace(sqlite3.TRACE_STMT, func(sqlite3.TraceEvent, any, any) error { reads++; return nil })
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 1)
	storetest.Same(t, "reads", reads, 1)
}
