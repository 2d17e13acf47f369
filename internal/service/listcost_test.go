package service

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/enginetest"
)

// counted is a store that counts what is asked of it.
type counted struct {
	store.Store
	gets, scans int
	rows        int // that were visited, or that a scan may read for its limit or ids
}

func (s *counted) Get(ctx context.Context, key store.Key) (forms.Submission, error) {
	s.gets++
	return s.Store.Get(ctx, key)
}

func (s *counted) Scan(ctx context.Context, q store.Query) query.Rows {
	return func(yield func(forms.Submission, error) bool) {
		s.scans++
		if q.Limit == 0 && q.IDs == nil {
			s.rows += 2 * engine.MaxListRows // an engine reads ahead
		}
		read := 0
		defer func() { s.rows += max(read, q.Limit, len(q.IDs)) }()
		for sub, err := range s.Store.Scan(ctx, q) {
			if read++; !yield(sub, err) {
				return
			}
		}
	}
}

// A page by id asks for no more rows than it has, and one more; a sorted one reads
// everything once, and then its rows together.
func TestCostOfPages(t *testing.T) {
	const whole = 10 + 2*engine.MaxListRows
	enginetest.Each(t, func(t *testing.T, on enginetest.Engine) {
		w := newWorldOn(t, on)
		for i := range 10 {
			w.stores("owner", "text", "x", "n", fmt.Sprint(i*7%10))
		}
		for _, tt := range []struct {
			what        string
			opts        query.List
			want        []int64
			scans, rows int
		}{
			{"one row", query.List{Limit: 1}, []int64{1}, 2, 3},
			{"from the highest", query.List{Limit: 1, Descending: true}, []int64{10}, 2, 3},
			{"with the page before", query.List{Limit: 1, After: 5, Back: true}, []int64{6}, 3, 5},
			{"three rows", query.List{Limit: 3, After: 2}, []int64{3, 4, 5}, 2, 7},
			{"beyond the last", query.List{Limit: 3, After: 10}, nil, 2, 4},
			{"sorted", query.List{Limit: 3, Sort: &query.Sort{ID: "n"}}, []int64{1, 4, 7}, 2, whole + 3},
			{
				"all, sorted",
				query.List{Limit: query.MaxPage, Sort: &query.Sort{ID: "n"}},
				[]int64{1, 4, 7, 10, 3, 6, 9, 2, 5, 8},
				2, whole + 10,
			},
		} {
			s := &counted{Store: w.store}
			w.opts.Store = s
			ids, _ := w.listsPage(w.as(editor, "named"), tt.opts)
			if !slices.Equal(ids, tt.want) || s.gets > 0 || s.scans > tt.scans || s.rows > tt.rows {
				t.Errorf("%s: %v by %d gets and %d scans of %d rows, want %v by %d of %d",
					tt.what, ids, s.gets, s.scans, s.rows, tt.want, tt.scans, tt.rows)
			}
		}
	})
}
