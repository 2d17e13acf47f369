package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// insertRows inserts many rows by SQL, which is faster than to create them one by one.
func insertRows(t *testing.T, s *Store, count int, fields string) {
	t.Helper()
	onWriter(t, s, func(conn *connection) error {
		if err := conn.Exec(`INSERT INTO forms VALUES (1, 1, 'form')`); err != nil {
			return err
		}
		stmt, _, err := conn.Prepare(`INSERT INTO submissions (row_id, form, username, created, fields)
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

// TestChunksAreSmall: each read of a list is bounded in rows and bytes, and the
// chunks together are the whole list.
func TestChunksAreSmall(t *testing.T) {
	for name, c := range map[string]struct {
		count int
		value string
	}{
		"rows of 1 KB":         {1000, strings.Repeat("x", 1000)},
		"rows without entries": {2*engine.MaxListRows + 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			fields := `{}`
			if c.value != "" {
				fields = string(forms.EncodeEntries(nil, []forms.Entry{{ID: 1, FieldID: "field", Value: c.value}}))
			}
			insertRows(t, s, c.count, fields)
			first := engine.Rows{Limit: engine.MaxListRows}
			q := store.Query{PageID: 1, FormID: "form"}
			must(t, s.readPart(ctx, &first, q))
			few := engine.Rows{Limit: engine.MaxListRows}
			if err := s.readPart(ctx, &few, store.Query{PageID: 1, FormID: "form", Descending: true, After: 3}); err != nil || !few.Last || len(few.List) != 2 {
				t.Errorf("the end of a list: %d rows, last %v, %v", len(few.List), few.Last, err) // it is found without a second query
			}
			if len(first.Text) > engine.MaxListBytes+len(fields) || len(first.List) > engine.MaxListRows || first.Last {
				t.Errorf("%d rows of %d bytes in one read", len(first.List), len(first.Text))
			}
			next := int64(0)
			err := testkit.Each(s.Scan(ctx, q), func(sub forms.Submission) error {
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

// TestLostRaces: an update is retried when another one changed the submission
// during its merge. It succeeds however often that happens.
func TestLostRaces(t *testing.T) {
	s := openStore(t, t.TempDir())
	sub := mustCreate(t, s, sample("first"))
	key := keyOf(sub)
	add := func(fieldID string) store.Merge {
		return func(sub forms.Submission) (store.Change, error) {
			entries, err := sub.Entries.Decode()
			return store.Change{Entries: append(entries, forms.Entry{FieldID: fieldID})}, err
		}
	}
	const lost = 4
	calls := 0
	updated, err := s.Update(ctx, key, func(sub forms.Submission) (store.Change, error) {
		if calls++; calls <= lost {
			testkit.ErrorIs(t, "the other update", testkit.ErrorOf(s.Update(ctx, key, add(fmt.Sprint("other", calls)))), nil)
		}
		return add("mine")(sub)
	})
	must(t, err)
	storetest.Same(t, "calls of merge", calls, lost+1)
	entries, err := updated.Entries.Decode()
	must(t, err)
	var got []string
	for i, e := range entries {
		got = append(got, e.FieldID)
		storetest.Same(t, "entry id", e.ID, sub.ID<<13+int64(i+1)) // lost races use up no ids
	}
	storetest.Same(t, "fields", got, []string{"field", "other1", "other2", "other3", "other4", "mine"})
	found, err := s.Get(ctx, key)
	storetest.Same(t, "found", found, updated)
	must(t, err)
}

// TestDeletedDuringMerge: an update does not restore a submission that was deleted
// during its merge.
func TestDeletedDuringMerge(t *testing.T) {
	s := openStore(t, t.TempDir())
	sub := mustCreate(t, s, sample("first"))
	key := keyOf(sub)
	_, err := s.Update(ctx, key, func(forms.Submission) (store.Change, error) { return store.Change{}, s.Delete(ctx, key, nil) })
	testkit.ErrorIs(t, "update", err, store.ErrNotFound)
	storetest.Same(t, "stored", len(storetest.Values(t, s)), 0)
}

// TestLimitIsCountedOnce: refused creates to a form that is full read no row, since
// all writers would wait for that. It takes the rows away behind the back of the
// writer, which still knows how many there were.
func TestLimitIsCountedOnce(t *testing.T) {
	s := openStore(t, t.TempDir())
	n := sample("x")
	n.Limit = 2
	for _, want := range []error{nil, nil, store.ErrLimit} {
		if _, err := s.Create(t.Context(), n); !errors.Is(err, want) {
			t.Fatalf("create: %v, want %v", err, want)
		}
	}
	onWriter(t, s, func(conn *connection) error { return conn.Exec(`DELETE FROM submissions`) })
	testkit.ErrorIs(t, "the rows were counted again", testkit.ErrorOf(s.Create(t.Context(), n)), store.ErrLimit)
}

// TestLimitAfterARollback: what a transaction has counted is forgotten when it fails.
func TestLimitAfterARollback(t *testing.T) {
	s := openStore(t, t.TempDir())
	n := sample("x")
	n.Limit = 1
	errs := oneBatch(t, s,
		func() error { _, err := s.Create(t.Context(), n); return err },
		func() error {
			return s.writer.do(t.Context(), func(tx *tx) error { return tx.conn.Exec(`ROLLBACK`) })
		},
	)
	if errs[0] == nil {
		t.Fatalf("the transaction was not rolled back: %v", errs)
	}
	testkit.ErrorIs(t, "create after the rollback", testkit.ErrorOf(s.Create(t.Context(), n)), nil)
}
