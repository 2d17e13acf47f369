package storetest

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

var archiveTests = []test{
	{"dump visits all, in the order of their keys", testDump},
	{"dump of many rows, and of large ones", testDumpMany},
	{"the loop of a dump can be left", testLeftDump},
	{"a dump is one snapshot", testDumpSnapshot},
	{"visit may write to the store", testDumpVisitWrites},
	{"submissions are counted", testCount},
	{"a store is cleared", testClear},
	{"close waits for a dump", testCloseDuringDump},
}

// decodeRow copies what Dump hands out.
func decodeRow(t rapid.TB, r store.Record) row {
	t.Helper()
	return row{decode(t, r.Submission), r.SubmitterKey, r.Key, r.Body}
}

func (b *bench) dump(t rapid.TB) []row {
	t.Helper()
	var rows []row
	err := EachDumped(b.Dump(ctx), func(r store.Record) error {
		rows = append(rows, decodeRow(t, r))
		return nil
	}, nil)
	if err != nil {
		t.Fatalf("dump: %v", err)
	}
	return rows
}

func byKey(a, b store.Key) int {
	return cmp.Or(cmp.Compare(a.PageID, b.PageID), strings.Compare(a.FormID, b.FormID), cmp.Compare(a.ID, b.ID))
}

func sortRows(rows []row) []row {
	slices.SortFunc(rows, func(a, b row) int { return byKey(a.key(), b.key()) })
	return rows
}

// fillForms stores submissions on two pages, some with limits and keys, in forms
// that a collation sorts differently than by bytes. The order of their ids is not
// that of their keys.
func (b *bench) fillForms(t *testing.T) []row {
	t.Helper()
	var rows []row
	for i, form := range append([]string{""}, texts[:18]...) {
		for _, page := range []int64{12, 2} {
			n := sample(form, []string{"", "amy"}[i%2], form, "x")
			n.PageID = page
			if i%3 > 0 {
				n.SubmitterKey = "key of " + form
			}
			if i%4 > 1 {
				n.Key, n.Body = "request "+form, "what was sent"
			}
			rows = append(rows, row{b.create(t, n), n.SubmitterKey, n.Key, n.Body})
		}
	}
	rows = append(rows, row{record: b.create(t, sample("a", "bob", "later"))}) // its id is the highest, its key is not
	return sortRows(rows)
}

func testDump(t *testing.T, b *bench) {
	Same(t, "of an empty store", len(b.dump(t)), 0)
	want := b.fillForms(t)
	Same(t, "dumped", b.dump(t), want)
	b.delete(t, want[3].key())
	b.reopen(t)
	Same(t, "dumped again", b.dump(t), slices.Delete(slices.Clone(want), 3, 4))
}

func testDumpMany(t *testing.T, b *bench) {
	var want []row
	for _, r := range slices.Concat(b.fill(t, "many", 200, 300), b.fill(t, "large", 3, 300<<10)) {
		want = append(want, row{record: r})
	}
	sortRows(want)
	Same(t, "dumped", b.dump(t), want)
}

func testLeftDump(t *testing.T, b *bench) {
	all := b.fillForms(t)
	for _, stop := range []int{1, 2, len(all)} {
		rows := 0
		for _, err := range b.Dump(ctx) {
			if rows++; err != nil || rows == stop {
				break
			}
		}
		Same(t, "rows", rows, stop)
	}
	Same(t, "a dump after those", len(b.dump(t)), len(all))
}

// testDumpSnapshot changes everything in every way once the dump has begun.
func testDumpSnapshot(t *testing.T, b *bench) {
	var want []row
	for _, r := range b.fill(t, "form", 300, 1000) {
		want = append(want, row{record: r})
	}
	var got []row
	err := EachDumped(b.Dump(ctx), func(r store.Record) error {
		if len(got) == 0 {
			b.delete(t, want[150].key())
			b.delete(t, want[299].key())
			if _, err := b.Update(ctx, want[298].key(), set(t, "f0", "new")); err != nil {
				return err
			}
			b.create(t, sample("form", "bob", "new"))
			b.create(t, sample("new form", "bob", "new"))
		}
		got = append(got, decodeRow(t, r))
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	Same(t, "dumped", got, want)
	Same(t, "dumped afterwards", len(b.dump(t)), 300)
}

func testDumpVisitWrites(t *testing.T, b *bench) {
	all := b.fillForms(t)
	finishes(t, "a dump whose visit calls the store", func() {
		err := EachDumped(b.Dump(ctx), func(r store.Record) error {
			return b.callAll(t, store.Key{PageID: r.PageID, FormID: r.FormID, ID: r.ID})
		}, nil)
		if err != nil {
			t.Error(err)
		}
	})
	Same(t, "left", len(b.dump(t)), len(all))
}

func (b *bench) checkCount(t *testing.T, want int) {
	t.Helper()
	count, err := b.Count(ctx)
	if err != nil {
		t.Fatalf("count: %v", err)
	}
	Same(t, "count", count, int64(want))
}

func testCount(t *testing.T, b *bench) {
	b.checkCount(t, 0)
	all := b.fillForms(t)
	b.checkCount(t, len(all))
	b.delete(t, all[0].key())
	b.checkCount(t, len(all)-1)
}

// testClear: what was cleared is gone with its files and limits, can be loaded
// again, and its ids are not assigned again.
func testClear(t *testing.T, b *bench) {
	b.clear(t)
	b.fillForms(t)
	f := b.stage(t, "a", noise(10))
	withFile := b.create(t, withFiles(withSubmitterKey(sample("form", "amy", "x"), "amy"), f))
	b.stage(t, "unfinished", noise(10))
	if _, err := b.Claim(ctx, "name", "value"); err != nil {
		t.Fatal(err)
	}
	last := b.lastID(t)
	b.clear(t)
	b.checkCount(t, 0)
	b.checkSetting(t, "name", "value")
	if _, err := b.OpenFile(ctx, withFile.key(), f.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a file of what was cleared: %v, want %v", err, store.ErrNotFound)
	}
	b.load(t, loadable("form", withFile.ID))
	b.delete(t, withFile.key())
	b.create(t, withSubmitterKey(sample("form", "amy", "x"), "amy"))
	b.checkNext(t, "after a clear", last)
}

func (b *bench) clear(t *testing.T) {
	t.Helper()
	if err := b.Clear(ctx); err != nil {
		t.Fatalf("clear: %v", err)
	}
}

// archiveCalls are one of each method.
func (b *bench) archiveCalls(ctx context.Context) map[string]error {
	_, count := b.Count(ctx)
	_, lastID := b.LastID(ctx)
	_, claim := b.Claim(ctx, "late", "x")
	_, setting := b.Setting(ctx, "late")
	late := store.Record{Submission: forms.Submission{ID: 99, PageID: 1, FormID: "form", Created: created, Entries: forms.EncodeEntries(nil, nil)}}
	return map[string]error{
		"dump": EachDumped(b.Dump(ctx), func(store.Record) error { return errors.New("visited") }, nil),
		"load": b.Load(ctx, []store.Record{late}), "clear": b.Clear(ctx), "count": count, "last id": lastID,
		"advance": b.Advance(ctx, 1000),
		"claim":   claim, "setting": setting, "release": b.Release(ctx, "late"),
	}
}

func testCloseDuringDump(t *testing.T, b *bench) {
	const count = 5
	b.fill(t, "form", count, 10)
	closed := make(chan error, 1)
	seen, early := 0, false
	err := EachDumped(b.Dump(ctx), func(store.Record) error {
		if seen++; seen == 1 {
			go func() { closed <- b.Close() }()
			for b.Ping(ctx) == nil {
				runtime.Gosched()
			}
		}
		select {
		case <-closed:
			early = true
		case <-time.After(10 * time.Millisecond):
		}
		return nil
	}, nil)
	if err != nil || seen != count || early {
		t.Errorf("%d of %d visited, %v; closed before the end: %t", seen, count, err, early)
	}
	if !early {
		finishes(t, "close", func() {
			if err := <-closed; err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	b.reopen(t)
	b.checkCount(t, count)
}

// EachDumped calls visit for the submissions of a dump, and event for its events unless it is nil, until one of them
// returns an error.
func EachDumped(dump iter.Seq2[store.Dumped, error], visit func(store.Record) error, event func(store.Event) error) error {
	return testkit.Each(dump, func(d store.Dumped) error {
		switch {
		case d.Event == nil:
			return visit(d.Record)
		case event != nil:
			return event(*d.Event)
		}
		return nil
	})
}
