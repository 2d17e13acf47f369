package service

import (
	"fmt"
	"slices"
	"testing"

	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

// backLists are lists that can be read page by page in both directions.
func backLists() map[string]query.List {
	some := query.Filter{Search: "a"}
	return map[string]query.List{
		"ascending":           {},
		"descending":          {Descending: true},
		"filtered":            {Filter: some},
		"filtered descending": {Filter: some, Descending: true},
		"sorted":              {Sort: &query.Sort{ID: "n"}},
		"sorted descending":   {Sort: &query.Sort{ID: "n", Descending: true}, Filter: some},
	}
}

func (w *world) storesMany() {
	for i := range 23 {
		n := fmt.Sprint(i % 5)
		if i%7 == 0 {
			n = ""
		}
		w.stores("owner", "text", []string{"a", "b", "Ab"}[i%3], "n", n)
	}
}

// TestPagesBack walks to the end of a list, and back over the same pages.
func TestPagesBack(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, engine enginetest.Engine) {
		w := newWorldOn(t, engine)
		w.storesMany()
		for what, opts := range backLists() {
			opts.Limit, opts.Back = 4, true
			var walked [][]int64
			for {
				ids, page := w.listsPage(w.as(editor, "named"), opts)
				if first := len(walked) == 0; first != (page.Previous == nil) {
					t.Fatalf("%s: page %d has previous %v", what, len(walked), page.Previous)
				}
				walked = append(walked, ids)
				if page.After == 0 && page.Cursor == "" {
					break
				}
				opts.After, opts.Cursor = page.After, page.Cursor
			}
			for i := len(walked) - 1; i >= 0; i-- {
				ids, page := w.listsPage(w.as(editor, "named"), opts)
				if !slices.Equal(ids, walked[i]) {
					t.Fatalf("%s: page %d is %v on the way back, and was %v", what, i, ids, walked[i])
				}
				if i > 0 {
					opts.After, opts.Cursor = page.Previous.After, page.Previous.Cursor
				}
			}
		}
	})
}

func TestNeighbours(t *testing.T) {
	w := newWorld(t)
	w.storesMany()
	a := w.as(editor, "named")
	for what, opts := range backLists() {
		opts.Limit = 100
		ids, _ := w.listsPage(a, opts)
		around := append(append([]int64{0}, ids...), 0)
		for i, id := range ids {
			sub, err := a.Get(t.Context(), id)
			testkit.Must(t, err)
			opts.After = 5 // it does not count
			before, after, err := a.Submissions(t.Context(), nil).Neighbours(opts, sub)
			if err != nil || before != around[i] || after != around[i+2] {
				t.Errorf("%s: %d is between %d and %d (%v), want %d and %d", what, id, before, after, err, around[i], around[i+2])
			}
		}
	}
	// Submissions of other users are left out.
	mine := w.stores("viewer", "text", "a")
	sub, err := w.as(viewer, "named").Get(t.Context(), mine)
	testkit.Must(t, err)
	if before, after, err := w.as(viewer, "named").Submissions(t.Context(), nil).Neighbours(query.List{}, sub); before != 0 || after != 0 || err != nil {
		t.Errorf("a viewer's only submission is between %d and %d (%v)", before, after, err)
	}
}
