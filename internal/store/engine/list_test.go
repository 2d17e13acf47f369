package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

// table returns a ListReader of the ids 1 to rows, atOnce in each chunk. It records each
// query in asked.
func table(rows int64, atOnce int, asked *[]store.Query) ListReader {
	return func(_ context.Context, c *Rows, q store.Query) error {
		*asked = append(*asked, q)
		for id := q.After + 1; id <= rows; id++ {
			if c.Full(q) || c.Len() == atOnce {
				return nil
			}
			c.Add(id, 1000*id, fmt.Appendf(nil, "user%d", id/3), fmt.Appendf(nil, "text %d", id))
		}
		c.Last = true
		return nil
	}
}

func collect(seen *[]forms.Submission) func(forms.Submission) error {
	return func(sub forms.Submission) error {
		sub.Entries = slices.Clone(sub.Entries)
		*seen = append(*seen, sub)
		return nil
	}
}

func TestScan(t *testing.T) {
	for _, tt := range []struct {
		rows       int64
		limit      int
		want, asks int
	}{
		{0, 0, 0, 1},
		{3, 0, 3, 1},
		{10, 0, 10, 3},
		{8, 0, 8, 2},
		{10, 4, 4, 1},
		{10, 6, 6, 2},
		{10, 100, 10, 3},
	} {
		t.Run(fmt.Sprint(tt.rows, " rows, limit ", tt.limit), func(t *testing.T) {
			var asked []store.Query
			var seen []forms.Submission
			q := store.Query{PageID: 7, FormID: "form", Limit: tt.limit}
			if err := table(tt.rows, 4, &asked).Scan(t.Context(), q, collect(&seen)); err != nil {
				t.Fatal(err)
			}
			if len(seen) != tt.want || len(asked) != tt.asks {
				t.Fatalf("%d rows by %d queries, want %d by %d", len(seen), len(asked), tt.want, tt.asks)
			}
			for i, sub := range seen {
				id := int64(i + 1)
				if sub.ID != id || sub.PageID != 7 || sub.FormID != "form" || sub.Created.UnixMilli() != 1000*id ||
					sub.Username != fmt.Sprint("user", id/3) || string(sub.Entries) != fmt.Sprint("text ", id) {
					t.Errorf("row %d is %+v", id, sub)
				}
			}
		})
	}
}

var errBroken = errors.New("broken")

func TestScanStopsAtAFailedRead(t *testing.T) {
	var asked []store.Query
	whole := table(10, 4, &asked)
	read := ListReader(func(ctx context.Context, c *Rows, q store.Query) error {
		if q.After > 0 {
			return errBroken
		}
		return whole(ctx, c, q)
	})
	var seen []forms.Submission
	if err := read.Scan(t.Context(), store.Query{}, collect(&seen)); !errors.Is(err, errBroken) || len(seen) != 4 {
		t.Errorf("%d rows, %v", len(seen), err)
	}
}

func TestFull(t *testing.T) {
	var c Rows
	fill := func(rows int, fields []byte) {
		c.Reset()
		for range rows {
			c.Add(1, 1, nil, fields)
		}
	}
	for _, tt := range []struct {
		what   string
		rows   int
		fields int
		limit  int
		want   bool
	}{
		{"empty", 0, 0, 0, false},
		{"all that is asked for", 3, 1, 3, true},
		{"not yet", 2, 1, 3, false},
		{"bytes", 2, MaxListBytes / 2, 0, true},
		{"fewer bytes", 1, MaxListBytes - 1, 0, false},
		{"rows without bytes", MaxListRows, 0, 0, true},
		{"fewer of them", MaxListRows - 1, 0, 0, false},
	} {
		fill(tt.rows, make([]byte, tt.fields))
		if got := c.Full(store.Query{Limit: tt.limit}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, got, tt.want)
		}
	}
}
