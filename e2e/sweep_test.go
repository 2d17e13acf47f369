package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/postgres"
	"github.com/formulary/formulary/internal/store/sqlite"
	"github.com/formulary/formulary/internal/testkit"
)

const keptPage = "```yaml form\n" + `form: note
keep: 90 days
fields:
  - {id: text, type: textbox, label: Text, required: true}
  - {id: doc, type: file, label: Document}
` + "```\n"

// withStore opens the store of a site while no server runs.
func (s site) withStore(t *testing.T, do func(store.Engine)) {
	t.Helper()
	var opened store.Engine
	var err error
	if s.data != "" {
		opened, err = sqlite.Open(t.Context(), s.data, sqlite.Options{})
	} else {
		opened, err = postgres.Open(t.Context(), postgres.Options{URL: s.database})
	}
	must(t, err)
	do(opened)
	must(t, opened.Close())
}

// fillOld stores submissions that are too old, each with a file and a step of history, and one that is not.
func fillOld(t *testing.T, s store.Engine, count int) {
	t.Helper()
	for i := range count + 1 {
		file, err := s.StageFile(t.Context(), strings.NewReader(strings.Repeat("x", 100_000)))
		must(t, err)
		file.FieldID, file.Name, file.Type = "doc", "a.txt", "text/plain"
		n := store.New{PageID: 1, FormID: "note", Username: "ann", Created: time.Now().Add(-100 * 24 * time.Hour), Files: []forms.StoredFile{file}}
		if i == count {
			n.Created = time.Now()
		}
		sub, err := s.Create(t.Context(), n)
		must(t, err)
		_, err = s.Update(t.Context(), store.Key{PageID: 1, FormID: "note", ID: sub.ID}, func(forms.Submission) (store.Change, error) {
			step := &store.Step{At: time.Now(), Username: "ann", Before: map[string]string{"text": ""}}
			return store.Change{Entries: []forms.Entry{{FieldID: "text", Value: "changed"}}, Files: sub.Files, Changed: step.At, Changer: "ann", Step: step}, nil
		})
		must(t, err)
	}
	must(t, s.LoadKeeps(t.Context(), []store.Keep{{
		PageID: 1, FormID: "note", Period: forms.Period{N: 90, Unit: "day"}, Since: time.Now().Add(-48 * time.Hour),
	}}))
}

// whole checks that each submission is there with all that it has, or gone with that, and returns how many are there.
func whole(t *testing.T, s store.Engine, count int) int {
	t.Helper()
	found := map[int64]bool{}
	must(t, testkit.Each(s.Dump(t.Context()), func(d store.Dumped) error {
		r := d.Record
		if d.Event != nil {
			return nil
		}
		found[r.ID] = true
		if len(r.Files) != 1 || len(r.History) != 1 {
			return fmt.Errorf("submission %d has lost something: %v, %v", r.ID, r.Files, r.History)
		}
		file := r.Open(r.Files[0])
		return errors.Join(engine.CheckFile(r.Files[0], file), file.Close())
	}))
	for id := range int64(count + 1) {
		if steps, err := s.History(t.Context(), id+1); err != nil || len(steps) > 0 && !found[id+1] {
			t.Errorf("submission %d is gone, and its history is there: %v", id+1, err)
		}
	}
	return len(found)
}

// A server that is killed while it deletes leaves each submission whole, or none of it. Started again, it ends its work.
func TestKilledSweep(t *testing.T) {
	engines(t, func(t *testing.T, s site) {
		rounds, left := testkit.Rounds(3, 10), 0
		count := 200 * (rounds + 1)
		testkit.WriteFile(t, filepath.Join(s.pages, "1.md"), keptPage)
		s.withStore(t, func(s store.Engine) { fillOld(t, s, count) })
		p := newReplica(t, s, "--access-log=false", "--sweep-interval", "1s")
		killed := 0
		for round := range rounds {
			p.start(t)
			before := len(p.submissions(t, "note"))
			testkit.Eventually(t, "some are deleted", func() bool {
				now := len(p.submissions(t, "note"))
				return now < before || now == 1
			})
			if round == 0 {
				must(t, p.terminate(t)) // ends by itself while it deletes, and loses nothing either
			} else {
				p.kill()
			}
			s.withStore(t, func(s store.Engine) { left = whole(t, s, count) })
			if left > 1 && round > 0 {
				killed++
			}
		}
		p.start(t)
		testkit.Eventually(t, "one is left", func() bool { return len(p.submissions(t, "note")) == 1 })
		must(t, p.terminate(t))
		s.withStore(t, func(s store.Engine) {
			testkit.Same(t, "left", whole(t, s, count), 1)
		})
		if killed == 0 {
			t.Error("it was never killed while it deleted")
		}
	})
}
