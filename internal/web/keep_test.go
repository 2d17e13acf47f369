package web

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// TestExpiring: while a new keep waits for its day, editors are told what it will delete and when.
func TestExpiring(t *testing.T) {
	const hour = time.Hour
	year, days := forms.Period{N: 1, Unit: "year"}, forms.Period{N: 90, Unit: "day"}
	e := newEnv(t, page1("edit: [carol]\n", "form: f\nkeep: 90 days\nfields: [{id: a, type: textfield}]\n"))
	stored := func(age time.Duration) {
		t.Helper()
		_, err := e.Engine.Create(t.Context(), store.New{PageID: 1, FormID: "f", Created: time.Now().Add(-age)})
		testkit.Must(t, err)
	}
	check := func(keep store.Keep, want string) {
		t.Helper()
		keep.PageID, keep.FormID = 1, "f"
		testkit.Must(t, e.Engine.LoadKeeps(t.Context(), []store.Keep{keep}))
		if want != "" {
			after := keep.Since.Add(store.Grace).UTC().Format("2 Jan 2006, 15:04")
			want = fmt.Sprintf(want, after) + " before then. Only editors of the page see this."
		}
		for _, path := range []string{"/page/1/form/f", "/page/1/form/f/results"} {
			p := e.get("carol", path)
			if want == "" {
				p.wantNoHTML("will be deleted")
			} else {
				p.want(200, want)
			}
			e.get("alice", path).wantNoHTML("will be deleted")
		}
	}
	begun := time.Now().Truncate(time.Millisecond)
	check(store.Keep{Period: days, Since: begun}, "") // nothing is stored
	stored(80 * 24 * hour)
	check(store.Keep{Period: days, Since: begun}, "")
	stored(89*24*hour + 2*hour)
	const one = "1 submission will be deleted after %s UTC because of keep: 90 days. If it is still needed, remove or extend keep"
	check(store.Keep{Period: days, Since: begun}, one) // by then it is 90 days old
	check(store.Keep{Period: days, Since: begun.Add(-22 * hour)}, "")
	stored(91 * 24 * hour)
	check(store.Keep{Period: days, Since: begun.Add(-23 * hour), Before: year}, one)
	check(store.Keep{Period: days, Since: begun.Add(-25 * hour), Before: year}, "") // it is in force
	e.edit(page1("edit: [carol]\n", "form: f\nkeep: 1 year\nfields: [{id: a, type: textfield}]\n"))
	check(store.Keep{Period: year, Since: begun, Before: days}, "") // it deletes less
	check(store.Keep{Period: days, Since: begun, Before: days}, "") // so does what is not stored yet
	e.edit(page1("edit: [carol]\n", "form: f\nkeep: 90 days\nfields: [{id: a, type: textfield}]\n"))
	stored(92 * 24 * hour)
	const two = "2 submissions will be deleted after %s UTC because of keep: 90 days. If they are still needed, remove or extend keep"
	check(store.Keep{Period: days, Since: begun.Add(-23 * hour)}, two)
	e.edit(page1("edit: [carol]\n", "form: f\nfields: [{id: a, type: textfield}]\n"))
	check(store.Keep{Period: days, Since: begun.Add(-23 * hour)}, "") // it was taken back
}

// crowded is a store whose forms have as many old submissions as are asked for.
type crowded struct{ store.Store }

func (crowded) Scan(_ context.Context, q store.Query) iter.Seq2[forms.Submission, error] {
	return func(yield func(forms.Submission, error) bool) {
		for i := 0; i < q.Limit && yield(forms.Submission{Created: began}, nil); i++ {
		}
	}
}

func (crowded) CountNamed(context.Context, int64, string) (named, all int, err error) {
	return store.MaxLimit, store.MaxLimit, nil
}

// TestExpiringIsBounded: at most store.MaxLimit submissions are counted.
func TestExpiringIsBounded(t *testing.T) {
	e := newEnv(t, page1("edit: [carol]\n", "form: f\nkeep: 90 days\nfields: [{id: a, type: textfield}]\n"), func(o *envOptions) {
		o.service.Store = crowded{o.service.Store}
	})
	testkit.Must(t, e.Store.SetKeep(t.Context(), 1, "f", forms.Period{N: 90, Unit: "day"}))
	e.get("carol", "/page/1/form/f").want(200, "10,000+ submissions will be deleted after ")
}
