// Package storetest holds every engine to the store's contract. There are no
// opt-outs: what one engine may leave out, no caller can rely on.
package storetest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// Opener opens the database that dir names. The same dir, after Close, is the
// same database again; a new dir is an empty one.
type Opener func(t *testing.T, dir string) store.Engine

// SQL runs a statement on an open database, and returns the text of its row.
type SQL func(t *testing.T, s store.Engine, dir, statement string) string

// Run runs the whole suite. Each test has a database of its own.
func Run(t *testing.T, open Opener, sql SQL) {
	parts := []struct {
		name  string
		tests []test
	}{
		{"submissions", submissionTests},
		{"values", valueTests},
		{"update", updateTests},
		{"one submission each", submitterKeyTests},
		{"limit", limitTests},
		{"changes", changeTests},
		{"history", historyTests},
		{"definitions", definitionTests},
		{"keeps", keepTests},
		{"keys", keyTests},
		{"files", fileTests},
		{"files that are removed", sweepTests},
		{"scan", scanTests},
		{"latest", latestTests},
		{"scan while others write", scanConcurrencyTests},
		{"concurrency", concurrencyTests},
		{"lifecycle", lifecycleTests},
		{"archive", archiveTests},
		{"load", loadTests},
		{"settings", settingTests},
		{"sessions", sessionTests},
		{"outlines", outlineTests},
		{"events", eventTests},
		{"model", modelTests},
	}
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) {
			for _, test := range part.tests {
				t.Run(test.name, func(t *testing.T) { test.run(t, newBench(t, open, sql)) })
			}
		})
	}
}

type test struct {
	name string
	run  func(t *testing.T, b *bench)
}

// bench is one database under test.
type bench struct {
	store.Engine
	dir  string
	open Opener
	sql  SQL
}

var ctx = context.Background()

func newBench(t *testing.T, open Opener, sql SQL) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir(), open: open, sql: sql}
	b.Engine = open(t, b.dir)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// reopen closes the database and opens it again.
func (b *bench) reopen(t *testing.T) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	b.Engine = b.open(t, b.dir)
}

// another is another database.
func (b *bench) another(t *testing.T) *bench {
	t.Helper()
	return newBench(t, b.open, b.sql)
}

// record is a submission with its entries decoded, and thereby copied.
type record struct {
	ID, PageID       int64
	FormID, Username string
	Created          time.Time
	Entries          []forms.Entry
	Files            []forms.StoredFile
}

func (r record) key() store.Key { return store.Key{PageID: r.PageID, FormID: r.FormID, ID: r.ID} }

func decode(t rapid.TB, sub forms.Submission) record {
	t.Helper()
	entries, err := sub.Entries.Decode()
	if err != nil {
		t.Fatalf("submission %d: %v", sub.ID, err)
	}
	return record{
		ID: sub.ID, PageID: sub.PageID, FormID: sub.FormID, Username: sub.Username, Created: sub.Created, Entries: entries, Files: sub.Files,
	}
}

// created is a moment that survives storage unchanged.
var created = time.Date(2024, 2, 29, 12, 30, 45, 678e6, time.UTC)

// sample is a submission with one entry per value, of the fields f0, f1, ….
func sample(formID, username string, values ...string) store.New {
	n := store.New{PageID: 1, FormID: formID, Username: username, Created: created}
	for i, v := range values {
		n.Entries = append(n.Entries, forms.Entry{FieldID: fmt.Sprintf("f%d", i), Value: v})
	}
	return n
}

func withSubmitterKey(n store.New, key string) store.New {
	n.SubmitterKey = key
	return n
}

func (b *bench) create(t rapid.TB, n store.New) record {
	t.Helper()
	if n.SubmitterKey != "" || n.Limit > 0 {
		if err := b.tallies(t, n)[0].Refusal(n); err != nil {
			t.Errorf("before a create that succeeds: refusal %v", err)
		}
	}
	sub, err := b.Create(ctx, n)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return decode(t, sub)
}

func (b *bench) tallies(t rapid.TB, list ...store.New) []store.Tally {
	t.Helper()
	tallies, err := b.Tallies(ctx, list)
	if err != nil || len(tallies) != len(list) {
		t.Fatalf("%d tallies of %d, %v", len(tallies), len(list), err)
	}
	return tallies
}

func (b *bench) get(t rapid.TB, key store.Key) record {
	t.Helper()
	sub, err := b.Get(ctx, key)
	if err != nil {
		t.Fatalf("get %+v: %v", key, err)
	}
	return decode(t, sub)
}

func (b *bench) delete(t rapid.TB, key store.Key) {
	t.Helper()
	if err := b.Delete(ctx, key, nil); err != nil {
		t.Fatalf("delete %+v: %v", key, err)
	}
}

func (b *bench) scan(t rapid.TB, q store.Query) []record {
	t.Helper()
	var records []record
	err := testkit.Each(b.Scan(ctx, q), func(sub forms.Submission) error {
		records = append(records, decode(t, sub))
		return nil
	})
	if err != nil {
		t.Fatalf("scan %+v: %v", q, err)
	}
	return records
}

// all lists form formID of page 1, where most tests work.
func (b *bench) all(t rapid.TB, formID string) []record {
	t.Helper()
	return b.scan(t, store.Query{PageID: 1, FormID: formID})
}

// Same reports the difference between got and want, if there is one.
func Same(t rapid.TB, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) { // much faster than cmp
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// SameSchema compares the file schema.txt of an engine with the names in a new store.
func SameSchema(t testing.TB, file string, found []string) {
	t.Helper()
	slices.Sort(found)
	if want := strings.Join(found, "\n") + "\n"; file != want {
		t.Errorf("schema.txt is not what the migrations make. Write this into it:\n%s", want)
	}
}

// Parallel calls fn with 0 to n-1 at the same time and returns the errors in that order.
func Parallel(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// NoErrors fails the test at the first error.
func NoErrors(t rapid.TB, what string, errs []error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("%s, number %d: %v", what, i, err)
		}
	}
}

// Values are the first values of all that is stored for form "form" on page 1,
// by submission id.
func Values(t *testing.T, s store.Store) map[int64]string {
	t.Helper()
	found := map[int64]string{}
	err := testkit.Each(s.Scan(ctx, store.Query{PageID: 1, FormID: "form"}), func(sub forms.Submission) error {
		entries, err := sub.Entries.Decode()
		if err == nil {
			found[sub.ID] = entries[0].Value
		}
		return err
	})
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	return found
}

// waitLimit is the time limit of waits; a test that passes never reaches it.
const waitLimit = time.Minute

// await waits for done. It fails the test after waitLimit.
func await(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(waitLimit):
		t.Fatalf("%s: still waiting after %v", what, waitLimit)
	}
}

// finishes fails the test if fn does not return within waitLimit.
func finishes(t *testing.T, what string, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	await(t, what, done)
}
