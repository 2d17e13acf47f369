package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

func insertRows(t *testing.T, url string, from, to int, fields string) {
	t.Helper()
	exec(t, url, `INSERT INTO submissions (page_id, form_id, id, username, created, fields)
		SELECT 1, 'form', i, 'amy', 0, $3::text FROM generate_series($1::bigint, $2::bigint) AS i`, from, to, fields)
}

func encoded(size int) string {
	return string(forms.EncodeEntries(nil, []forms.Entry{{ID: 1, FieldID: "field", Value: strings.Repeat("x", size)}}))
}

// TestPartsOfListsAreSmall: each read of a list is bounded in rows and bytes, and
// the parts together are the whole list.
func TestPartsOfListsAreSmall(t *testing.T) {
	for name, fill := range map[string]func(t *testing.T, url string) int{
		"rows of 1 KB":         func(t *testing.T, url string) int { insertRows(t, url, 1, 1000, encoded(1000)); return 1000 },
		"rows without entries": func(t *testing.T, url string) int { insertRows(t, url, 1, 9001, `{}`); return 9001 },
		"rows of 1 MB":         func(t *testing.T, url string) int { insertRows(t, url, 1, 10, encoded(1<<20)); return 10 },
		"small, then large": func(t *testing.T, url string) int {
			insertRows(t, url, 1, 5000, `{}`)
			insertRows(t, url, 5001, 5010, encoded(1<<20))
			insertRows(t, url, 5011, 5100, `{}`)
			return 5100
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := newDatabase(t)
			s := openStore(t, url)
			count := fill(t, url)
			q, next := store.Query{PageID: 1, FormID: "form"}, int64(0)
			for last := false; !last; {
				c := engine.Rows{Limit: engine.MaxListRows}
				must(t, s.readPart(ctx, &c, q))
				if len(c.Text) > engine.MaxListBytes+1<<20+100 || len(c.List) > engine.MaxListRows {
					t.Errorf("%d rows of %d bytes in one read", len(c.List), len(c.Text))
				}
				q.After += int64(len(c.List))
				last = c.Last
			}
			storetest.Same(t, "rows in parts", q.After, int64(count))
			err := testkit.Each(s.Scan(ctx, store.Query{PageID: 1, FormID: "form"}), func(sub forms.Submission) error {
				if next++; sub.ID != next {
					return fmt.Errorf("submission %d, where %d is next", sub.ID, next)
				}
				return nil
			})
			if err != nil || next != int64(count) {
				t.Errorf("%d rows, want %d: %v", next, count, err)
			}
		})
	}
}

// TestShortListIsOneRead: a short list needs no second query to find its end.
func TestShortListIsOneRead(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	insertRows(t, url, 1, engine.FirstRows-1, encoded(100))
	c := engine.Rows{Limit: engine.FirstRows}
	must(t, s.readPart(ctx, &c, store.Query{PageID: 1, FormID: "form"}))
	storetest.Same(t, "rows", len(c.List), engine.FirstRows-1)
	storetest.Same(t, "last part", c.Last, true)
}

// TestRowsByIDAreReadTogether: a page of a sorted list takes a few statements, not one
// for each row.
func TestRowsByIDAreReadTogether(t *testing.T) {
	url := newDatabase(t)
	s := openSingle(t, url)
	insertRows(t, url, 1, store.MaxIDs, encoded(500))
	ids := make([]int64, store.MaxIDs)
	for i := range ids {
		ids[i] = int64(len(ids) - i)
	}
	q, rows := store.Query{PageID: 1, FormID: "form", IDs: ids}, 0
	must(t, testkit.Each(s.Scan(ctx, q), func(forms.Submission) error { rows++; return nil }))
	var statements int
	const executed = `SELECT custom_plans + generic_plans FROM pg_prepared_statements WHERE statement = $1`
	read := func(next engine.Next) { next(&statements) }
	must(t, (database{s}).Query(ctx, read, executed, listSQL(q)))
	if rows != len(ids) || statements > 4 {
		t.Errorf("%d rows by %d statements", rows, statements)
	}
}
