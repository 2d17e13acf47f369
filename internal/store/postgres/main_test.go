package postgres

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/testkit"
)

var ctx = context.Background()

// TestMain draws fewer cases in tests of a commit.
func TestMain(m *testing.M) {
	if !testkit.Release() {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

var must = testkit.Must

func newDatabase(t *testing.T) string {
	t.Helper()
	return pgtest.Shared(t).Database(t)
}

func openStore(t *testing.T, url string) *Store {
	t.Helper()
	s, err := Open(ctx, Options{URL: url})
	must(t, err)
	t.Cleanup(func() {
		testkit.ErrorIs(t, "close", s.Close(), nil)
	})
	return s
}

// exec runs SQL on a connection of its own, as another program would.
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
	must(t, err)
	defer conn.Close(ctx)
	must(t, fn(conn))
}

func sample(value string) store.New {
	return store.New{
		PageID: 1, FormID: "form", Username: "amy", Created: time.UnixMilli(0),
		Entries: []forms.Entry{{FieldID: "field", Value: value}},
	}
}

func withSubmitterKey(n store.New, key string) store.New {
	n.Username, n.SubmitterKey = "", key
	return n
}

func keyOf(sub forms.Submission) store.Key {
	return store.Key{PageID: sub.PageID, FormID: sub.FormID, ID: sub.ID}
}

func keyed(n store.New, key string) store.New {
	n.Key, n.Body = key, "body"
	return n
}

func mustCreate(t *testing.T, s *Store, n store.New) forms.Submission {
	t.Helper()
	sub, err := s.Create(ctx, n)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return sub
}

// set returns a merge that sets one field and keeps the others.
func set(fieldID, value string) store.Merge {
	return func(sub forms.Submission) (store.Change, error) {
		entries, err := sub.Entries.Decode()
		for i := range entries {
			if entries[i].FieldID == fieldID {
				entries[i].Value = value
				return store.Change{Entries: entries, Files: sub.Files}, err
			}
		}
		return store.Change{Entries: append(entries, forms.Entry{FieldID: fieldID, Value: value})}, err
	}
}
