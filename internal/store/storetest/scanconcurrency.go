package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

var scanConcurrencyTests = []test{
	{"rows that stay are visited exactly once", testScanStable},
	{"updates are seen whole", testScanUpdates},
}

// background runs fn over and over, until the returned function is called.
func background(t *testing.T, workers int, fn func(worker, round int) error) (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-quit:
					return
				default:
				}
				if err := fn(w, round); err != nil {
					t.Errorf("in the background: %v", err)
					return
				}
			}
		})
	}
	return func() {
		close(quit)
		wg.Wait()
	}
}

// testScanStable scans while rows come and go between, before and after those that stay.
func testScanStable(t *testing.T, b *bench) {
	var stay, leave []record
	for i, r := range b.fill(t, "form", 400, 2000) {
		if i%2 == 0 {
			stay = append(stay, r)
		} else {
			leave = append(leave, r)
		}
	}
	stop := background(t, 2, func(worker, round int) error {
		if i := 2*round + worker; i < len(leave) {
			if err := b.Delete(ctx, leave[i].key(), nil); err != nil {
				return err
			}
		}
		sub, err := b.Create(ctx, sample("form", "bob", "passing through"))
		if err != nil || round%2 == 0 {
			return err
		}
		return b.Delete(ctx, store.Key{PageID: 1, FormID: "form", ID: sub.ID}, nil)
	})
	defer stop()
	for round := range 4 {
		last := stay[len(stay)-1].ID // what is created meanwhile would never end
		descending := round%2 == 1
		q := store.Query{PageID: 1, FormID: "form", Descending: descending}
		if descending {
			q.After = last + 1
		}
		checkStable(t, b.scanUntil(t, q, last), stay, descending)
	}
}

// scanUntil is scan, but stops beyond id last.
func (b *bench) scanUntil(t *testing.T, q store.Query, last int64) []record {
	t.Helper()
	var records []record
	err := testkit.Each(b.Scan(ctx, q), func(sub forms.Submission) error {
		if sub.ID > last {
			return errStop
		}
		records = append(records, decode(t, sub))
		return nil
	})
	if err != nil && err != errStop { //nolint:errorlint // as it is, not wrapped
		t.Fatalf("scan %+v: %v", q, err)
	}
	return records
}

var errStop = fmt.Errorf("stop")

func checkStable(t *testing.T, got, stay []record, descending bool) {
	t.Helper()
	ids := make([]int64, len(got))
	for i, r := range got {
		ids[i] = r.ID
	}
	want := make([]int64, len(stay))
	for i, r := range stay {
		want[i] = r.ID
	}
	if descending {
		slices.Reverse(ids)
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("not in the order of ids, or some twice: %v", ids)
	}
	kept := slices.DeleteFunc(ids, func(id int64) bool { return !slices.Contains(want, id) })
	Same(t, "rows that were there throughout", kept, want)
}

// testScanUpdates: two fields that always change together are never seen apart.
func testScanUpdates(t *testing.T, b *bench) {
	var stored []record
	for range 5 {
		stored = append(stored, b.create(t, sample("form", "amy", "0", "0")))
	}
	stop := background(t, 2, func(worker, round int) error {
		_, err := b.Update(ctx, stored[(round+worker)%len(stored)].key(), func(sub forms.Submission) (store.Change, error) {
			entries, err := sub.Entries.Decode()
			for i := range entries {
				entries[i].Value = fmt.Sprint(round)
			}
			return store.Change{Entries: entries}, err
		})
		return err
	})
	defer stop()
	for range 20 {
		for i, r := range b.all(t, "form") {
			if len(r.Entries) != 2 || r.Entries[0].Value != r.Entries[1].Value || r.ID != stored[i].ID {
				t.Fatalf("half an update: %+v", r)
			}
		}
	}
}
