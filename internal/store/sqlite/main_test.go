package sqlite

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", fmt.Sprint(testkit.Rounds(25, 100))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

var ctx = context.Background()

var must = testkit.Must

func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(ctx, dir, Options{})
	must(t, err)
	t.Cleanup(func() {
		testkit.ErrorIs(t, "close", s.Close(), nil)
	})
	return s
}

func sample(value string) store.New {
	return store.New{
		PageID: 1, FormID: "form", Username: "amy", Created: time.UnixMilli(0),
		Entries: []forms.Entry{{FieldID: "field", Value: value}},
	}
}

func keyOf(sub forms.Submission) store.Key {
	return store.Key{PageID: sub.PageID, FormID: sub.FormID, ID: sub.ID}
}

func withSubmitterKey(n store.New, key string) store.New {
	n.Username, n.SubmitterKey = "", key
	return n
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

// onWriter calls fn with the writing connection, on the writer's goroutine.
func onWriter(t *testing.T, s *Store, fn func(*connection) error) {
	t.Helper()
	must(t, s.writer.do(ctx, func(tx *tx) error { return fn(tx.conn) }))
}

func queryText(conn *sqlite3.Conn, sql string) (string, error) {
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		return "", err
	}
	defer func() { _ = stmt.Close() }()
	var lines []string
	for stmt.Step() {
		lines = append(lines, stmt.ColumnText(stmt.ColumnCount()-1))
	}
	return strings.Join(lines, "\n"), stmt.Err()
}

func writerQuery(t *testing.T, s *Store, sql string) string {
	t.Helper()
	var text string
	onWriter(t, s, func(conn *connection) (err error) {
		text, err = queryText(conn.Conn, sql)
		return err
	})
	return text
}

func checkIntegrity(t *testing.T, s *Store) {
	t.Helper()
	storetest.Same(t, "integrity check", writerQuery(t, s, "PRAGMA integrity_check"), "ok")
}

// oneBatch calls all ops such that they are queued together: it keeps the writer
// busy until then. They should share one transaction.
func oneBatch(t *testing.T, s *Store, ops ...func() error) []error {
	t.Helper()
	s.writer.lastSingle.Store(false) // through the queue, all of them
	busy, release := make(chan struct{}), make(chan struct{})
	errs := make([]error, len(ops))
	var wg sync.WaitGroup
	wg.Go(func() {
		testkit.ErrorIs(t, "keep the writer busy", s.writer.do(ctx, func(*tx) error { close(busy); <-release; return nil }), nil)
	})
	<-busy
	for i, op := range ops {
		wg.Go(func() { errs[i] = op() })
		waitQueued(t, s, i+1) // one after the other, so that their order is known
	}
	close(release)
	wg.Wait()
	return errs
}

// waitQueued waits until so many operations are queued, behind one that keeps the
// writer busy.
func waitQueued(t *testing.T, s *Store, count int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprint(count, " operations are queued"), func() bool { return s.writer.queue.Waiting() > count })
}

func creating(s *Store, n store.New) func() error {
	return func() error {
		_, err := s.Create(ctx, n)
		return err
	}
}
