package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/storetest"
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
			url := database(t)
			s := openStore(t, url)
			count := fill(t, url)
			l, q, next := &list{store: s, rows: firstRows}, store.Query{PageID: 1, FormID: "form"}, int64(0)
			for last := false; !last; {
				var c engine.Rows
				if err := l.read(ctx, &c, q); err != nil {
					t.Fatal(err)
				}
				if c.Bytes() > engine.MaxListBytes+1<<20+100 || c.Len() > engine.MaxListRows {
					t.Errorf("%d rows of %d bytes in one read", c.Len(), c.Bytes())
				}
				if weight := l.rows * (c.Bytes() / max(c.Len(), 1)); l.rows > 1 && weight > engine.MaxListBytes {
					t.Errorf("after %d rows of %d bytes the next limit is %d", c.Len(), c.Bytes(), l.rows)
				}
				q.After += int64(c.Len())
				last = c.Last
			}
			storetest.Same(t, "rows in parts", q.After, int64(count))
			err := s.Scan(ctx, store.Query{PageID: 1, FormID: "form"}, func(sub forms.Submission) error {
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
	url := database(t)
	s := openStore(t, url)
	insertRows(t, url, 1, firstRows-1, encoded(100))
	var c engine.Rows
	if err := (&list{store: s, rows: firstRows}).read(ctx, &c, store.Query{PageID: 1, FormID: "form"}); err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "rows", c.Len(), firstRows-1)
	storetest.Same(t, "last part", c.Last, true)
}
