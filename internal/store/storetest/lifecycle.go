package storetest

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

var lifecycleTests = []test{
	{"a cancelled call changes nothing", testCancelled},
	{"a scan ends with its caller", testScanCancelled},
	{"after close it is unavailable", testClosed},
	{"close waits for writes", testCloseDuringWrites},
	{"close during a scan", testCloseDuringScan},
}

// calls are one of each method that needs an open store, on r and s where there is one.
func (b *bench) calls(ctx context.Context, r record, s store.Session, merge store.Merge) map[string]error {
	_, create := b.Create(ctx, sample("form", "bob", "late"))
	_, get := b.Get(ctx, r.key())
	_, _, byKey := b.ByKey(ctx, r.PageID, r.FormID, "key")
	_, tallies := b.Tallies(ctx, []store.New{sample("form", "amy", "x")})
	_, _, countNamed := b.CountNamed(ctx, r.PageID, r.FormID)
	_, countForms := b.CountForms(ctx, r.PageID, 1)
	_, latest := b.Latest(ctx, "amy")
	_, definition := b.Definition(ctx, r.key())
	_, update := b.Update(ctx, r.key(), merge)
	scan := testkit.Each(b.Scan(ctx, store.Query{PageID: 1, FormID: "form"}), func(forms.Submission) error { return errors.New("visited") })
	_, stage := b.StageFile(ctx, strings.NewReader("late"))
	_, open := b.OpenFile(ctx, r.key(), 1)
	calls := map[string]error{
		"create": create, "get": get, "by key": byKey, "tallies": tallies, "count named": countNamed, "count forms": countForms, "latest": latest, "definition": definition, "sweep definitions": b.SweepDefinitions(ctx), "update": update, "scan": scan,
		"delete": b.Delete(ctx, r.key(), nil), "ping": b.Ping(ctx),
		"stage": stage, "open": open,
	}
	maps.Copy(calls, b.archiveCalls(ctx))
	maps.Copy(calls, b.keepCalls(ctx))
	maps.Copy(calls, b.sessionCalls(ctx, s))
	maps.Copy(calls, b.eventCalls(ctx))
	return calls
}

func testCancelled(t *testing.T, b *bench) {
	r, s := b.create(t, sample("form", "amy", "x")), b.signIn(t, session("a", "amy", 1))
	for range 20 { // opens the connections of a pool, which would notice a context that has ended
		b.get(t, r.key())
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for range 20 { // select chooses at random: repeat, so that a wrong choice shows
		for what, err := range b.calls(cancelled, r, s, set(t, "f0", "late")) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want %v", what, err, context.Canceled)
			}
		}
	}
	Same(t, "stored", b.all(t, "form"), []record{r})
	if next := b.create(t, sample("form", "amy", "x")); next.ID >= 99 {
		t.Errorf("id %d: the sequence was advanced", next.ID)
	}
	b.checkSetting(t, "late", "")
	b.checkSession(t, s)
	b.checkNoSession(t, session("late", "amy", 1))
}

func testScanCancelled(t *testing.T, b *bench) {
	const rows = 8 // of which one chunk and the one that is read ahead hold three
	b.fill(t, "form", rows, 300<<10)
	leaving, cancel := context.WithCancel(ctx)
	defer cancel()
	err := testkit.Each(b.Scan(leaving, store.Query{PageID: 1, FormID: "form"}), func(forms.Submission) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("scan: %v, want %v", err, context.Canceled)
	}
	Same(t, "a scan after it", len(b.all(t, "form")), rows)
}

func testClosed(t *testing.T, b *bench) {
	s := b.signIn(t, session("a", "amy", 1))
	r := b.create(t, withFiles(sample("form", "amy", "x"), b.stage(t, "a", noise(2*chunkSize))))
	reading := b.openFile(t, r.key(), r.Files[0].ID)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	finishes(t, "calls after close", func() {
		calls := b.calls(ctx, r, s, set(t, "f0", "late"))
		_, calls["read"] = reading.Read(make([]byte, 10))
		for what, err := range calls {
			if !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s: %v, want %v", what, err, store.ErrUnavailable)
			}
		}
		NoErrors(t, "close again", Parallel(4, func(int) error { return b.Close() }))
	})
	b.reopen(t)
	Same(t, "stored", b.get(t, r.key()), r)
}

// testCloseDuringWrites closes under load, from two sides at once: what was
// acknowledged is there afterwards.
func testCloseDuringWrites(t *testing.T, b *bench) {
	const writers = 30
	acknowledged := make([][]record, writers)
	var started atomic.Int32
	enough := make(chan struct{}) // closed when half of them are done
	finishes(t, "close under load", func() {
		NoErrors(t, "write", Parallel(writers+2, func(i int) error {
			if i >= writers {
				<-enough
				return b.Close()
			}
			for {
				sub, err := b.Create(ctx, sample("form", "amy", "x"))
				if errors.Is(err, store.ErrUnavailable) {
					return nil
				}
				if err != nil {
					return err
				}
				acknowledged[i] = append(acknowledged[i], decode(t, sub))
				if len(acknowledged[i]) == 2 && started.Add(1) == writers/2 {
					close(enough)
				}
			}
		}))
	})
	b.reopen(t)
	for _, mine := range acknowledged {
		for _, r := range mine {
			Same(t, "acknowledged", b.get(t, r.key()), r)
		}
	}
}

func testCloseDuringScan(t *testing.T, b *bench) {
	b.fill(t, "form", 3, 300<<10)
	finishes(t, "close from within visit, and the scan", func() {
		err := testkit.Each(b.Scan(ctx, store.Query{PageID: 1, FormID: "form"}), func(forms.Submission) error { return b.Close() })
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("scan: %v, want %v, or nil where all was read", err, store.ErrUnavailable)
		}
	})
	b.reopen(t)
	Same(t, "stored", len(b.all(t, "form")), 3)
}
