package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// writers write concurrently until they are stopped, and remember what was
// acknowledged.
type writers struct {
	mu    sync.Mutex
	acked map[int64]string
	wg    sync.WaitGroup
	stop  context.CancelFunc
}

func startWriters(t *testing.T, p *process, n, round int) *writers {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &writers{acked: map[int64]string{}, stop: cancel}
	for i := range n {
		w.wg.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				text := fmt.Sprintf("round %d writer %d note %d ✓", round, i, k)
				r, err := p.call(ctx, "POST", "/note/submission", note(text))
				if err != nil || r.status != 201 {
					return // killed: whether this one was stored is not known
				}
				var s submission
				if err := json.Unmarshal([]byte(r.body), &s); err != nil {
					t.Errorf("an acknowledgement that can't be read: %v: %s", err, r.body)
					return
				}
				w.mu.Lock()
				w.acked[s.ID] = text
				w.mu.Unlock()
			}
		})
	}
	return w
}

func (w *writers) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked)
}

// Nothing that was acknowledged is lost, and nothing is half there, when the
// process is killed under concurrent writes, twenty times over one database.
func TestKillLosesNothing(t *testing.T) {
	s := newSite(t)
	acked := map[int64]string{}
	for round := range 20 {
		p := start(t, s)
		w := startWriters(t, p, 8, round)
		eventually(t, 20*time.Second, "fifty acknowledgements", func() bool { return w.count() >= 50 })
		p.kill()
		w.stop()
		w.wg.Wait()
		for id, text := range w.acked {
			if before, twice := acked[id]; twice {
				t.Fatalf("id %d was given twice: %q and %q", id, before, text)
			}
			acked[id] = text
		}
		integrityCheck(t, filepath.Join(s.data, "formulary.db"))
	}
	p := start(t, s)
	stored := p.submissions(t, "note")
	for id, text := range acked {
		if stored[id] != text {
			t.Errorf("submission %d: stored %q, acknowledged %q", id, stored[id], text)
		}
	}
	for id, text := range stored {
		if text == "" {
			t.Errorf("submission %d is half-written", id)
		}
	}
	t.Logf("%d acknowledged, %d stored", len(acked), len(stored))
}

func integrityCheck(t *testing.T, path string) {
	t.Helper()
	db, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	stmt, _, err := db.Prepare(`PRAGMA integrity_check`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stmt.Close() }()
	if !stmt.Step() || stmt.ColumnText(0) != "ok" {
		t.Fatalf("integrity_check: %s %v", stmt.ColumnText(0), stmt.Err())
	}
}
