package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// table returns a ListReader of the ids 1 to rows, at most atOnce in each part. It
// records each query in asked.
func table(rows int64, atOnce int, asked *[]store.Query) ListReader {
	return func(_ context.Context, c *Rows, q store.Query) error {
		*asked = append(*asked, q)
		for id := q.After + 1; id <= rows; id++ {
			if c.Full() || len(c.List) == atOnce {
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
			testkit.Must(t, testkit.Each(table(tt.rows, 4, &asked).Scan(t.Context(), q), collect(&seen)))
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
	if err := testkit.Each(read.Scan(t.Context(), store.Query{}), collect(&seen)); !errors.Is(err, errBroken) || len(seen) != 4 {
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
		{"empty", 0, 0, 3, false},
		{"all that is asked for", 3, 1, 3, true},
		{"not yet", 2, 1, 3, false},
		{"bytes", 2, MaxListBytes / 2, 3, true},
		{"fewer bytes", 1, MaxListBytes - 1, 3, false},
	} {
		c.Limit = tt.limit
		fill(tt.rows, make([]byte, tt.fields))
		testkit.Same(t, tt.what, c.Full(), tt.want)
	}
}

// TestRowsRead: a scan that ends early has read few rows beyond those that it has
// visited, and a long one does not take many parts.
func TestRowsRead(t *testing.T) {
	small := func(int64) int { return 10 }
	for _, tt := range []struct {
		what         string
		limit, visit int                // visit ends at a row
		size         func(id int64) int // of a row
		most, parts  int
	}{
		{"a limit of 1", 1, 1, small, 1, 1},
		{"a limit of 1 that goes on", 1, 2, small, 1, 1},
		{"the first row", 0, 1, small, FirstRows, 1},
		{"the last row of the first part", 0, FirstRows, small, FirstRows, 1},
		{"a row of the second part", 0, FirstRows + 1, small, FirstRows + 2*MaxListRows, 3},
		{"small rows", 0, 20_001, small, 20_000, 7},
		{"rows of 1 KiB", 0, 1500, func(int64) int { return 1 << 10 }, 2000, 8},
		{"rows that fill a part", 0, FirstRows + 10, func(int64) int { return MaxListBytes }, FirstRows + 11, FirstRows + 11},
		{"large rows after small ones", 0, 3000, func(id int64) int { return 10 + int(id/2000)*MaxListBytes }, 3001, 1003},
	} {
		read, parts := 0, 0
		reader := ListReader(func(_ context.Context, c *Rows, q store.Query) error {
			for id := q.After + 1; id <= 20_000; id++ {
				if c.Full() {
					break
				}
				c.Add(id, 1, nil, make([]byte, tt.size(id)))
			}
			parts, read, c.Last = parts+1, read+len(c.List), len(c.List) == 0
			if len(c.List) > MaxListRows || len(c.Text) > 2*MaxListBytes+10 {
				t.Errorf("%s: a part of %d rows and %d bytes", tt.what, len(c.List), len(c.Text))
			}
			return nil
		})
		var err error
		for sub, failed := range reader.Scan(t.Context(), store.Query{Limit: tt.limit}) {
			if err = failed; sub.ID == int64(tt.visit) {
				break
			}
		}
		if err != nil || read > tt.most || parts > tt.parts {
			t.Errorf("%s: %d rows in %d parts were read, want at most %d in %d: %v", tt.what, read, parts, tt.most, tt.parts, err)
		}
	}
}
