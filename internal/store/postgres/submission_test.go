package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/storetest"
	"github.com/formulary/formulary/internal/testkit"
)

// TestManyEntries: a submission with more entries than a block has ids.
func TestManyEntries(t *testing.T) {
	s := openStore(t, database(t))
	n := sample("x")
	for i := range 3 * entryBlock {
		n.Entries = append(n.Entries, forms.Entry{FieldID: fmt.Sprint("f", i)})
	}
	sub := mustCreate(t, s, n)
	updated, err := s.Update(ctx, keyOf(sub), func(sub forms.Submission) (store.Change, error) {
		entries, err := sub.Entries.Decode()
		for i := range 2*entryBlock + 1 {
			entries = append(entries, forms.Entry{FieldID: fmt.Sprint("g", i)})
		}
		return store.Change{Entries: entries}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := updated.Entries.Decode()
	if err != nil {
		t.Fatal(err)
	}
	storetest.Same(t, "entries", len(entries), 1+3*entryBlock+2*entryBlock+1)
	for i := 1; i < len(entries); i++ {
		if entries[i].ID <= entries[i-1].ID {
			t.Errorf("entry id %d after %d", entries[i].ID, entries[i-1].ID)
		}
	}
}

// TestEntryIDsComeInBlocks: the increment in the schema is entryBlock.
func TestEntryIDsComeInBlocks(t *testing.T) {
	url := database(t)
	openStore(t, url)
	var step, most int64
	query(t, url, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT increment_by, max_value FROM pg_sequences WHERE sequencename = 'entry_ids'`).Scan(&step, &most)
	})
	storetest.Same(t, "step", step, int64(entryBlock))
	storetest.Same(t, "last id of the last block", most+entryBlock-1, int64(1<<53-1))
}

// TestBlockedWritesEnd: a write that waits for a lock ends with the timeout.
func TestBlockedWritesEnd(t *testing.T) {
	url := database(t)
	s, err := Open(ctx, Options{URL: url, StatementTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sub := mustCreate(t, s, sample("x"))
	release := holdInserts(t, url)
	_, createErr := s.Create(ctx, sample("y"))
	_, updateErr := s.Update(ctx, keyOf(sub), set("field", "y"))
	for what, err := range map[string]error{"create": createErr, "update": updateErr, "delete": s.Delete(ctx, keyOf(sub), nil)} {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", what, err, store.ErrUnavailable)
		}
	}
	release()
	testkit.Eventually(t, "creates succeed", func() bool { _, err := s.Create(ctx, sample("z")); return err == nil })
	storetest.Same(t, "stored", storetest.Values(t, s)[sub.ID], "x")
}

// TestBlockedReadsEnd: a read that waits for a lock ends with the statement's timeout.
func TestBlockedReadsEnd(t *testing.T) {
	url := database(t)
	s, err := Open(ctx, Options{URL: url, StatementTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sub := mustCreate(t, s, sample("x"))
	release := lockTable(t, url, "ACCESS EXCLUSIVE")
	if _, err := s.Get(ctx, keyOf(sub)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("get: %v, want %v", err, store.ErrUnavailable)
	}
	release()
	testkit.Eventually(t, "reads succeed", func() bool { _, err := s.Get(ctx, keyOf(sub)); return err == nil })
}

// TestReadThatWaitsForAConnection: it ends with the caller's context, and the
// store is not reported as unavailable for that.
func TestReadThatWaitsForAConnection(t *testing.T) {
	s, err := Open(ctx, Options{URL: database(t), MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sub := mustCreate(t, s, sample("x"))
	conn, err := s.acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	impatient, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := s.Get(impatient, keyOf(sub)); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("get: %v, want %v", err, context.DeadlineExceeded)
	}
}
