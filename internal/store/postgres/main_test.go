package postgres

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/pgtest"
)

var ctx = context.Background()

func database(t *testing.T) string {
	t.Helper()
	return pgtest.Shared(t).Database(t)
}

func openStore(t *testing.T, url string) *Store {
	t.Helper()
	s, err := Open(ctx, Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// exec runs SQL as somebody else would, over a connection of its own.
func exec(t *testing.T, url, sql string, args ...any) {
	t.Helper()
	query(t, url, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	})
}

func query(t *testing.T, url string, fn func(*pgx.Conn) error) {
	t.Helper()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := fn(conn); err != nil {
		t.Fatal(err)
	}
}

func sample(value string) store.New {
	return store.New{
		PageID: 1, FormID: "form", Username: "amy", Created: time.UnixMilli(0),
		Entries: []forms.Entry{{FieldID: "field", Value: value}},
	}
}

func once(n store.New, key string) store.New {
	n.Username, n.Once = "", key
	return n
}

func keyOf(sub forms.Submission) store.Key {
	return store.Key{PageID: sub.PageID, FormID: sub.FormID, ID: sub.ID}
}

func mustCreate(t *testing.T, s *Store, n store.New) forms.Submission {
	t.Helper()
	sub, err := s.Create(ctx, n)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return sub
}

// values are all stored values by submission id.
func values(t *testing.T, s *Store) map[int64]string {
	t.Helper()
	found := map[int64]string{}
	err := s.Scan(ctx, store.Query{PageID: 1, FormID: "form"}, func(sub forms.Submission) error {
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

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) { // cmp is for telling the difference: it takes its time
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// parallel calls fn with 0 to n-1 at the same time and returns the errors in that order.
func parallel(n int, fn func(i int) error) []error {
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

func noErrors(t *testing.T, what string, errs []error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("%s, number %d: %v", what, i, err)
		}
	}
}

// set returns a merge that gives a field a value, and leaves the others alone.
func set(fieldID, value string) func(forms.Submission) ([]forms.Entry, error) {
	return func(sub forms.Submission) ([]forms.Entry, error) {
		entries, err := sub.Entries.Decode()
		for i := range entries {
			if entries[i].FieldID == fieldID {
				entries[i].Value = value
				return entries, err
			}
		}
		return append(entries, forms.Entry{FieldID: fieldID, Value: value}), err
	}
}
