package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
)

var historyTests = []test{
	{"of a submission that was not changed", testNoHistory},
	{"in the order of updates", testHistory},
	{"is removed", testHistoryRemoved},
	{"goes with its submission", testHistoryDeleted},
	{"without a name that is removed", testRemoveName},
	{"is not stored by an update that fails", testHistoryOfFailedUpdate},
	{"has at most so many steps", testHistorySteps},
	{"has at most so many bytes", testHistoryBytes},
	{"of concurrent updates", testHistoryConcurrency},
	{"copied", testHistoryCopied},
}

// step is a change of field f0, whose value was before.
func step(before string) *store.Step {
	return &store.Step{At: changed.Truncate(time.Millisecond), Username: "bob", Before: map[string]string{"f0": before}}
}

// removed is the step that replaces others.
func removed() *store.Step { return &store.Step{At: created.Add(time.Hour), Username: "eve"} }

// addStep updates a submission, and changes nothing but its history.
func (b *bench) addStep(t *testing.T, r record, s *store.Step) {
	t.Helper()
	_, err := b.Update(ctx, r.key(), func(sub forms.Submission) (store.Change, error) {
		entries, err := sub.Entries.Decode()
		return store.Change{Entries: entries, Files: sub.Files, Step: s}, err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// history checks the steps of a submission.
func (b *bench) history(t *testing.T, r record, want ...*store.Step) {
	t.Helper()
	steps, err := b.History(ctx, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	var expected []store.Step
	for _, step := range want {
		expected = append(expected, *step)
	}
	Same(t, "history", steps, expected)
}

func testNoHistory(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "x"))
	b.history(t, r)
	b.change(t, r, changed, "bob")
	b.history(t, r)
	b.history(t, record{ID: r.ID + 1})
}

func testHistory(t *testing.T, b *bench) {
	r, other := b.create(t, sample("form", "amy", "x")), b.create(t, sample("form", "amy", "x"))
	text := "\"\\ \u2028<&> é\U0001f600;\n"
	last := step("")
	last.Before["b"], last.Username, last.At = text, "", created
	b.addStep(t, r, step("1"))
	b.addStep(t, other, step("other"))
	b.addStep(t, r, step(text))
	b.addStep(t, r, last)
	b.history(t, r, step("1"), step(text), last)
	b.history(t, other, step("other"))
	b.reopen(t)
	b.history(t, r, step("1"), step(text), last)
}

func testHistoryRemoved(t *testing.T, b *bench) {
	r, other := b.create(t, sample("form", "amy", "x")), b.create(t, sample("form", "amy", "x"))
	b.addStep(t, r, removed())
	b.history(t, r) // there was nothing to remove
	b.addStep(t, other, step("other"))
	b.addStep(t, r, step("1"))
	b.addStep(t, r, step("2"))
	b.addStep(t, r, removed())
	b.history(t, r, removed())
	again := removed()
	again.Username = "amy"
	b.addStep(t, r, again)
	b.history(t, r, removed()) // there was nothing to remove but the step that says so
	b.addStep(t, r, step("3"))
	b.history(t, r, removed(), step("3"))
	b.addStep(t, r, again)
	b.history(t, r, again)
	b.history(t, other, step("other"))
}

// testRemoveName: all else stays, also of other submissions and of other names.
func testRemoveName(t *testing.T, b *bench) {
	r, other := b.create(t, sample("form", "amy", "x")), b.create(t, sample("form", "amy", "x"))
	eves, nobodys := step("3"), step("1")
	eves.Username, nobodys.Username = "eve", ""
	for _, r := range []record{r, other} {
		b.addStep(t, r, step("1"))
		b.addStep(t, r, eves)
		b.change(t, r, changed, "bob")
	}
	for _, name := range []string{"BOB", "", "bob", "bob"} {
		if err := b.RemoveName(ctx, r.key(), name); err != nil {
			t.Fatal(err)
		}
	}
	wrong := r.key()
	wrong.FormID = "another"
	if err := b.RemoveName(ctx, wrong, "amy"); err != nil {
		t.Errorf("of a submission that is not there: %v", err)
	}
	b.history(t, r, nobodys, eves)
	b.history(t, other, step("1"), eves)
	for _, c := range []struct {
		r       record
		changer string
	}{{r, ""}, {other, "bob"}} {
		sub, err := b.Get(ctx, c.r.key())
		if err != nil || sub.Changer != c.changer || !sub.Changed.Equal(changed.Truncate(time.Millisecond)) || sub.Username != "amy" {
			t.Errorf("changed by %q on %v, sent by %q, %v; want %q", sub.Changer, sub.Changed, sub.Username, err, c.changer)
		}
	}
}

func testHistoryDeleted(t *testing.T, b *bench) {
	r, other := b.create(t, sample("form", "amy", "x")), b.create(t, sample("form", "amy", "x"))
	b.addStep(t, r, step("1"))
	b.addStep(t, other, step("other"))
	if err := b.Delete(ctx, r.key(), nil); err != nil {
		t.Fatal(err)
	}
	b.history(t, r)
	b.history(t, other, step("other"))
	if n := b.sql(t, b.Engine, b.dir, `SELECT count(*) FROM history`); n != "1" {
		t.Errorf("%s rows are left", n)
	}
}

func testHistoryOfFailedUpdate(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "x"))
	_, err := b.Update(ctx, r.key(), func(sub forms.Submission) (store.Change, error) {
		entries, err := sub.Entries.Decode()
		missing := []forms.StoredFile{{ID: 1 << 40, FieldID: "a", Name: "not staged"}}
		return store.Change{Entries: entries, Files: missing, Step: step("1")}, err
	})
	if !errors.Is(err, store.ErrNoFile) {
		t.Errorf("update: %v", err)
	}
	b.history(t, r)
}

func testHistorySteps(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "x"))
	b.addStep(t, r, step("first"))
	b.addStep(t, r, step("second"))
	want := []*store.Step{step("second")}
	for i := range store.MaxSteps - 1 {
		want = append(want, step(fmt.Sprint(i)))
		b.addStep(t, r, want[len(want)-1])
	}
	b.history(t, r, want...)
}

func testHistoryBytes(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "x"))
	const around = len(`{"f0":""}`)
	half := step(strings.Repeat("x", store.MaxHistoryBytes/2-around))
	b.addStep(t, r, step("first"))
	b.addStep(t, r, half)
	b.addStep(t, r, half)
	b.history(t, r, half, half) // exactly as many as are kept
	b.addStep(t, r, step("1"))
	b.history(t, r, half, step("1"))
	whole := step(strings.Repeat("é", store.MaxHistoryBytes))
	b.addStep(t, r, whole)
	b.history(t, r, whole) // the newest stays
	b.addStep(t, r, step("2"))
	b.history(t, r, step("2"))
}

// testHistoryConcurrency holds that each update has a step, with the value that the update before it has stored.
func testHistoryConcurrency(t *testing.T, b *bench) {
	r := b.create(t, sample("form", "amy", "0"))
	const updates = 200
	var group sync.WaitGroup
	for i := range updates {
		group.Go(func() {
			_, err := b.Update(ctx, r.key(), func(sub forms.Submission) (store.Change, error) {
				entries, err := sub.Entries.Decode()
				if err != nil {
					return store.Change{}, err
				}
				before := entries[0].Value
				entries[0].Value = fmt.Sprint("of ", i)
				return store.Change{Entries: entries, Changed: changed, Changer: "bob", Step: step(before)}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	steps, err := b.History(ctx, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{b.get(t, r.key()).Entries[0].Value: true}
	for _, s := range steps {
		values[s.Before["f0"]] = true
	}
	if len(steps) != updates || len(values) != updates+1 || steps[0].Before["f0"] != r.Entries[0].Value {
		t.Errorf("%d steps with %d values, from %q", len(steps), len(values), steps[0].Before["f0"])
	}
}

func testHistoryCopied(t *testing.T, b *bench) {
	plain, touched := b.create(t, sample("form", "amy", "x")), b.create(t, sample("form", "amy", "x"))
	b.addStep(t, touched, step("1"))
	b.addStep(t, touched, step("2"))
	to := b.copied(t)
	to.history(t, plain)
	to.history(t, touched, step("1"), step("2"))
	if err := to.Clear(ctx); err != nil {
		t.Fatal(err)
	}
	to.history(t, touched)
}
